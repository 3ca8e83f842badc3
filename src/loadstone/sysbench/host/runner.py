"""Drives a test of the host and prints what sysbench prints while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from loadstone import engine
from loadstone.dropin.aside import aside
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.exit_codes import ExitCode
from loadstone.model.host_test import (
    FileioTest,
    HostBegun,
    HostEnd,
    HostSample,
    HostTestPlan,
    MemoryTest,
    MutexTest,
)
from loadstone.model.message import say
from loadstone.sysbench import messages, reporting, running
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.figures import values_of
from loadstone.sysbench.host import blocks, files, report
from loadstone.sysbench.host.figures import HostFigures
from loadstone.sysbench.log import Log
from loadstone.sysbench.settings import Settings


def drive(plan: HostTestPlan, settings: Settings, log: Log) -> int:
    """Drive the test to its end, and report; returns the exit code.

    Raises:
        Fatal: it could not continue, or a value is beyond what the engine can do.
    """
    watched = _Watched(plan, settings, log)
    with Interrupts() as interrupts:
        try:
            follow(engine.host_test(plan), watched.take, interrupts, watched.on_silence)
        except engine.PlanRefused as error:
            told = f"Invalid value for an option of {plan.test.kind}, which takes {error.message}"
            raise Fatal(told) from error
        except _OutOfPatience:
            return watched.report_forced()
    if interrupts.asked:
        aside(say("interrupted"))
        return ExitCode.INTERRUPTED
    watched.report_end()
    return ExitCode.OK


class _OutOfPatience(Exception):
    """Events are still under way when the time of `--forced-shutdown` is up."""


@dataclass
class _Watched:
    """Turns the engine's records into the lines on stdout."""

    plan: HostTestPlan
    settings: Settings
    log: Log
    began_s: float | None = None
    since_line: HostFigures = field(default_factory=HostFigures)
    since_checkpoint: HostFigures = field(default_factory=HostFigures)
    since_begin: int = 0
    """Number of events."""

    told_s: int = 0
    """The last second for which lines and checkpoints were checked."""

    end: HostEnd | None = None

    def take(self, record: HostBegun | HostSample | HostEnd) -> bool:
        """Process the next record; returns whether it is the last."""
        match record:
            case HostBegun():
                self._begin()
            case HostSample():
                self._add(record)
            case HostEnd():
                if record.damage:
                    raise Fatal(*blocks.told(record.damage))
                if record.error:
                    raise Fatal(record.error)
                self.end = record
        return self.end is not None

    def on_silence(self) -> None:
        """Check that the test does not run longer than it may.

        Raises:
            _OutOfPatience: it does.
        """
        patience_s = self.settings.forced_shutdown_s
        if self.began_s is None or patience_s is None:
            return
        if time.monotonic() > self.began_s + self.settings.warmup_s + patience_s:
            raise _OutOfPatience

    def _begin(self) -> None:
        self.began_s = time.monotonic()
        for thread in range(self.settings.threads):
            self.log.debug(f"Worker thread (#{thread}) started")
            self.log.debug(f"Worker thread (#{thread}) initialized")
        self.log.notice("Threads started!\n")
        if self.settings.is_rate_out_of_reach:
            raise Fatal(messages.QUEUE_FULL)

    def _add(self, sample: HostSample) -> None:
        if sample.phase == "warmup":
            return
        values = values_of(sample.hlog) if self.settings.percentile else {}
        for figures in (self.since_line, self.since_checkpoint):
            figures.add(sample, values)
            figures.to_s = sample.to_s - self.settings.warmup_s
            # After the last event no thread is at work, but the line counts those that were.
            figures.threads = sample.threads or self.settings.threads
        self.since_begin += sample.done.events
        self._tell()

    def _tell(self) -> None:
        """Print what is due by now. A late sample may cover more than one second."""
        settings, log = self.settings, self.log
        before, now = self.told_s, self.since_line.second
        self.told_s = now
        interval = settings.report_interval_s
        if interval and now // interval > before // interval:
            for line in report.interval_lines(self.since_line, self.plan.test, settings):
                log.notice(line)
            self.since_line = _after(self.since_line)
        if any(before < second <= now for second in settings.checkpoints_s):
            log.notice(f"[ {now}s ] Checkpoint report:")
            self._report()
            self.since_checkpoint = _after(self.since_checkpoint)

    def report_end(self) -> None:
        """Print the last report."""
        assert self.end is not None, "a test that nobody stopped has an end"
        settings, log = self.settings, self.log
        self._end_at(self._seconds())
        if isinstance(self.plan.test, FileioTest) and self.plan.test.mode == "seqwr":
            files.lengthen(self.plan.test)
        if limit := self._limit():
            log.info(f"{limit} limit exceeded, exiting...")
            if settings.threads > 1:
                log.info(f"(last message repeated {settings.threads - 1} times)")
        log.info("Done.\n")
        self._report_with_histogram()
        if settings.debug:
            for line in reporting.per_thread(self.since_checkpoint, settings.threads):
                log.debug(line) if line else log.notice()

    def report_forced(self) -> int:
        """Print the last report while events are still running; returns the exit code."""
        self.log.fatal(messages.FORCED_SHUTDOWN)
        self._report_with_histogram(unfinished=self.since_line.threads or self.settings.threads)
        return running.FORCED

    def _end_at(self, seconds: float) -> None:
        """Print what is due by then."""
        self.since_line.to_s = self.since_checkpoint.to_s = seconds
        self._tell()
        self.since_checkpoint.to_s = seconds

    def _seconds(self) -> float:
        """The duration of the test.

        With a rate, the engine stops once no further event is due before the time is over.
        """
        assert self.end is not None
        is_waiting = self.settings.rate and not self._is_out_of_events()
        return max(self.end.seconds, self.settings.time_s) if is_waiting else self.end.seconds

    def _is_out_of_events(self) -> bool:
        """Whether the test came to its own end, which some have in addition to the given limit."""
        test, limit = self.plan.test, self.plan.stop.events
        if isinstance(test, MemoryTest):
            limit = test.total_size // test.block_size
        elif isinstance(test, MutexTest):
            limit = min(limit or self.settings.threads, self.settings.threads)
        return limit is not None and self.since_begin >= limit

    def _limit(self) -> str | None:
        """The limit that ended the test; `None` if it came to its own end."""
        if self._is_out_of_events():
            return "Event" if self.since_begin == self.plan.stop.events else None
        return "Time" if self.settings.time_s else None

    def _report_with_histogram(self, unfinished: int = 0) -> None:
        if self.settings.histogram:
            for line in reporting.histogram(self.since_checkpoint.values_ns):
                self.log.notice(line)
        self._report(unfinished)

    def _report(self, unfinished: int = 0) -> None:
        figures = self.since_checkpoint
        self.log.notice(report.report(figures, self.plan.test, self.settings, unfinished))


def _after(figures: HostFigures) -> HostFigures:
    return HostFigures(from_s=figures.to_s, to_s=figures.to_s)
