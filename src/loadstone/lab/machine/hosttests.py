"""Runs a test of this host: cpu, memory, threads, mutex, fileio."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from loadstone import engine
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupted, Interrupts
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.host_test import HostBegun, HostEnd, HostSample, HostTestPlan
from loadstone.model.message import say


class HostTestFailed(LoadstoneError):
    """The system refused what the test needs: a file, memory, threads."""

    exit_code = ExitCode.HOST_TEST


class HostObserver(Protocol):
    """Receives events as they happen; must return quickly, because the records wait for it."""

    def on_begun(self, begun: HostBegun) -> None:
        """The threads start."""

    def on_sample(self, sample: HostSample) -> None:
        """Another interval has passed."""


def run_host_test(plan: HostTestPlan, observer: HostObserver, interrupts: Interrupts) -> HostEnd:
    """Run the plan to its end, or until somebody asks for a stop.

    A stopped test has figures too; its `reason` says that it was stopped.

    Raises:
        PlanRefused: a value does not fit.
        HostTestFailed: a file cannot be used, or the system refuses memory or threads.
        Interrupted: somebody did not want to wait for the threads.
    """
    watched = _Watched(observer)
    follow(engine.host_test(plan), watched.take, interrupts)
    if watched.end is None:
        raise Interrupted(say("interrupted before the threads had ended"))
    if watched.end.error is not None:
        raise HostTestFailed(watched.end.error, _hint(plan))
    return watched.end


@dataclass
class _Watched:
    """The state of a test so far."""

    observer: HostObserver
    end: HostEnd | None = field(default=None)

    def take(self, record: HostBegun | HostSample | HostEnd) -> bool:
        """Pass a record on; returns whether it was the last one."""
        match record:
            case HostBegun():
                self.observer.on_begun(record)
            case HostSample():
                self.observer.on_sample(record)
            case HostEnd():
                self.end = record
        return self.end is not None


def _hint(plan: HostTestPlan) -> str | None:
    if plan.test.kind == "fileio" and plan.command == "run":
        return say("run the same command with prepare instead of run: it makes the files")
    return None
