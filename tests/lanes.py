"""Which tests run together, in which order, and how long a test without a lane may take.

A lane is a marker of pyproject.toml. `smoke` picks one test of each main job on a real server out
of its lane for `make test`; all tests without a lane run there as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

LANES = ("timing", "ray", "slow", "server", "sysbench")
"""A test belongs to the first of these lanes with which it is marked."""

LONGEST_S = 2.0
"""The limit of a test without a lane."""

TRACED = 3
"""How much slower Python gets at most when lines are counted (coverage in CI)."""

_PRESSURES = (Path("/proc/pressure/cpu"), Path("/proc/pressure/io"))
_STAT = Path("/proc/stat")
_clock = time.monotonic
"""The clock itself: tests put another in its place."""


def lane_of(item: pytest.Item) -> str | None:
    """The lane of a test; `None` for a test that is quick and needs nothing."""
    return next((lane for lane in LANES if item.get_closest_marker(lane) is not None), None)


def places_of(items: Iterable[pytest.Item]) -> dict[Path, int]:
    """The order of modules: slow ones first, so that no worker is left with one at the end.

    Modules that judge time come last: such a test waits until the others' tests have ended.
    """
    lanes: dict[Path, set[str | None]] = {}
    for item in items:
        lanes.setdefault(item.path, set()).add(lane_of(item))
    return {path: 3 if "timing" in of_it else _place(of_it) for path, of_it in lanes.items()}


def _place(lanes: set[str | None]) -> int:
    return 0 if lanes & {"slow", "ray"} else 1 if lanes & {"server", "sysbench"} else 2


class Synced:
    """How long this process has waited in os.fsync and os.fdatasync."""

    def __init__(self) -> None:
        """None so far."""
        self.seconds = 0.0

    def counting(self, sync: Callable[[Any], None]) -> Callable[[Any], None]:
        """The function, with its time counted."""

        def counted(file: Any) -> None:
            began = _clock()
            try:
                sync(file)
            finally:
                self.seconds += _clock() - began

        return counted


_SYNCED = Synced()


def count_syncs() -> None:
    """Count the time of all syncs from now on."""
    for name in ("fsync", "fdatasync"):
        setattr(os, name, _SYNCED.counting(getattr(os, name)))


class Seen(NamedTuple):
    """Clocks and counters in seconds, at one moment."""

    at_s: float
    """The clock."""
    cpu_s: float
    """CPU time of this process and of its children that have ended."""
    busy_s: float
    """CPU time of all cores together."""
    kept_s: float
    """Time in which a task waited for a core or a disk, because of others (psi.rst) or the
    hypervisor; and that of our own syncs, as psi leaves out a wait for the file system's journal.
    """

    @classmethod
    def now(cls) -> Seen:
        """The kernel's values; where it has none, the machine is taken for idle."""
        used, ticks = os.times(), _ticks()
        return cls(
            _clock(),
            used.user + used.system + used.children_user + used.children_system,
            sum(ticks[:3]) + sum(ticks[5:7]),
            sum(map(_pressed_s, _PRESSURES)) + ticks[7] + _SYNCED.seconds,
        )

    def since(self, before: Seen) -> Seen:
        """The increase of each."""
        return Seen(*(now - then for now, then in zip(self, before, strict=True)))


class Watch:
    """What a test cost, and how long it waited, without what the rest of the machine did to it."""

    def __init__(self, look: Callable[[], Seen] = Seen.now) -> None:
        """Starts with the test's set-up."""
        self._look, self._began = look, look()
        self._others = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time of shared fixtures counts for no test: the first of them would pay for all."""
        began = self._look() if not self._others else None
        self._others += 1
        try:
            yield
        finally:
            self._others -= 1
            if began is not None:
                spent = self._look().since(began)
                self._began = Seen(*(map(sum, zip(self._began, spent, strict=True))))

    def judge(self, *, counted: bool = False) -> None:
        """Fail a test that takes too long without a lane; `counted`: lines are counted."""
        test = self._look().since(self._began)
        waited_s = test.at_s - test.cpu_s - test.kept_s
        # Two threads of one core do half as much each: by so much others may have slowed this one
        # down.
        others_s = test.busy_s - test.cpu_s
        most_s = LONGEST_S * (1 + min(1.0, max(0.0, others_s / max(test.at_s, 1e-9))))
        most_s *= TRACED if counted else 1
        if max(test.cpu_s, waited_s) > most_s:
            pytest.fail(
                f"{test.cpu_s:.1f} s of a core and {waited_s:.1f} s of waiting, where a test "
                f"without a lane is allowed {most_s:.1f} s: make it quicker, or mark it `slow`",
                pytrace=False,
            )


def lines_are_counted() -> bool:
    """Whether a trace function, or a tool of sys.monitoring, as coverage has from 3.14 on, is
    active."""
    monitoring = getattr(sys, "monitoring", None)
    tool = monitoring and monitoring.get_tool(monitoring.COVERAGE_ID)
    return sys.gettrace() is not None or tool is not None


def _pressed_s(pressure: Path) -> float:
    try:
        return int(pressure.read_text().splitlines()[0].rpartition("total=")[2]) / 1e6
    except OSError:
        return 0.0


def _ticks() -> list[float]:
    """CPU seconds of all cores; proc(5): user, nice, system, idle, iowait, irq, softirq, steal."""
    try:
        told = _STAT.read_text().split(maxsplit=9)[1:9]
    except OSError:
        return [0.0] * 8
    return [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in told]
