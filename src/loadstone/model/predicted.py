"""The rate that a change is predicted to bring."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from loadstone.model.frozen import Frozen


def _said(text: str) -> Any:
    return Field(description=text)


class Foretold(Frozen):
    """The predicted rate with a remedy, from the account and the operational laws."""

    tps: float = _said("events a second")
    low: float = _said("lower bound of the 80 % interval")
    high: float = _said("upper bound of it")
    now: float | None = Field(default=None, description="events a second without the remedy")

    def from_rate(self, now: float) -> Foretold:
        """The same change from another rate without the remedy: a machine's own rate varies."""
        times = now / self.now if self.now else 1.0
        return Foretold(tps=times * self.tps, low=times * self.low, high=times * self.high, now=now)
