"""Whether a condition is met, and for how long it has been: figures and times in, a word out."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.model.protection import Condition

_STALE_S = 10.0
"""A figure that nobody told for so long is not known: what was before says nothing of now."""


@dataclass
class Judge:
    """One condition in one place: a server, its host, a replica, the load."""

    condition: Condition
    _since_s: float | None = None
    """Since when each figure that came met it."""
    _last_s: float | None = None
    value: float = 0.0
    """The last that came."""

    def take(self, at_s: float, value: float) -> None:
        """The figure at a moment; moments only go on."""
        if self._last_s is not None and at_s - self._last_s > _STALE_S:
            self._since_s = None
        self._last_s, self.value = at_s, value
        if not self.condition.is_met_by(value):
            self._since_s = None
        elif self._since_s is None:
            self._since_s = at_s

    def forget(self) -> None:
        """What came so far was of another load."""
        self._since_s = self._last_s = None

    def is_met(self, now_s: float) -> bool:
        """Whether it is met, and has been for as long as it says.

        The last figure counts up to when it came, and no further: silence proves nothing.
        """
        if self._since_s is None or self._last_s is None or now_s - self._last_s > _STALE_S:
            return False
        return self._last_s - self._since_s >= self.condition.for_s
