"""`--until 2%`: an interval that may be looked at after every unit.

An ordinary 95 % interval is wrong in one of twenty looks; looking after each unit and stopping on a
good result is wrong far more often. A confidence sequence is valid at all looks together, whatever
the reason to stop (S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform,
nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49, 2021).

This one is for normal values of unknown spread, which log ratios nearly are. With effects in units
of the spread, and a normal prior N(0, 1/c^2) on them, the Bayes factor against a mean m,

    E_n(m) = sqrt(c^2 / (n + c^2)) (V / (V - S^2 / (n + c^2)))^(n/2)

with S the sum and V the sum of squares of x - m, does not depend on the spread and is a martingale
that starts at 1 (T. L. Lai, Annals of Statistics 4, 1976; H. Wang and A. Ramdas, "Anytime-valid
t-tests and confidence sequences for Gaussian means with unknown variance", 2024). By
Ville's inequality it reaches 1 / level at the true mean with a chance of at most the level, ever.
The interval consists of the means at which it has not.

The price is its width: with 10 units it is 1.7 times Student's, and it takes about two and a half
times as many units to reach the same width. If the number of units is fixed in advance,
`effects.paired` is sharper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from loadstone.analyse.effects import Pair, log_ratio
from loadstone.analyse.intervals import Interval

PRIOR = 0.5
"""c squared; with 5 to 20 units this value gives nearly the narrowest interval."""

METHOD = "confidence sequence, t mixture"


@dataclass(frozen=True)
class Look:
    """The state after some units; it is valid however often one looks."""

    relative: float
    """B / A - 1; 0 for a single level, where the interval is what counts."""
    interval: Interval | None
    """Interval of the relative effect; `None` while the units are too few for any bound."""
    p_value: float
    """P-value of no difference, valid at all looks together: the smallest of all looks so far."""
    units: int

    @property
    def half_width(self) -> float:
        """Half the width of the interval, as a share; infinite while it has no bound."""
        if self.interval is None:
            return math.inf
        return (self.interval.high - self.interval.low) / 2


def look(pairs: Sequence[Pair], level: float = 0.05) -> Look:
    """The effect of B against A after these pairs, which must be whole ABBA rounds or blocks.

    Raises:
        ValueError: there is no pair, or a rate is zero.
    """
    return look_at_logs([log_ratio(pair) for pair in pairs], level)


def look_at_mean(rates: Sequence[float], level: float = 0.05) -> Look:
    """The precision of one level's rate; the interval is relative to its geometric mean.

    Raises:
        ValueError: there is no rate, or a rate is zero.
    """
    logs = [log_ratio(Pair(1.0, rate)) for rate in rates]
    centre = fmean(logs) if logs else 0.0
    return look_at_logs([value - centre for value in logs], level)


def look_at_logs(values: Sequence[float], level: float) -> Look:
    """The look at these log ratios."""
    if not values:
        raise ValueError("a look at nothing")
    between = bounds(values, level)
    ends = None
    if between is not None:
        ends = Interval(math.expm1(between[0]), math.expm1(between[1]), 1 - level, METHOD)
    least = min(1 / evidence(values[:count]) for count in range(1, len(values) + 1))
    return Look(math.expm1(fmean(values)), ends, min(1.0, least), len(values))


def evidence(values: Sequence[float], mean: float = 0.0) -> float:
    """E_n: the evidence of the values against this mean; always 1 for a single value."""
    count = len(values)
    total = math.fsum(value - mean for value in values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    if squares == 0:
        return math.sqrt(PRIOR / (count + PRIOR))
    left = squares - total * total / (count + PRIOR)
    log_evidence = (math.log(PRIOR / (count + PRIOR)) + count * math.log(squares / left)) / 2
    # Beyond the range of a float it is as good as certain.
    return math.exp(min(log_evidence, 700.0))


def bounds(values: Sequence[float], level: float) -> tuple[float, float] | None:
    """The interval of means that the values do not exclude; `None` if they exclude none."""
    count = len(values)
    most = ((count + PRIOR) / PRIOR) ** (1 / count) * level ** (-2 / count)
    share = most * PRIOR / (count + PRIOR)
    if share >= 1:
        return None
    centre = fmean(values)
    squares = math.fsum((value - centre) ** 2 for value in values)
    reach = math.sqrt(squares * (most - 1) / (count * (1 - share)))
    return centre - reach, centre + reach
