"""Rebuilds a run from journal.jsonl and latency.hlog, the same way for finished and killed runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from loadstone.model.figure import Count
from loadstone.model.message import Message, say
from loadstone.model.observed import Observation
from loadstone.model.records import LatencyNs, Sample
from loadstone.model.result import Aborted, Result, RunInfo, RunState, StepResult, Window
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import (
    ENGINE,
    AbortedEntry,
    EngineEntry,
    Entry,
    Note,
    Observed,
    ObservedNames,
    RunBegin,
    RunEnd,
    StepBegin,
    read_entries,
)
from loadstone.runs.latency_log import latencies
from loadstone.runs.observations import fits, observation_of
from loadstone.runs.steplog import StepLog
from loadstone.runs.summaries import summarise, utc
from loadstone.runs.wall_time import WallClock

JOURNAL = "journal.jsonl"
LATENCIES = "latency.hlog"

MOST_STEPS = 20_000
"""Limit for the steps of a run: at ten seconds each, those of two days."""


@dataclass
class RunLog:
    """Everything in a journal."""

    journal: Path
    is_whole: bool = True
    """Whether it is read from its start."""
    begin: RunBegin | None = None
    steps: list[StepLog] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    end: RunEnd | None = None
    aborted: Aborted | None = None
    last_at_s: float = 0.0
    clock: WallClock = field(default_factory=WallClock)

    def add(self, entry: Entry) -> None:
        """Add the next line.

        Raises:
            StoreError: it may not follow the lines before it.
        """
        if self.is_whole and self.begin is None and not isinstance(entry, RunBegin):
            raise StoreError(
                say("{journal} does not start with the start of the run", journal=self.journal)
            )
        self.last_at_s = max(self.last_at_s, entry.at_s)
        self.clock.add(entry)
        if self.end is not None:
            self.end = self.aborted = None  # the run was resumed
        match entry:
            case RunBegin():
                if self.begin is not None:
                    raise StoreError(
                        say("{journal} has the start of a second run", journal=self.journal)
                    )
                self.begin = entry
            case RunEnd():
                self.end = entry
            case StepBegin():
                self.aborted = None  # of a run that was killed before its end, and resumed
                self._begin_step(entry)
            case Note(step=None, text=text):
                self.notes.append(text)
            case _:
                if not self.steps:
                    raise StoreError(
                        say(
                            "{journal} has entries of a step that never started",
                            journal=self.journal,
                        )
                    )
                if isinstance(entry, AbortedEntry):
                    self.aborted = entry.aborted
                self.steps[-1].add(entry)

    def _begin_step(self, entry: StepBegin) -> None:
        samples = partial(samples_of, self.journal, entry)
        step = StepLog(entry, samples, partial(observations_of, self.journal, entry))
        # A step that a resumed run repeats had not been finished before.
        number = entry.step.number
        self.steps = [each for each in self.steps if each.step.number != number]
        self.steps.append(step)
        if len(self.steps) > MOST_STEPS:
            raise StoreError(
                say(
                    "{journal} has more than {most} steps",
                    journal=self.journal,
                    most=Count(MOST_STEPS),
                )
            )


def read_log(folder: Path, from_byte: int = 0) -> RunLog:
    """Read the run's journal, as far as it goes; from a step's first byte on, that step's part."""
    log = RunLog(folder / JOURNAL, is_whole=from_byte == 0)
    for entry in read_entries(log.journal, from_byte):
        log.add(entry)
    return log


def samples_of(journal: Path, begin: StepBegin) -> Iterator[Sample]:
    """One step's samples, read from the journal."""
    for entry in read_entries(journal, begin.journal_from):
        if isinstance(entry, RunEnd) or (isinstance(entry, StepBegin) and entry != begin):
            return
        if isinstance(entry, EngineEntry) and isinstance(entry.record, Sample):
            yield entry.record


def observations_of(journal: Path, begin: StepBegin) -> Iterator[Observation]:
    """One step's observations, read from the journal; times count from the start of the run."""
    known: dict[int, ObservedNames] = {}
    for entry in read_entries(journal, begin.journal_from, skip=ENGINE):
        if isinstance(entry, RunEnd) or (isinstance(entry, StepBegin) and entry != begin):
            return
        if isinstance(entry, ObservedNames):
            known[entry.names] = entry
        elif isinstance(entry, Observed) and (names := known.get(entry.names)):
            # Without its names a line has no meaning; it is skipped, and the load's figures are
            # unaffected.
            if fits(names, entry):
                yield observation_of(names, entry)


def replay(folder: Path, *, running: bool = False) -> Result:
    """The run's result, rebuilt from its journal and its latency log."""
    return result_of(folder, read_log(folder), running=running)


def result_of(folder: Path, log: RunLog, *, running: bool = False) -> Result:
    """Like `replay`, from a journal that was already read."""
    begin = log.begin
    if begin is None:
        return Result(run=_run_info(folder.name, log, running=running))
    steps = tuple(step_result(folder, step, begin) for step in log.steps)
    return Result(run=_run_info(folder.name, log, running=running), steps=steps)


def step_result(folder: Path, step: StepLog, run: RunBegin) -> StepResult:
    """One step's row.

    Raises:
        StoreError: the journal or the latency log is not one of ours.
    """

    def quantiles(window: Window) -> Mapping[str, LatencyNs]:
        return latencies(folder / LATENCIES, step, window)

    try:
        return summarise(step, run.under(step.begin.conditions), quantiles)
    except (ArithmeticError, LookupError, ValueError) as error:
        # Measured figures always fit; only manipulated ones do not.
        said = say(
            "the figures of step {step} in {journal} do not fit together",
            step=step.step.number,
            journal=folder / JOURNAL,
        )
        raise StoreError(said) from error


def _run_info(folder_name: str, log: RunLog, *, running: bool) -> RunInfo:
    begin, end = log.begin, log.end
    began = begin.unix_s if begin else 0.0
    return RunInfo(
        id=begin.id if begin else folder_name,
        name=begin.name if begin else folder_name,
        state=_run_state(log, running=running),
        started_at=utc(began) if begin else None,
        ended_at=utc(began + log.last_at_s) if begin and not running else None,
        loadstone=begin.loadstone if begin else None,
        plan=begin.plan if begin else None,
        steps_planned=begin.steps_planned if begin else 0,
        search=end.search if end else None,
        searches=end.searches if end else None,
        aborted=log.aborted,
        wall_time=log.clock.wall_time if end else None,
        steps_finished=sum(step.state == "finished" for step in log.steps),
        notes=tuple(log.notes) + _interruption(log, running=running, end=end),
    )


def _run_state(log: RunLog, *, running: bool) -> RunState:
    if log.end:
        return log.end.state
    return "running" if running else "interrupted"


def _interruption(log: RunLog, *, running: bool, end: RunEnd | None) -> tuple[Message, ...]:
    """The message that says where a killed run stopped."""
    if end or running:
        return ()
    if log.begin is None:
        return (say("interrupted before its first record was written"),)
    open_steps = [step.step.number for step in log.steps if step.end is None]
    when = utc(log.begin.unix_s + log.last_at_s)
    if open_steps:
        return (
            say("interrupted at {when}, step {step} not finished", when=when, step=open_steps[-1]),
        )
    done, planned = len(log.steps), log.begin.steps_planned
    if planned is None:
        return (say("interrupted at {when}, after {done} steps", when=when, done=done),)
    return (
        say(
            "interrupted at {when}, after {done} of {planned} steps",
            when=when,
            done=done,
            planned=planned,
        ),
    )
