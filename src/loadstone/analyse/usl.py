"""The Universal Scalability Law, fitted to a ladder, and refused if it does not fit.

    X(N) = scale N / (1 + contention (N - 1) + coherency N (N - 1))

N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007, chapter 4: `scale` (his lambda or
gamma) is the rate of one user, `contention` (sigma, alpha) the serialized share of the work,
`coherency` (kappa, beta) the cost of keeping users consistent with each other. With coherency the
rate falls again beyond N* = sqrt((1 - contention) / coherency).

The unit of the fit is a level: its repeats are averaged first and weighted by their number, since
the curve misses a level by the same amount in each repeat. Intervals are Student's, from the
standard errors of the linearised fit (G. A. F. Seber and C. J. Wild, "Nonlinear Regression", 1989,
chapter 5); those of the peak use the delta method.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loadstone.analyse.intervals import CONFIDENCE, Interval, student_factor
from loadstone.analyse.ladder import Level, has_steal, quotable
from loadstone.model.figure import Count, Percent
from loadstone.model.message import Message, counted, say, user_count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

FEWEST_LEVELS = 5
"""The fewest levels: three for the parameters, and some more to judge the fit."""

LEAST_EXPLAINED = 0.9
"""Below this R squared of the levels, the law does not describe the ladder."""

MOST_MISSED = 0.1
"""The largest residual standard error with which the law describes the ladder, as a share of the
highest rate."""

METHOD = "t, linearised least squares"

_AT_BOUND = 1e-9


@dataclass(frozen=True)
class Parameter:
    """An estimated parameter with its standard error and interval."""

    value: float
    error: float
    interval: Interval


@dataclass(frozen=True)
class Peak:
    """The maximum of the fitted curve: users and events a second, each with its interval."""

    users: Parameter
    rate: Parameter


@dataclass(frozen=True)
class Usl:
    """A ladder that the law describes."""

    scale: Parameter
    """Events a second."""
    contention: Parameter
    coherency: Parameter
    explained: float
    """R squared."""
    missed: float
    """The residuals' standard error in events a second."""
    levels: int
    peak: Peak | None
    no_peak: Message | None
    """Why the curve has no peak within the ladder."""
    steal_left_out: int = 0
    """Steps that lost cores to the hypervisor and were left out of the fit."""
    steal_within: int = 0
    """Such steps in the fit, as too few others are there."""

    def rate(self, users: float) -> float:
        """The rate of the curve at that many users, in events a second."""
        return law(users, self.scale.value, self.contention.value, self.coherency.value)


@dataclass(frozen=True)
class Refused:
    """The law does not describe this ladder, and the reason."""

    reason: Message


def law(users: float, scale: float, contention: float, coherency: float) -> float:
    """Events a second."""
    return scale * users / (1 + contention * (users - 1) + coherency * users * (users - 1))


def fit(points: Iterable[tuple[float, float]], confidence: float = CONFIDENCE) -> Usl | Refused:
    """Fit the law to pairs of users and events a second, from closed loops.

    Several pairs with the same number of users are repeats. The caller leaves out steps without a
    quotable rate.
    """
    ladder = _Ladder.of(points)
    if len(ladder.users) < FEWEST_LEVELS:
        few = counted(
            "1 level; at least {fewest} different ones are needed",
            "{number} levels; at least {fewest} different ones are needed",
            len(ladder.users),
            fewest=FEWEST_LEVELS,
        )
        return Refused(few)
    if not (ladder.rates > 0).all():
        return Refused(say("a level has no rate"))
    found = _least_squares(ladder)
    reason = _misfit(ladder, found)
    return Refused(reason) if reason else _described(ladder, found, confidence)


