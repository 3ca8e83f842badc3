"""What a finding predicts for the rate without its cause, and what that rate was. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faults.drive import Carried


@dataclass(frozen=True)
class Forecast:
    """A predicted rate and the measured one."""

    tps: float
    low: float
    high: float
    measured: float

    @property
    def is_inside(self) -> bool:
        """Whether the measured rate is in the predicted 80 % interval."""
        return self.low <= self.measured <= self.high

    @property
    def error(self) -> float:
        """Relative to the measured rate."""
        return self.tps / self.measured - 1

    @property
    def record(self) -> dict[str, Any]:
        """All that is kept of it."""
        return {**vars(self), "inside": self.is_inside, "error": self.error}

    @property
    def words(self) -> str:
        """For people."""
        inside = "inside" if self.is_inside else "outside"
        return f"{self.measured:,.0f} tps is {inside} {self.low:,.0f} to {self.high:,.0f}"


def forecast_of(found: Mapping[str, Any] | None, measured: float) -> Forecast | None:
    """`found`: what a finding of `--json` predicts."""
    if found is None:
        return None
    return Forecast(found["tps"], found["low"], found["high"], measured)


def forecast_of_case(carried: Carried) -> Forecast | None:
    """The first right finding's, at the level whose rate it starts from."""
    foretold = _foretold(carried.findings, carried.fault.causes)
    rates = list(zip(carried.tps, carried.tps_without, strict=False))
    known = [(before, after) for before, after in rates if before is not None and after]
    if foretold is None or foretold["now"] is None or not known:
        return None
    _, after = min(known, key=lambda pair: abs(pair[0] - foretold["now"]))
    return forecast_of(foretold, after)


def _foretold(
    findings: Sequence[Mapping[str, Any]], causes: Collection[str]
) -> Mapping[str, Any] | None:
    right = next((one for one in findings if one["cause"] in causes), None)
    return None if right is None else right.get("foretold")


def summed_up(forecasts: Sequence[Forecast]) -> str:
    """How often they came true, and how far off they are in the median."""
    inside = sum(one.is_inside for one in forecasts)
    off = statistics.median(one.error for one in forecasts)
    size = statistics.median(abs(one.error) for one in forecasts)
    return (
        f"{inside} of {len(forecasts)} rates without the fault are in the predicted interval;"
        f" the prediction is off by {size:.0%} in the median ({off:+.0%} with its sign)."
    )
