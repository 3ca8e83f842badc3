"""Decides whether a condition is met, and for how long it has been, from figures and times."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.model.protection import Condition

_STALE_S = 10.0
"""Seconds after which a figure counts as unknown: an old value says nothing about now."""


@dataclass
class Judge:
    """Judges one condition in one place: a server, its host, a replica, the load."""

    condition: Condition
    _since_s: float | None = None
    """The time since which every figure has met the condition."""
    _last_s: float | None = None
    value: float = 0.0
    """The latest figure."""

    def take(self, at_s: float, value: float) -> None:
        """Take the figure at a moment; moments only increase."""
        if self._last_s is not None and at_s - self._last_s > _STALE_S:
            self._since_s = None
        self._last_s, self.value = at_s, value
        if not self.condition.is_met_by(value):
            self._since_s = None
        elif self._since_s is None:
            self._since_s = at_s

    def forget(self) -> None:
        """Forget the figures so far: they belong to another load."""
        self._since_s = self._last_s = None

    def is_met(self, now_s: float) -> bool:
        """Whether the condition is met, and has been for as long as it asks.

        The last figure counts up to when it came, and no further: silence proves nothing.
        """
        if self._since_s is None or self._last_s is None or now_s - self._last_s > _STALE_S:
            return False
        return self._last_s - self._since_s >= self.condition.for_s
