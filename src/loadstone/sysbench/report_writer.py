"""Writes the reports of a run: as sysbench's lines, or through a script's hooks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from loadstone import engine
from loadstone.dropin.aside import aside
from loadstone.model.message import Message, say
from loadstone.model.records import FirstError, Printed, Stuck, Tally
from loadstone.sysbench import reporting
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.figures import Figures
from loadstone.sysbench.log import Log
from loadstone.sysbench.lua import errors
from loadstone.sysbench.settings import Settings

_AT_INTERVALS, _AT_THE_END = "report_intermediate", "report_cumulative"


@dataclass(frozen=True)
class OpenScript:
    """A script that drives a run, open for queries."""

    script: engine.Script
    contents: engine.ScriptContents
    copied: Callable[[], engine.Script]
    """Loads it once more, with the same options: raises Fatal if that fails."""


@dataclass
class Teller:
    """Reports the figures of a run."""

    settings: Settings
    log: Log
    opened: OpenScript | None = None
    uses_driver: bool = True
    """Without a driver there are no statements to report."""
    refused: Callable[[FirstError], None] = lambda error: None
    """Called with each error of the servers that a hook gets."""

    complain: Callable[[str, Sequence[FirstError]], None] = lambda message, refusals: None
    """Called with why a hook failed, and with the servers' errors for it."""

    of_intervals: engine.Script | None = None
    """A copy of the script that reports intervals."""

    of_checkpoints: engine.Script | None = None
    """A copy of it that reports at checkpoints."""

    def interval(self, figures: Figures, tally: Tally) -> None:
        """Report an interval."""
        if script := self._reporting(_AT_INTERVALS, self.of_intervals):
            waiting = {"queue_length": tally.waiting, "concurrency": tally.in_flight}
            self._hook(script, _of_any(figures, self.settings) | waiting, is_last=False)
            return
        lines = reporting.interval_lines(figures, tally, self.settings, self.uses_driver)
        for line in lines:
            self.log.notice(line)

    def intervals_over(self) -> None:
        """The last interval was reported."""
        if script := self._reporting(_AT_INTERVALS, self.of_intervals):
            self._close_reports(script)

    def checkpoint(self, figures: Figures) -> None:
        """Report at a checkpoint."""
        self._report(self.of_checkpoints, figures, running=self.settings.threads)

    def report(self, figures: Figures, unfinished: int = 0) -> None:
        """Report at the end."""
        self._report(self.opened.script if self.opened else None, figures, unfinished)

    def _report(
        self,
        script: engine.Script | None,
        figures: Figures,
        unfinished: int = 0,
        running: int = 0,
    ) -> None:
        """`running`: the number of threads that run."""
        if script := self._reporting(_AT_THE_END, script):
            self._hook(script, _of_all(figures, self.settings, running), is_last=True)
            self._close_reports(script)
            return
        text = reporting.report(figures, self.settings, unfinished, self.uses_driver)
        self.log.notice(text)

    def _reporting(self, hook: str, script: engine.Script | None) -> engine.Script | None:
        """The script, if it has the hook."""
        return script if self.opened and hook in self.opened.contents.hooks else None

    def _close_reports(self, script: engine.Script) -> None:
        """Close the lists that `report_json` opened; each hook has its own."""
        with told_as_fatal():
            script.end_reports()
        tell(script.said(), self.refused)

    def _hook(self, script: engine.Script, figures: dict[str, float], *, is_last: bool) -> None:
        """Call a hook; if it fails, that is reported, and the run continues."""
        try:
            script.report(figures, is_last=is_last)
        except engine.ScriptRefused as error:
            refusals = self._tell(script)
            if error.kind != "hook":
                errors.check_exit(error.message)
                raise Fatal(error.message) from error
            self.complain(error.message, refusals)
        else:
            self._tell(script)

    def _tell(self, script: engine.Script) -> list[FirstError]:
        """Print what a hook has said; returns the servers' errors."""
        said = script.said()
        tell(said, self.refused)
        return [each for each in said if isinstance(each, FirstError)]


def tell(said: Iterable[engine.Said], refused: Callable[[FirstError], None]) -> None:
    """Print what a script has said; the servers' errors go to `refused`."""
    for each in said:
        match each:
            case Printed():
                write(each.text)
            case FirstError():
                refused(each)
            case Stuck():
                aside(stuck(each))


def stuck(record: Stuck) -> Message:
    """A message about a script that does not return."""
    return say(
        "{place} has run for {seconds} s without a statement; other threads may have to wait for"
        " it",
        place=record.place,
        seconds=f"{record.seconds:.0f}",
    )


def write(text: str) -> None:
    """Print a script's output unchanged."""
    print(text, end="", flush=True)


def _of_any(figures: Figures, settings: Settings) -> dict[str, float]:
    """The figures that both hooks get, by the names that scripts know; times in seconds."""
    percentile = settings.percentile
    return {
        "threads_running": settings.threads,
        "time_total": figures.to_s,
        "time_interval": figures.seconds,
        "latency_pct": figures.percentile_ms(percentile) / 1e3 if percentile else 0.0,
        "events": figures.events,
        "reads": figures.reads,
        "writes": figures.writes,
        "other": figures.other,
        "errors": figures.errors,
        "reconnects": figures.reconnects,
    }


def _of_all(figures: Figures, settings: Settings, running: int) -> dict[str, float]:
    latency = figures.latency
    return _of_any(figures, settings) | {
        "threads_running": running,
        "latency_min": (latency.min_ns or 0) / 1e9,
        "latency_max": (latency.max_ns or 0) / 1e9,
        "latency_avg": latency.sum_ns / 1e9 / latency.count if latency.count else 0.0,
        "latency_sum": latency.sum_ns / 1e9,
    }


@contextlib.contextmanager
def told_as_fatal() -> Iterator[None]:
    """Turn a script's errors into those of sysbench.

    Raises:
        Fatal: the script failed.
    """
    try:
        yield
    except engine.ScriptRefused as error:
        errors.check_exit(error.message)
        raise Fatal(error.message) from error
