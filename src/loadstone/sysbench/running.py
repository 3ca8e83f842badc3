"""Drives a test and prints what sysbench prints while it runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadstone.dropin import driving
from loadstone.dropin.aside import aside
from loadstone.dropin.keeping import Keeper
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.order import steps_of
from loadstone.model.engine_plan import step_document
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say
from loadstone.model.plan import Plan, Step
from loadstone.model.records import (
    Complaint,
    Connected,
    End,
    EngineFailure,
    FirstError,
    Printed,
    Sample,
    StepRecord,
    Stuck,
)
from loadstone.sysbench import messages, reporting
from loadstone.sysbench.errors import FAILED, Fatal, ScriptExit
from loadstone.sysbench.figures import Figures, values_of
from loadstone.sysbench.log import Log
from loadstone.sysbench.lua import errors as script_errors
from loadstone.sysbench.lua.calls import call
from loadstone.sysbench.report_writer import OpenScript, Teller, stuck, write
from loadstone.sysbench.settings import Settings
from loadstone.sysbench.targets import Place

_ON_THE_SECOND_S = 0.001
FORCED = 2
"""sysbench's exit code if events were in flight when the forced shutdown came."""


@dataclass(frozen=True)
class Run:
    """The inputs of a run."""

    plan: Plan
    places: Sequence[Place]
    settings: Settings
    log: Log
    keeper: Keeper | None = None
    """Keeps the run's folder, if one was requested."""

    dry: bool = False
    """No answer is seen, so no statement counts as a read or a write."""

    opened: OpenScript | None = None
    """The script that drives it, if there is one."""

    @property
    def step(self) -> Step:
        """The only step of a sysbench run."""
        return steps_of(self.plan)[0]


def announce(settings: Settings, log: Log) -> None:
    """Print the lines before the threads start."""
    announce_settings(settings, log)
    announce_threads(log)


def announce_settings(settings: Settings, log: Log) -> None:
    """Print the settings of all tests; tests of the host add more before their threads start."""
    log.notice("Running the test with following options:")
    log.notice(f"Number of threads: {settings.threads}")
    if settings.warmup_s:
        log.notice(f"Warmup time: {settings.warmup_s}s")
    if settings.rate:
        log.notice(f"Target transaction rate: {settings.rate}/sec")
    if settings.report_interval_s:
        log.notice(f"Report intermediate results every {settings.report_interval_s} second(s)")
    if settings.checkpoints_s:
        points = ", ".join(str(second) for second in settings.checkpoints_s)
        log.notice(f"Report checkpoint(s) at {points} seconds")
    if settings.debug:
        log.notice("Debug mode enabled.\n")
    if settings.validate:
        log.notice("Validation checks: on.\n")
    origin = f"seed ({settings.seed})." if settings.seed else "current time"
    log.notice(f"Initializing random number generator from {origin}\n")
    if settings.forced_shutdown_s is not None:
        log.notice(f"Forcing shutdown in {settings.forced_shutdown_s} seconds")
    log.notice()


def announce_threads(log: Log) -> None:
    """Print the line before threads start, also for `prepare` with more than one."""
    log.notice("Initializing worker threads...\n")


def drive(run: Run) -> int:
    """Drive the test to its end, and report; returns the exit code.

    Raises:
        Fatal: it could not start, or an error that is not to be ignored ended it.
        StoreError: the run's folder cannot be written.
    """
    if run.opened:
        return _drive_script(run, run.opened)
    endpoints = [place.endpoint for place in run.places]
    document = step_document(run.plan, run.step, endpoints)
    return _drive(run, document, _Watched(run))


def _drive(run: Run, document: str, watched: _Watched) -> int:
    if driving.drive(document, run.step, watched, run.keeper, watched.on_silence):
        return ExitCode.INTERRUPTED
    return watched.report_end()


def _drive_script(run: Run, opened: OpenScript) -> int:
    """A script's init(), done() and last report run in one state, apart from its threads."""
    endpoints = [place.endpoint for place in run.places]
    document = step_document(run.plan, run.step, endpoints, calls_init=False)
    opened.script.serve(document)
    watched = _Watched(run)
    if _begin_script(run, opened, watched):
        return _interrupted()
    announce(run.settings, run.log)
    with contextlib.ExitStack() as stack:
        watched.copy_for_reports(opened, stack)
        code = _drive_to_the_end(run, document, watched)
        if code not in (ExitCode.OK, FAILED) or not watched.end:
            return code
        return _interrupted() if watched.say_goodbye(opened) else code


