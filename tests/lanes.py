"""Which tests run together, in which order, and how long one without a lane may take.

A lane is a marker of pyproject.toml. `smoke` picks one test of each main job on a real server out
of its lane for `make test`; all tests without a lane run there as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

LANES = ("timing", "ray", "slow", "server", "sysbench")
"""A test is in the first of these that it is marked with."""

LONGEST_S = 2.0
"""Of a test without a lane."""

TRACED = 3
"""How much dearer Python gets at the most where lines are counted (coverage in CI)."""

_PRESSURE, _STAT = Path("/proc/pressure/cpu"), Path("/proc/stat")


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


class Watch:
    """What a test cost, and how long it waited, without what the rest of the machine did to it."""

    def __init__(self) -> None:
        self._began, self._cpu_s, self._machine = time.monotonic(), _cpu_s(), _machine()

    def judge(self) -> None:
        """Fail what takes too long for a test that everybody waits for."""
        took_s, cpu_s, machine = time.monotonic() - self._began, _cpu_s() - self._cpu_s, _machine()
        waited_s = took_s - cpu_s - (machine.kept_s - self._machine.kept_s)
        # Two threads of one core do half as much each: so far others may have slowed this one down.
        others_s = machine.busy_s - self._machine.busy_s - cpu_s
        most_s = LONGEST_S * (1 + min(1.0, max(0.0, others_s / took_s)))
        most_s *= TRACED if sys.gettrace() is not None else 1
        if max(cpu_s, waited_s) > most_s:
            pytest.fail(
                f"{cpu_s:.1f} s of a core and {waited_s:.1f} s of waiting, where a test without a "
                f"lane is allowed {most_s:.1f} s: make it quicker, or mark it `slow`",
                pytrace=False,
            )


def _cpu_s() -> float:
    """Of this process, and of those that it started and that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class _Machine(NamedTuple):
    """Seconds since the machine's start."""

    busy_s: float
    """Of all cores together."""
    kept_s: float
    """In which somebody was kept from a core, by others (psi.rst) or by the hypervisor."""


def _machine() -> _Machine:
    try:
        pressed = _PRESSURE.read_text().splitlines()[0].rpartition("total=")[2]
        # proc(5): user, nice, system, idle, iowait, irq, softirq, steal; in ticks.
        ticks = [int(value) for value in _STAT.read_text().split(maxsplit=9)[1:9]]
    except OSError:
        return _Machine(0.0, 0.0)
    a_second = os.sysconf("SC_CLK_TCK")
    busy = sum(ticks[:3]) + sum(ticks[5:7])
    return _Machine(busy / a_second, int(pressed) / 1e6 + ticks[7] / a_second)
