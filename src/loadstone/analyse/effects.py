"""The effect of B against A, with an interval and a p-value.

Everything is computed on logarithms of rates, because the noise of a throughput is proportional to
it, and because the difference of logarithms is the logarithm of the ratio. An effect is B / A - 1,
of geometric means. Values are rates, one per unit; for latencies, swap A and B.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from loadstone.analyse.intervals import CONFIDENCE, Interval, spread, student_factor

_FARTHEST = 700.0
"""The largest log ratio: the exponential of more overflows a float."""


@dataclass(frozen=True)
class Pair:
    """A unit of A and the unit of B that was measured next to it, in events a second."""

    a: float
    b: float
    a_first: bool | None = None
    """Whether A was first; `None` if the pair has both orders, as a whole ABBA round does."""


@dataclass(frozen=True)
class Effect:
    """B / A - 1, its interval, and the p-value of no effect."""

    relative: float
    interval: Interval | None
    """`None`, like the p-value, if there are too few units to estimate the spread."""
    p_value: float | None
    """Two-sided p-value of no difference."""
    units: int
    """The number of pairs; of unpaired units, that of the smaller side."""
    degrees: float
    """Degrees of freedom of the standard error."""
    spread: float
    """Standard deviation of a pair's log ratio. Divided by the square root of `units` it is the
    standard error."""
    method: str

    @property
    def log_ratio(self) -> float:
        """The logarithm of B / A."""
        return math.log1p(self.relative)

    def among(self, factor: float, level: float) -> Effect:
        """The same with the interval widened for several effects that are judged together.

        `factor` is what the p-value is multiplied by for them: the interval excludes no difference
        exactly where the corrected p-value is at most `level`. It is quoted at `1 - level`, the
        chance that all of them hold.
        """
        if self.interval is None:
            return self
        reach = student_factor(self.degrees, 1 - level / factor) * self.error
        low, high = _ends(self.log_ratio, reach)
        return replace(self, interval=Interval(low, high, 1 - level, self.interval.method))

    @property
    def error(self) -> float:
        """The standard error of the log ratio."""
        return self.spread / math.sqrt(self.units)


@dataclass(frozen=True)
class Variation:
    """Coefficients of variation, as shares of the mean; `None` if there are too few values."""

    within: float | None
    """Variation of the seconds within a step: the root of the mean square over all steps."""
    between: float | None
    """Variation between the means of the steps."""


def says_nothing(interval: Interval) -> bool:
    """Whether the interval of a ratio excludes neither a half nor twice the value."""
    return interval.low <= -0.5 and interval.high >= 1.0


def log_ratio(pair: Pair) -> float:
    """The logarithm of B / A.

    Raises:
        ValueError: one of the two rates is zero.
    """
    if pair.a <= 0 or pair.b <= 0:
        raise ValueError("a rate of zero has no ratio: leave the unit out")
    return math.log(pair.b / pair.a)


def paired(pairs: Sequence[Pair], confidence: float = CONFIDENCE) -> Effect:
    """The effect in units that were measured side by side.

    If there are pairs in both orders, the effect of the order is removed before the spread is
    computed. It is the analysis of a two-period crossover (B. Jones and M. G. Kenward, "Design and
    Analysis of Cross-Over Trials", 3rd ed. 2014, chapter 2), and costs one degree of freedom.

    Raises:
        ValueError: there is no pair, or a rate is zero.
    """
    if not pairs:
        raise ValueError("an effect of no pair")
    forward = [log_ratio(pair) for pair in pairs if pair.a_first is True]
    backward = [log_ratio(pair) for pair in pairs if pair.a_first is False]
    rest = [log_ratio(pair) for pair in pairs if pair.a_first is None]
    if forward and backward and not rest:
        return _crossover(forward, backward, confidence)
    ratios = forward + backward + rest
    wide = spread(ratios) if len(ratios) > 1 else 0.0
    return _effect(fmean(ratios), wide, (len(ratios), len(ratios) - 1), ("paired t", confidence))


def _crossover(forward: Sequence[float], backward: Sequence[float], confidence: float) -> Effect:
    means = fmean(forward), fmean(backward)
    left = [
        value - mean
        for mean, values in zip(means, (forward, backward), strict=True)
        for value in values
    ]
    units, degrees = len(left), len(left) - 2
    variance = math.fsum(value * value for value in left) / degrees if degrees > 0 else 0.0
    # With equal numbers of both orders the factor is 1.
    uneven = units / 4 * (1 / len(forward) + 1 / len(backward))
    wide = math.sqrt(variance * uneven)
    method = "paired t, order taken out"
    return _effect(fmean(means), wide, (units, degrees), (method, confidence))


def unpaired(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Effect:
    """The effect between independent units of A and B.

    It is Welch's t test on logarithms: B. L. Welch, "The generalization of 'Student's' problem when
    several different population variances are involved", Biometrika 34, 1947.

    Raises:
        ValueError: a side has no unit, or a rate is zero.
    """
    if not a or not b:
        raise ValueError("an effect of units of one side alone")
    logs = [[log_ratio(Pair(1.0, rate)) for rate in side] for side in (a, b)]
    relative, units = fmean(logs[1]) - fmean(logs[0]), min(len(a), len(b))
    if units < 2:
        return _effect(relative, 0.0, (units, 0), ("Welch's t", confidence))
    parts = [(spread(side) ** 2 / len(side), len(side) - 1) for side in logs]
    variance = math.fsum(part for part, _ in parts)
    below = math.fsum(part * part / degrees for part, degrees in parts)
    degrees = variance * variance / below if below > 0 else float(len(a) + len(b) - 2)
    wide = math.sqrt(variance * units)
    return _effect(relative, wide, (units, degrees), ("Welch's t", confidence))


def _effect(
    ratio: float, wide: float, counted: tuple[int, float], named: tuple[str, float]
) -> Effect:
    """Build the effect; `counted`: units and degrees of freedom, `named`: method and confidence."""
    units, degrees = counted
    method, confidence = named
    if degrees <= 0:
        return Effect(math.expm1(ratio), None, None, units, 0.0, wide, method)
    error = wide / math.sqrt(units)
    reach = student_factor(degrees, confidence) * error
    low, high = _ends(ratio, reach)
    interval = Interval(low, high, confidence, f"{method} on logarithms")
    chance = two_sided(ratio, error, degrees)
    return Effect(math.expm1(ratio), interval, chance, units, degrees, wide, method)


def _ends(ratio: float, reach: float) -> tuple[float, float]:
    # Two units of great spread, asked at a high confidence, reach beyond all numbers.
    return math.expm1(min(ratio - reach, _FARTHEST)), math.expm1(min(ratio + reach, _FARTHEST))


def two_sided(ratio: float, error: float, degrees: float) -> float:
    """The two-sided p-value of a log ratio; 0 or 1 where there is no spread."""
    from scipy.special import stdtr

    if error == 0:
        return 1.0 if ratio == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(ratio) / error))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values, corrected for their number, in the given order.

    All at or below a level may be believed together: the chance that even one of them is false is
    no higher than the level.
    """
    factors = holm_factors(p_values)
    return tuple(min(1.0, p * factor) for p, factor in zip(p_values, factors, strict=True))


def holm_factors(p_values: Sequence[float]) -> tuple[float, ...]:
    """By what Holm's method multiplies each p-value: 1 to their number, in the order given.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6, 1979.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    factors, highest = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        left = len(p_values) - rank
        highest = max(highest, p_values[at] * left)
        factors[at] = highest / p_values[at] if p_values[at] > 0 else float(left)
    return tuple(factors)


def variation(steps: Sequence[Sequence[float]]) -> Variation:
    """The variation within and between steps; `steps` has the rates of each step's seconds."""
    means = [fmean(step) for step in steps if step]
    shares = [spread(step) / fmean(step) for step in steps if len(step) > 1 and fmean(step) > 0]
    within = math.sqrt(fmean(share * share for share in shares)) if shares else None
    between = spread(means) / fmean(means) if len(means) > 1 and fmean(means) > 0 else None
    return Variation(within, between)
