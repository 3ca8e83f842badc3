"""Detects that this machine was suspended: one clock continues then, the other stops."""

from __future__ import annotations

import time

_TWO_CALLS_S = 0.01
"""Seconds that this process may wait for a core between reading the two clocks."""


class Asleep:
    """Counts suspended time since its creation, as CLOCK_BOOTTIME minus CLOCK_MONOTONIC."""

    def __init__(self) -> None:
        self._before_s = _ahead_s()

    def seconds(self) -> float:
        """Seconds for which the machine was suspended since; 0 if it was not."""
        slept_s = _ahead_s() - self._before_s
        return slept_s if slept_s > _TWO_CALLS_S else 0.0


def _ahead_s() -> float:
    """How far CLOCK_BOOTTIME is ahead: the least of some readings, as each may be interrupted."""
    return min(
        time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
        for _ in range(3)
    )
