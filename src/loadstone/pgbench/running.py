"""Drives a run, and prints what pgbench prints while it runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadstone.dropin import driving, libpq
from loadstone.dropin.keeping import Keeper
from loadstone.lab.step.order import steps_of
from loadstone.model.engine_plan import step_document
from loadstone.model.exit_codes import ExitCode
from loadstone.model.plan import Step
from loadstone.model.records import (
    Connected,
    End,
    Printed,
    Sample,
    StepRecord,
    UserEnded,
)
from loadstone.model.target import Endpoint
from loadstone.pgbench import aborted, log, reporting
from loadstone.pgbench.errors import Aborted, Failed
from loadstone.pgbench.figures import DEADLOCK, SERIALIZATION, Figures, Sums
from loadstone.pgbench.planning import Planned
from loadstone.pgbench.reporting import Results, Tables
from loadstone.pgbench.settings import Benchmark
from loadstone.pgbench.transaction_log import TransactionLog, thread_of

_TOLERANCE_S = 0.05
"""An interval of the engine's may end that much before its second is full."""
_INCOMPLETE = 2
_CODES = {"serialization": SERIALIZATION, "deadlock": DEADLOCK}


@dataclass(frozen=True)
class Run:
    """The inputs of a run."""

    asked: Benchmark
    planned: Planned
    endpoint: Endpoint
    tables: Tables
    commands: Sequence[Sequence[str]]
    """The texts of each script's commands."""
    log: TransactionLog | None = None
    keeper: Keeper | None = None
    """Keeps the run's folder, if one was requested."""

    @property
    def step(self) -> Step:
        """The only step of the run."""
        return steps_of(self.planned.plan)[0]


def drive(run: Run) -> int:
    """Drive the run to its end, and report; returns the exit code.

    Raises:
        Failed: the clients could not connect, or one was aborted and the run ends with that.
        StoreError: the run's folder cannot be written.
    """
    watched = _Watched(run)
    document = step_document(run.planned.plan, run.step, [run.endpoint])
    if driving.drive(document, run.step, watched, run.keeper):
        return ExitCode.INTERRUPTED
    return watched.report()


@dataclass
class _Watched:
    """Turns the engine's records into pgbench's output."""

    run: Run
    all: Figures = field(init=False)
    since_line: Figures = field(init=False)
    line_from_s: float = 0.0
    periods: int = 0
    """The periods of progress that are over."""
    connected: Connected | None = None
    began_unix_s: float = 0.0
    """When the clients were connected."""
    end: End | None = None
    aborted: int = 0
    """The number of clients that were."""

    def __post_init__(self) -> None:
        self.all, self.since_line = (Figures(self.run.planned.kinds) for _ in range(2))

    def take(self, record: StepRecord) -> bool:
        """Process the next record; returns whether it is the last."""
        match record:
            case Connected():
                self._begin(record)
            case Sample():
                self._add(record)
            case UserEnded():
                self._abort(record)
            case Printed():
                log.passed_on(record.text)
            case End():
                self.end = record
                self._check(record)
                return True
        return False

    def _begin(self, record: Connected) -> None:
        self.connected, self.began_unix_s = record, time.time()
        if self.run.log:
            self.run.log.begin(self.began_unix_s)

    def _check(self, end: End) -> None:
        """Raise Failed if the run could not begin; if it ended early, only say why."""
        if end.error is None:
            return
        if self.connected is None:
            why = libpq.of_failure(end.error, self.run.endpoint)
            hint = libpq.advice_on(end.error.kind)
            raise Failed(why, "could not create connection for one of the clients", hint=hint)
        log.error(end.error.message)

    def _abort(self, ended: UserEnded) -> None:
        place = self.run.planned.scripts[ended.member]
        for line in aborted.lines(ended, place, self.run.commands[place]):
            log.error(line)
        self.aborted += 1
        for figures in (self.all, self.since_line):
            figures.aborted(ended.member)
        if self.run.asked.exits_on_abort:
            thread = thread_of(ended.user, self.run.asked)
            raise Aborted(f"Run was aborted due to an error in thread {thread}")

    def _add(self, sample: Sample) -> None:
        self.all.add(sample)
        for event in sample.event_log if self.run.planned.kinds.retries else ():
            if event.outcome in _CODES:
                self.all.add_failure(event.member, _CODES[event.outcome])
        if self.run.asked.progress:
            self.since_line.add(sample)
        if self.run.log:
            self.run.log.add(sample.event_log)
        if sample.phase == "window":
            self._tell(sample)

    def _tell(self, sample: Sample) -> None:
        """Print the line of progress if its time has come."""
        progress = self.run.asked.progress
        if progress is None:
            return
        periods = int((sample.to_s + _TOLERANCE_S) / progress.every_s)
        if periods <= self.periods:
            return
        self.periods = periods
        at_s = time.time() if progress.unix_times else sample.to_s
        seconds = sample.to_s - self.line_from_s
        log.line(reporting.progress(self.since_line, self.run.asked, at_s, seconds))
        self.since_line = Figures(self.run.planned.kinds)
        self.line_from_s = sample.to_s

    def report(self) -> int:
        """Print the report; returns the exit code."""
        run = self.run
        results = self._results()
        if run.log:
            run.log.end(self.began_unix_s + results.seconds)
        print(reporting.report(results), end="", flush=True)
        if self.aborted or (self.end and self.end.error):
            log.error("Run was aborted; the above results are incomplete.")
            return _INCOMPLETE
        return ExitCode.OK

    def _results(self) -> Results:
        run, places = self.run, self.run.planned.scripts
        sums = [Sums() for _ in run.asked.scripts]
        for place, of in zip(places, self.all.members or [self.all.all], strict=True):
            sums[place] = of
        return Results(
            asked=run.asked,
            tables=run.tables,
            figures=self.all,
            scripts=sums,
            commands=run.commands,
            of_commands={
                (places[member], command): of for (member, command), of in self.all.commands.items()
            },
            seconds=self.end.seconds if self.end else 0.0,
            connecting_s=self.connected.seconds if self.connected else 0.0,
        )