def of_ladder(ladder: Sequence[Level], confidence: float = CONFIDENCE) -> Usl | Refused:
    """Fit the law to the levels of one variant and workload, from the steps with quotable rates."""
    if any(level.rate for level in ladder):
        return Refused(say("an open loop: its rates were set, not found"))
    rated = [
        (level.concurrency, step.tps, has_steal(step))
        for level in ladder
        for step in level.steps
        if step.tps is not None and quotable(step)
    ]
    clean = [(users, tps) for users, tps, stolen in rated if not stolen]
    if len({users for users, _ in clean}) >= FEWEST_LEVELS:
        return _with_steal(fit(clean, confidence), left_out=len(rated) - len(clean))
    everything = [(users, tps) for users, tps, _ in rated]
    return _with_steal(fit(everything, confidence), rests_on=len(rated) - len(clean))


def _with_steal(found: Usl | Refused, left_out: int = 0, rests_on: int = 0) -> Usl | Refused:
    if isinstance(found, Refused):
        return found
    return replace(found, steal_left_out=left_out, steal_within=rests_on)


@dataclass(frozen=True)
class _Ladder:
    """The levels in order: users, mean rates, and the number of repeats in each mean."""

    users: Array
    rates: Array
    repeats: Array

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]]) -> _Ladder:
        import numpy as np

        by_users: dict[float, list[float]] = {}
        for users, rate in points:
            by_users.setdefault(float(users), []).append(float(rate))
        levels = sorted(by_users.items())
        return cls(
            np.array([users for users, _ in levels], dtype=np.float64),
            np.array([math.fsum(rates) / len(rates) for _, rates in levels], dtype=np.float64),
            np.array([len(rates) for _, rates in levels], dtype=np.float64),
        )

    def curve(self, parameters: Array) -> Array:
        scale, contention, coherency = parameters
        curve: Array = scale * self.users / self._slowing(contention, coherency)
        return curve

    def gradient(self, parameters: Array) -> Array:
        """The gradient: a row per level, a column per parameter."""
        import numpy as np

        scale, contention, coherency = parameters
        users = self.users
        slowing = self._slowing(contention, coherency)
        by_slowing = -scale * users / slowing**2
        others = users - 1
        columns = (users / slowing, by_slowing * others, by_slowing * users * others)
        return np.stack(columns, axis=1)

    def _slowing(self, contention: float, coherency: float) -> Array:
        others = self.users - 1
        slowing: Array = 1 + contention * others + coherency * self.users * others
        return slowing


def _least_squares(ladder: _Ladder) -> Array:
    """The scale, contention and coherency with the smallest sum of squares within their bounds."""
    import numpy as np
    from scipy.optimize import least_squares

    weights = np.sqrt(ladder.repeats)
    found = least_squares(
        lambda parameters: weights * (ladder.curve(parameters) - ladder.rates),
        _start(ladder),
        jac=lambda parameters: weights[:, None] * ladder.gradient(parameters),
        bounds=([0, 0, 0], [np.inf, 1, np.inf]),
        x_scale="jac",
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
        max_nfev=2000,
    )
    parameters: Array = found.x
    return parameters