def _begin_script(run: Run, opened: OpenScript, watched: _Watched) -> bool:
    """Call init(); returns whether a signal came. A kept run ends then, or with why it failed."""
    try:
        is_interrupted = watched.initialise(opened)
    except (Fatal, ScriptExit) as failed:
        if run.keeper:
            failure = EngineFailure(kind="script", message=failed.message)
            run.keeper.end_before_load(run.step, failure)
        raise
    if is_interrupted and run.keeper:
        run.keeper.end_before_load(run.step, None)
    return is_interrupted


def _drive_to_the_end(run: Run, document: str, watched: _Watched) -> int:
    """The exit code; an error with which the threads have ended is reported, and is no exception.

    Raises:
        Fatal: they never started, or have not ended.
    """
    try:
        return _drive(run, document, watched)
    except Fatal as failed:
        if not watched.connected or not watched.end:
            raise
        for line in failed.lines:
            run.log.fatal(line)
        return FAILED


def _interrupted() -> int:
    aside(say("interrupted"))
    return ExitCode.INTERRUPTED


@dataclass
class _Watched:
    """Turns the engine's records into the lines on stdout."""

    run: Run
    connected: bool = False
    told_started: bool = False
    began_s: float = field(default_factory=time.monotonic)
    since_line: Figures = field(default_factory=Figures)
    since_checkpoint: Figures = field(default_factory=Figures)
    since_begin: int = 0
    """Number of events."""

    end: End | None = None
    heard: script_errors.Heard = field(init=False)
    teller: Teller = field(init=False)

    def __post_init__(self) -> None:
        run = self.run
        self.heard = script_errors.Heard(run.plan, run.log, run.places)
        uses_driver = run.opened is None
        self.teller = Teller(
            run.settings, run.log, run.opened, uses_driver, self.heard.take, self._complain
        )

    def initialise(self, opened: OpenScript) -> bool:
        """Call the script's `init()`; returns whether a signal came.

        What it has done counts, and so does what the file has done while it was loaded.

        Raises:
            Fatal: it failed.
        """
        script, refused = opened.script, 0

        def hear(error: FirstError) -> None:
            nonlocal refused
            self._hear(error)
            refused += error.statement is not None and not error.preparing

        with Interrupts() as interrupts:
            call(script.begin_init, script, self.heard, "init", interrupts, hear)
        counts = script.counts()
        for figures in (self.since_line, self.since_checkpoint):
            figures.add_before(counts)
            figures.errors += refused + counts.errors
            figures.reconnects += counts.reconnects
        self.teller.uses_driver |= self.since_line.queries > 0
        return interrupts.asked

    def copy_for_reports(self, opened: OpenScript, stack: contextlib.ExitStack) -> None:
        """Load the copies that report during the run: in sysbench each has its own thread.

        Raises:
            Fatal: that fails.
        """
        settings, teller = self.run.settings, self.teller
        if settings.report_interval_s:
            teller.of_intervals = opened.copied()
            stack.callback(teller.of_intervals.close)
        if settings.checkpoints_s:
            teller.of_checkpoints = opened.copied()
            stack.callback(teller.of_checkpoints.close)
        self.began_s = time.monotonic()

    def say_goodbye(self, opened: OpenScript) -> bool:
        """Call the script's `done()`; returns whether a signal came. A failure is reported."""
        script = opened.script
        with Interrupts() as interrupts:
            try:
                call(script.begin_done, script, self.heard, "done", interrupts, self._hear)
            except Fatal as failed:
                for line in failed.lines:
                    self.run.log.fatal(line)
        return interrupts.asked

    def take(self, record: StepRecord) -> bool:
        """Process the next record; returns whether it is the last."""
        match record:
            case Connected():
                self.teller.uses_driver |= record.server_version is not None
                for figures in (self.since_line, self.since_checkpoint):
                    figures.add_before(record.before)
                self._begin()
            case Sample():
                self._add(record)
            case FirstError():
                self._hear(record)
            case Complaint():
                self._complain(record.message, ())
            case Printed():
                write(record.text)
            case Stuck():
                aside(stuck(record))
            case End():
                self.end = record
                self._check(record)
                self._tell_started()
                return True
        return False

    def _hear(self, error: FirstError) -> None:
        if self.run.opened:
            self.teller.uses_driver = True
            self.heard.take(error)
            return
        if not self.since_begin:
            messages.check_preparing(error, self.run.plan)
        messages.check_loss(error, self.run.plan)

    def _complain(self, message: str, refusals: Sequence[FirstError]) -> None:
        """Report a failure outside of the load, which does not end the run."""
        failure = EngineFailure(kind="script", message=message)
        for line in self._lines_of(failure, refusals):
            self.run.log.fatal(line)

    def _lines_of(self, failure: EngineFailure, errors: Sequence[FirstError]) -> tuple[str, ...]:
        return script_errors.lines(failure, errors, self.run.plan, "run")

    def _check(self, end: End) -> None:
        """Raise Fatal if the run failed."""
        if not end.error:
            return
        run = self.run
        if run.opened and end.error.kind == "script":
            raise Fatal(*self._lines_of(end.error, self.heard.errors))
        raise Fatal(*messages.lines_of_run(end.error, run.plan, run.places))

    def on_silence(self) -> None:
        """Check that the threads are connected in time.

        Raises:
            Fatal: they are not.
        """
        if self.connected:
            self._tell_started()
        timeout_s = self.run.settings.init_timeout_s
        if not self.connected and time.monotonic() > self.began_s + timeout_s > self.began_s:
            raise Fatal(f"Worker threads failed to initialize within {timeout_s} seconds!")

    def _begin(self) -> None:
        """Print that the threads have started, unless statements must be prepared first.

        In sysbench a statement that cannot be prepared ends a run before its threads start. Here
        statements are prepared when first needed, a moment later.
        """
        self.connected = True
        if self.run.plan.drive.protocol == "text" or self.run.opened:
            self._tell_started()

    def _tell_started(self) -> None:
        """Print that the threads have started, once.

        Raises:
            Fatal: they can never keep up with the rate.
        """
        if self.told_started:
            return
        self.told_started = True
        for thread in range(self.run.settings.threads):
            self.run.log.debug(f"Worker thread (#{thread}) started")
            self.run.log.debug(f"Worker thread (#{thread}) initialized")
        self.run.log.notice("Threads started!\n")
        if self.run.settings.is_rate_out_of_reach:
            raise Fatal(messages.QUEUE_FULL)

    def _add(self, sample: Sample) -> None:
        if sample.counts.events:
            self._tell_started()
        if sample.phase == "warmup":
            return
        settings = self.run.settings
        values = values_of(sample.hlog) if settings.percentile else {}
        for figures in (self.since_line, self.since_checkpoint):
            figures.add(sample, values)
            figures.to_s = sample.to_s - self.run.plan.warmup_s
            if self.run.dry:
                figures.all_as_other()
        self.teller.uses_driver |= sample.counts.queries > 0
        self.since_begin += sample.counts.events
        if sample.phase == "window":
            self._tell(sample)

    def _tell(self, sample: Sample) -> None:
        settings, log = self.run.settings, self.run.log
        second = round(self.since_line.to_s)
        if abs(self.since_line.to_s - second) > _ON_THE_SECOND_S:
            return
        if second in settings.checkpoints_s:
            log.notice(f"[ {second}s ] Checkpoint report:")
            self.teller.checkpoint(self.since_checkpoint)
            self.since_checkpoint = _after(self.since_checkpoint)
        if settings.report_interval_s and second % settings.report_interval_s == 0:
            self.teller.interval(self.since_line, sample.tally)
            self.since_line = _after(self.since_line)

    def report_end(self) -> int:
        """Print the last report; returns the exit code, which shows whether the time was enough."""
        settings, log = self.run.settings, self.run.log
        unfinished = self.end.tally.in_flight if self.end else 0
        self.teller.intervals_over()
        if unfinished:
            log.fatal(messages.FORCED_SHUTDOWN)
        else:
            limit = "Event" if self.since_begin == settings.events else "Time"
            log.info(f"{limit} limit exceeded, exiting...")
            if settings.threads > 1:
                log.info(f"(last message repeated {settings.threads - 1} times)")
            log.info("Done.\n")
        if settings.histogram:
            for line in reporting.histogram(self.since_checkpoint.values_ns):
                log.notice(line)
        self.teller.report(self.since_checkpoint, unfinished)
        if settings.debug:
            for line in reporting.per_thread(self.since_checkpoint, settings.threads):
                log.debug(line) if line else log.notice()
        return FORCED if unfinished else ExitCode.OK


def _after(figures: Figures) -> Figures:
    return Figures(from_s=figures.to_s, to_s=figures.to_s)
