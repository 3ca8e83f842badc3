"""Whether this machine was suspended meanwhile: one clock goes on then, and one stands still."""

from __future__ import annotations

import time

_TWO_CALLS_S = 0.01
"""Between one clock and the other this process may have to wait for a core."""


class Asleep:
    """Counts from when it is made (clock_gettime(2): CLOCK_BOOTTIME, CLOCK_MONOTONIC)."""

    def __init__(self) -> None:
        self._before_s = _ahead_s()

    def seconds(self) -> float:
        """How long the machine was suspended since; 0: it was not."""
        slept_s = _ahead_s() - self._before_s
        return slept_s if slept_s > _TWO_CALLS_S else 0.0


def _ahead_s() -> float:
    """By how much the clock that goes on is ahead: the least of some looks, as each may be cut."""
    return min(
        time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
        for _ in range(3)
    )
