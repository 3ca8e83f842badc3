"""Which tests run together, in which order, and how long one without a lane may take.

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
from typing import NamedTuple

import pytest

LANES = ("timing", "ray", "slow", "server", "sysbench")
"""A test is in the first of these that it is marked with."""

LONGEST_S = 2.0
"""Of a test without a lane."""

TRACED = 3
"""How much dearer Python gets at the most where lines are counted (coverage in CI)."""

_PRESSURES = (Path("/proc/pressure/cpu"), Path("/proc/pressure/io"))
_STAT = Path("/proc/stat")


def lane_of(item: pytest.Item) -> str | None:
    """Its lane; `None`: a test that is quick and needs nothing."""
    return next((lane for lane in LANES if item.get_closest_marker(lane) is not None), None)


def places_of(items: Iterable[pytest.Item]) -> dict[Path, int]:
    """When a module's turn is: what takes long first, so that no worker is left with it at the end.

    Modules that judge time come last: such a test waits until the others' tests have ended.
    """
    lanes: dict[Path, set[str | None]] = {}
    for item in items:
        lanes.setdefault(item.path, set()).add(lane_of(item))
    return {path: 3 if "timing" in of_it else _place(of_it) for path, of_it in lanes.items()}


def _place(lanes: set[str | None]) -> int:
    return 0 if lanes & {"slow", "ray"} else 1 if lanes & {"server", "sysbench"} else 2


class Seen(NamedTuple):
    """Seconds until now."""

    at_s: float
    """By the clock."""
    cpu_s: float
    """Of a core, used by this process and by those that it started and that have ended."""
    busy_s: float
    """Of all cores together."""
    kept_s: float
    """In which somebody was kept from a core or a disk, by others (psi.rst) or the hypervisor."""

    @classmethod
    def now(cls) -> Seen:
        """By the kernel; where it does not tell, the machine is taken for idle."""
        used, ticks = os.times(), _ticks()
        return cls(
            time.monotonic(),
            used.user + used.system + used.children_user + used.children_system,
            sum(ticks[:3]) + sum(ticks[5:7]),
            sum(map(_pressed_s, _PRESSURES)) + ticks[7],
        )

    def since(self, before: Seen) -> Seen:
        """What was added to each."""
        return Seen(*(now - then for now, then in zip(self, before, strict=True)))


class Watch:
    """What a test cost, and how long it waited, without what the rest of the machine did to it."""

    def __init__(self, look: Callable[[], Seen] = Seen.now) -> None:
        """It begins with the test's set-up."""
        self._look, self._began = look, look()
        self._others = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What many tests share is on nobody's account: the first of them would pay for all."""
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
        """Fail what takes too long for a test that everybody waits for; `counted`: by the line."""
        test = self._look().since(self._began)
        waited_s = test.at_s - test.cpu_s - test.kept_s
        # Two threads of one core do half as much each: so far others may have slowed this one down.
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
    """By a trace function, or by one of sys.monitoring's tools, as coverage does from 3.14 on."""
    monitoring = getattr(sys, "monitoring", None)
    tool = monitoring and monitoring.get_tool(monitoring.COVERAGE_ID)
    return sys.gettrace() is not None or tool is not None


def _pressed_s(pressure: Path) -> float:
    try:
        return int(pressure.read_text().splitlines()[0].rpartition("total=")[2]) / 1e6
    except OSError:
        return 0.0


def _ticks() -> list[float]:
    """Seconds of all cores; proc(5): user, nice, system, idle, iowait, irq, softirq, steal."""
    try:
        told = _STAT.read_text().split(maxsplit=9)[1:9]
    except OSError:
        return [0.0] * 8
    return [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in told]
