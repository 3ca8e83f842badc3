"""How many units a comparison needs, from the spread that the units so far have shown."""

from __future__ import annotations

import math

from loadstone.analyse.effects import Effect

SURE_OF_SPREAD = 0.8
"""The spread is taken at its upper limit of this confidence: few units often show too little of it.

R. H. Browne, "On the use of a pilot sample for sample size determination", Statistics in Medicine
14, 1995: with the spread as it was seen, half of all comparisons would come out too small.
"""

MOST_UNITS = 1_000_000


def units_needed(effect: Effect, margin: float, level: float, power: float) -> int:
    """So many units that a difference of the margin is found, and none is told to be none.

    Both with the chance `power`: the t test against a true difference of the margin, and the two
    one-sided tests where there is none at all. At most `MOST_UNITS`, which nobody will carry out.

    Raises:
        ValueError: the effect's spread is not known.
    """
    if effect.degrees <= 0:
        raise ValueError("how much units differ is not known")
    wide = effect.spread * spread_factor(effect.degrees)
    if wide == 0:
        return effect.units
    # What the design has spent on other things than the spread: one for the mean, one for order.
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
    """By how much the true spread may exceed the one seen, at the confidence above."""
    from scipy.special import chdtri

    # chdtri takes the share above: its argument is the quantile of chi square from the right.
    return math.sqrt(degrees / float(chdtri(degrees, SURE_OF_SPREAD)))


def _enough(units: int, design: tuple[float, float], level: float, power: float) -> bool:
    distance, spent = design
    degrees = units - spent
    if degrees < 1:
        return False
    away = distance * math.sqrt(units)
    return finds(away, degrees, level) >= power and excludes(away, degrees, level) >= power


def finds(away: float, degrees: float, level: float) -> float:
    """The power of the two-sided t test, `away` standard errors from nothing."""
    from scipy.special import nctdtr, stdtrit

    beyond = float(stdtrit(degrees, 1 - level / 2))
    return 1 - float(nctdtr(degrees, away, beyond))


def excludes(away: float, degrees: float, level: float) -> float:
    """The power of the two one-sided tests where there is no difference.

    At least by as much as both of them fail alone (Bonferroni's bound), which is nearly exact where
    the power is high.
    """
    from scipy.special import nctdtr, stdtrit

    beyond = float(stdtrit(degrees, 1 - level))
    return 1 - 2 * float(nctdtr(degrees, away, beyond))
