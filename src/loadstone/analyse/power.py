"""Estimates how many units a comparison needs, from the spread of the units so far."""

from __future__ import annotations

import math

from loadstone.analyse.effects import Effect

SURE_OF_SPREAD = 0.8
"""The spread is taken at its upper limit at this confidence: few units often underestimate it.

R. H. Browne, "On the use of a pilot sample for sample size determination", Statistics in Medicine
14, 1995: with the observed spread itself, half of all comparisons would get too few units.
"""

MOST_UNITS = 1_000_000


def units_needed(effect: Effect, margin: float, level: float, power: float) -> int:
    """The units needed to detect a difference of the margin, and to show that there is none.

    Both have the chance `power`: the t test with a true difference of the margin, and the two
    one-sided tests with no difference at all. At most `MOST_UNITS`, more than anybody will run.

    Raises:
        ValueError: the effect's spread is unknown.
    """
    if effect.degrees <= 0:
        raise ValueError("how much units differ is not known")
    wide = effect.spread * spread_factor(effect.degrees)
    if wide == 0:
        return effect.units
    # Degrees of freedom that the design spends on the mean and on the order.
    spent = max(effect.units - effect.degrees, 1.0)
    distance = math.log1p(margin) / wide  # the nearer of the margin's two sides
    low, high = 1, 2
    while high < MOST_UNITS and not _enough(high, (distance, spent), level, power):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if _enough(middle, (distance, spent), level, power):
            high = middle
        else:
            low = middle
    return min(high, MOST_UNITS)


def spread_factor(degrees: float) -> float:
    """The factor by which the true spread may exceed the observed one, at that confidence."""
    from scipy.special import chdtri

    # chdtri takes the probability of the upper tail.
    return math.sqrt(degrees / float(chdtri(degrees, SURE_OF_SPREAD)))


def _enough(units: int, design: tuple[float, float], level: float, power: float) -> bool:
    distance, spent = design
    degrees = units - spent
    if degrees < 1:
        return False
    away = distance * math.sqrt(units)
    return finds(away, degrees, level) >= power and excludes(away, degrees, level) >= power


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