def _start(ladder: _Ladder) -> Array:
    """The best start on a coarse grid; the scale follows, as the law is linear in it."""
    import numpy as np

    best, lowest = np.array([1.0, 0.5, 1e-3]), math.inf
    for contention in (1e-3, 0.01, 0.05, 0.2, 0.6, 0.95):
        for coherency in (1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
            curve = ladder.curve(np.array([1.0, contention, coherency]))
            weighted = ladder.repeats * curve
            scale = float((weighted * ladder.rates).sum() / (weighted * curve).sum())
            squares = float((ladder.repeats * (scale * curve - ladder.rates) ** 2).sum())
            if squares < lowest:
                best, lowest = np.array([scale, contention, coherency]), squares
    return best


def _misfit(ladder: _Ladder, found: Array) -> Message | None:
    """Why the law does not describe the ladder; `None` if it does."""
    explained, missed = _quality(ladder, found)
    if explained < LEAST_EXPLAINED:
        return say(
            "it explains {explained} of the differences between levels (R squared), less than "
            "{least}",
            explained=Percent(explained),
            least=Percent(LEAST_EXPLAINED),
        )
    highest = float(ladder.rates.max())
    if missed > MOST_MISSED * highest:
        return say(
            "it misses the levels by {missed} of the highest rate", missed=Percent(missed / highest)
        )
    if found[1] < _AT_BOUND:
        return say(
            "no contention: up to the last level, each user adds as much as the first, or more"
        )
    if found[1] > 1 - _AT_BOUND:
        return say("contention is at its bound of 1: users after the first add nothing")
    return None


def _quality(ladder: _Ladder, found: Array) -> tuple[float, float]:
    """R squared, and the standard error of the residuals for a single repeat."""
    residuals = ladder.curve(found) - ladder.rates
    squares = float((ladder.repeats * residuals**2).sum())
    mean = float((ladder.repeats * ladder.rates).sum() / ladder.repeats.sum())
    total = float((ladder.repeats * (ladder.rates - mean) ** 2).sum())
    explained = 1 - squares / total if total > 0 else 0.0
    return explained, math.sqrt(squares / (len(ladder.users) - 3))


def _described(ladder: _Ladder, found: Array, confidence: float) -> Usl:
    explained, missed = _quality(ladder, found)
    covariance = missed**2 * _inverse(ladder, found)
    factor = student_factor(len(ladder.users) - 3, confidence)

    def parameter(value: float, variance: float) -> Parameter:
        error = math.sqrt(max(variance, 0.0))
        low, high = value - factor * error, value + factor * error
        return Parameter(value, error, Interval(low, high, confidence, METHOD))

    scale, contention, coherency = (
        parameter(float(found[at]), float(covariance[at, at])) for at in range(3)
    )
    no_peak = _no_peak(ladder, contention, coherency)
    peak = None if no_peak else _peak(found, covariance, (factor, confidence))
    return Usl(scale, contention, coherency, explained, missed, len(ladder.users), peak, no_peak)


def _inverse(ladder: _Ladder, found: Array) -> Array:
    """(J' W J)^-1; columns are scaled first, since parameters differ by six orders of magnitude."""
    import numpy as np

    weighted = np.sqrt(ladder.repeats)[:, None] * ladder.gradient(found)
    norms = np.linalg.norm(weighted, axis=0)
    scaled = weighted / norms
    inverse: Array = np.linalg.pinv(scaled.T @ scaled) / np.outer(norms, norms)
    return inverse


def _no_peak(ladder: _Ladder, contention: Parameter, coherency: Parameter) -> Message | None:
    if coherency.interval.low <= 0:
        return say("coherency may be zero: the rate need not fall at any level")
    users = math.sqrt((1 - contention.value) / coherency.value)
    highest = float(ladder.users.max())
    if users > highest:
        return say(
            "the curve is highest at {users}, beyond the last level ({highest})",
            users=user_count(round(users)),
            highest=Count(round(highest)),
        )
    return None


def _peak(found: Array, covariance: Array, width: tuple[float, float]) -> Peak:
    """The peak by the delta method, with users on a log scale to keep the interval positive."""
    import numpy as np

    factor, confidence = width
    scale, contention, coherency = (float(value) for value in found)
    users = math.sqrt((1 - contention) / coherency)
    slope = np.array([0.0, -0.5 / (1 - contention), -0.5 / coherency])
    error = math.sqrt(max(float(slope @ covariance @ slope), 0.0))
    reach = math.exp(factor * error)
    between = Interval(users / reach, users * reach, confidence, f"{METHOD}, delta")
    # At the peak the derivative by N is zero: only the parameters affect the rate there.
    one = np.array([users])
    steepness = _Ladder(one, one, one).gradient(found)[0]
    rate = law(users, scale, contention, coherency)
    rate_error = math.sqrt(max(float(steepness @ covariance @ steepness), 0.0))
    reached = Interval(
        rate - factor * rate_error, rate + factor * rate_error, confidence, f"{METHOD}, delta"
    )
    return Peak(Parameter(users, users * error, between), Parameter(rate, rate_error, reached))
