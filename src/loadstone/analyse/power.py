"""Estimates how many units a comparison needs, from the spread of the units so far."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loadstone.analyse.effects import Effect

SURE_OF_SPREAD = 0.8
"""The spread is taken at its upper limit at this confidence: few units often underestimate it.

R. H. Browne, "On the use of a pilot sample for sample size determination", Statistics in Medicine
14, 1995: with the observed spread itself, half of all comparisons would get too few units.
"""

MOST_UNITS = 1_000_000


def units_needed(effect: Effect, margin: float, level: float, power: float) -> int:
    """The units needed for a verdict, with the chance `power`.

    An effect seen beyond the margin needs as many as show a difference of its size (t test). One
    within it needs as many as show a difference of the margin and, if there is none at all, exclude
    it (two one-sided tests as well). At most `MOST_UNITS`, more than anybody will run.

    Raises:
        ValueError: the effect's spread is unknown.
    """
    if effect.degrees <= 0:
        raise ValueError("how much units differ is not known")
    wide = effect.spread * spread_factor(effect.degrees)
    if wide == 0:
        return effect.units
    least, seen = math.log1p(margin), abs(effect.log_ratio)
    design = _Design(
        # Degrees of freedom that the design spends on the mean and on the order.
        spent=max(effect.units - effect.degrees, 1.0),
        distance=max(least, seen) / wide,  # of the margin, the nearer of its two sides
        is_beyond=seen > least,
    )
    low, high = 1, 2
    while high < MOST_UNITS and not design.is_enough(high, level, power):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if design.is_enough(middle, level, power):
            high = middle
        else:
            low = middle
    return min(high, MOST_UNITS)


@dataclass(frozen=True)
class _Design:
    """What is to be shown; `distance` in spreads of a unit."""

    spent: float
    distance: float
    is_beyond: bool

    def is_enough(self, units: int, level: float, power: float) -> bool:
        """Whether so many units have the power."""
        degrees = units - self.spent
        if degrees < 1:
            return False
        away = self.distance * math.sqrt(units)
        shown = finds(away, degrees, level) >= power
        return shown and (self.is_beyond or excludes(away, degrees, level) >= power)


def spread_factor(degrees: float) -> float:
    """The factor by which the true spread may exceed the observed one, at that confidence."""
    from scipy.special import chdtri

    # chdtri takes the probability of the upper tail.
    return math.sqrt(degrees / float(chdtri(degrees, SURE_OF_SPREAD)))


def finds(away: float, degrees: float, level: float) -> float:
    """The power of the two-sided t test if the true effect is `away` standard errors from zero."""
    from scipy.special import nctdtr, stdtrit

    beyond = float(stdtrit(degrees, 1 - level / 2))
    return 1 - float(nctdtr(degrees, away, beyond))


def excludes(away: float, degrees: float, level: float) -> float:
    """The power of the two one-sided tests where there is no difference.

    It is a lower bound (Bonferroni's), which is nearly exact if the power is high.
    """
    from scipy.special import nctdtr, stdtrit

    beyond = float(stdtrit(degrees, 1 - level))
    return 1 - 2 * float(nctdtr(degrees, away, beyond))
