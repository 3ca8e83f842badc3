"""Searches in few steps for the smallest concurrency at the peak and the highest rate in time.

The functions are pure: from the steps so far they give the next level to try, or none when the
search is over. Verdicts on single steps are noisy, so the levels on both sides of the answer are
tried again, and each gets the verdict of the majority, with its posterior probability.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from loadstone.analyse import ladder
from loadstone.analyse.open_loop import keeps_up
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.model.search import MOST_STEPS, Level, Objective, SearchOutcome, SearchPlan

READINGS = 3
"""How often the levels on both sides of the answer are tried."""

NEAR_RATE = 1.05
"""The largest ratio of the two rates on both sides of the answer."""

NEAR_USERS = 1.25
"""The largest ratio of the two concurrencies on both sides of the answer."""

AT_PEAK = 0.95
"""A concurrency reaches the peak if its rate is at least this share of the highest."""

NO_GAIN = 1.03
"""Twice the users must raise the best rate by this factor; failing twice in a row ends the
climb."""

BEYOND_CLOSED = 1.05
"""The highest rate to try in an open loop, as a factor of the closed loop's rate."""

SLOWEST_SHARE = 0.01
"""The lowest rate to try, as a share of the closed loop's rate."""

DOWN = 0.7
"""While no rate holds the objective, the next one is this share of the lowest tried so far."""

SPACING = DOWN ** (0.5 ** math.ceil(math.log2(math.log(DOWN) / -math.log(NEAR_RATE))))
"""The ratio of neighbours among the rates at which a search may end: the interval of one step down
by `DOWN` is halved until neighbours are near enough."""


_ANY_TPS = 1000.0
"""The closed loop's rate while it is unknown: the number of rates that can be tried is the same for
all, but for one that their rounding may add."""


@dataclass(frozen=True)
class NextLevel:
    """The level to try next."""

    concurrency: int
    rate: Rate | None = None


def following(
    plan: SearchPlan, users: int, done: Sequence[StepResult], shift: float = 0.0
) -> NextLevel | None:
    """The next level to try, or `None`; `users` is the concurrency if the plan searches for none.

    `shift`, from 0 to 1, lowers the first rate by that share of the distance to the next rate at
    which the search may end. Searches with different shifts end at different rates, so the mean of
    their results is finer than each of them.
    """
    if len(done) >= MOST_STEPS:
        return None
    if plan.peak:
        climbing = _next_users(plan, done)
        if climbing is not None:
            return NextLevel(climbing)
        users = _smallest_at_peak(done) or users
    if plan.objective is None:
        return None
    rate = _next_rate(plan.objective, users, done, shift)
    if rate is None:
        return None
    return NextLevel(users, Rate(rate=rate) if rate else None)


def most_left(plan: SearchPlan, users: int, done: Sequence[StepResult], shift: float = 0.0) -> int:
    """The most steps that can follow if repeated steps of a level agree with the first one.

    It is the longest way to the end, as new levels may turn out either way. Where repeats
    disagree, more levels may be tried, up to `MOST_STEPS` steps in all.
    """
    left = _most_users_left(plan, done) if plan.peak else 0
    if plan.objective is not None:
        # The climb and its repeats may end at other users than the fewest so far.
        at = None if left else (_smallest_at_peak(done) if plan.peak else None) or users
        left += _most_rates_left(plan, at, done, shift)
    return min(left, MOST_STEPS - len(done))


def outcome(
    plan: SearchPlan, users: int, done: Sequence[StepResult], shift: float = 0.0
) -> SearchOutcome:
    """The result of a search after the steps so far."""
    smallest = _smallest_at_peak(done) if plan.peak else None
    users = smallest or users
    rates = _Rates.of(plan.objective, users, done) if plan.objective else None
    return SearchOutcome(
        objective=plan.objective,
        concurrency=_peak_level(done, smallest) if smallest else None,
        peak_tps=_peak(done)[1] if plan.peak and _by_users(done) else None,
        rate=_level(rates.kept, rates.verdicts) if rates and rates.kept else None,
        beyond=_level(rates.lost, rates.verdicts) if rates and rates.lost else None,
        closed_tps=_closed_tps(users, done),
        complete=following(plan, users, done, shift) is None and len(done) < MOST_STEPS,
    )


def answer_steps(found: SearchOutcome, steps: Sequence[StepResult]) -> tuple[StepResult, ...]:
    """The steps at the answer: at the highest rate that held, or at the peak."""
    if found.objective is not None:
        rate = found.rate.value if found.rate else None
        return tuple(step for step in steps if step.rate and step.rate.rate == rate)
    if not _by_users(steps):
        return ()
    users = _peak(steps)[0]
    return tuple(step for step in steps if step.rate is None and step.concurrency == users)


def level_at_peak(found: SearchOutcome, steps: Sequence[StepResult]) -> ladder.Level | None:
    """The level with the fewest users at the peak; `None` if the search was not for that alone."""
    return None if found.objective else found_level(found, steps)


def found_level(found: SearchOutcome, steps: Sequence[StepResult]) -> ladder.Level | None:
    """The level that a search found: the highest rate that held, or the fewest users at the peak.

    `None` if it found none.
    """
    if found.objective is None and found.concurrency:
        users = round(found.concurrency.value)
        closed = [step for step in steps if step.rate is None and step.concurrency == users]
        return next(iter(ladder.levels(closed)), None)
    return next(iter(ladder.levels(answer_steps(found, steps))), None) if found.rate else None


def levels_at_answer(found: SearchOutcome, tried: Sequence[ladder.Level]) -> Sequence[ladder.Level]:
    """The levels of one ladder on both sides of the answer; all of them if it has none of these.

    In a closed loop they are the fewest users at the peak, the next fewer, and the highest rate.
    """
    sides = {level.value for level in (found.rate, found.beyond) if level}
    near = [level for level in tried if level.rate and level.rate.rate in sides]
    if found.concurrency and not any(level.rate for level in tried):
        users = round(found.concurrency.value)
        fewer = max((one.concurrency for one in tried if one.concurrency < users), default=users)
        best = max(tried, key=lambda one: ladder.rate_of(one) or 0.0).concurrency
        near = [level for level in tried if level.concurrency in (fewer, users, best)]
    return near or tried


def steps_beyond(found: SearchOutcome, steps: Sequence[StepResult]) -> tuple[StepResult, ...]:
    """The steps at the lowest rate that did not hold the objective."""
    rate = found.beyond.value if found.beyond else None
    return tuple(step for step in steps if step.rate and step.rate.rate == rate)


def limiting_steps(found: SearchOutcome, steps: Sequence[StepResult]) -> tuple[StepResult, ...]:
    """The steps that show that higher rates do not hold the objective.

    They are those at the next rate, or if no rate was lost, those of the closed loop.
    """
    if found.objective is None:
        return ()
    closed = tuple(step for step in steps if step.rate is None)
    return steps_beyond(found, steps) or closed


def confidence(good: int, steps: int) -> float:
    """The probability that a level is good more often than not, after `good` of `steps`.

    It is the posterior P(p > 1/2) with a uniform prior, so p is distributed as
    Beta(good + 1, bad + 1), computed as the equivalent binomial sum.
    """
    terms = sum(math.comb(steps + 1, k) for k in range(good + 1))
    return float(terms / 2 ** (steps + 1))


def _by_users(done: Sequence[StepResult]) -> dict[int, list[float]]:
    """The rates of the closed loop, by concurrency."""
    found: dict[int, list[float]] = defaultdict(list)
    for step in done:
        if step.rate is None and step.tps is not None:
            found[step.concurrency].append(step.tps)
    return found


def _rates(done: Sequence[StepResult]) -> dict[int, float]:
    """The rate of each concurrency in the closed loop, which is the one that tables show."""
    closed = [step for step in done if step.rate is None and step.tps is not None]
    return {level.concurrency: ladder.rate_of(level) or 0.0 for level in ladder.levels(closed)}


def _peak(done: Sequence[StepResult]) -> tuple[int, float]:
    """The concurrency with the highest rate, and that rate."""
    return max(_rates(done).items(), key=lambda pair: (pair[1], -pair[0]))


def _reach(done: Sequence[StepResult]) -> dict[int, bool]:
    wanted = AT_PEAK * _peak(done)[1]
    return {users: rate >= wanted for users, rate in sorted(_rates(done).items())}


def _smallest_at_peak(done: Sequence[StepResult]) -> int | None:
    if not _by_users(done):
        return None
    return next((users for users, reaches in _reach(done).items() if reaches), None)


def _next_users(plan: SearchPlan, done: Sequence[StepResult]) -> int | None:
    rates = _by_users(done)
    if not rates:
        return 1
    climb = _next_of_climb(plan, _rates(done))
    if climb:
        return climb
    smallest = _smallest_at_peak(done)
    if smallest is None:
        return None
    below = max((users for users in rates if users < smallest), default=None)
    if middle := _between(below, smallest):
        return middle
    again = (smallest, below, _peak(done)[0])
    return next((users for users in again if users and len(rates[users]) < READINGS), None)


def _next_of_climb(plan: SearchPlan, rates: dict[int, float]) -> int | None:
    """The next of 1, 2, 4 and so on; `None` after two in a row without a gain."""
    best, idle = 0.0, 0
    for users in _climb(plan):
        if idle == 2:
            return None
        if users not in rates:
            return users
        idle = idle + 1 if rates[users] < NO_GAIN * best else 0
        best = max(best, rates[users])
    return None


def _most_users_left(plan: SearchPlan, done: Sequence[StepResult]) -> int:
    """The most steps until the fewest users at the peak are known."""
    rates = _by_users(done)
    readings = {users: len(of_users) for users, of_users in rates.items()}
    ahead = _next_of_climb(plan, _rates(done)) if rates else 1
    if ahead is None:
        smallest = _smallest_at_peak(done)
        if smallest is None:
            return 0
        below = max((users for users in rates if users < smallest), default=None)
        return _most_between(below, smallest, _peak(done)[0], readings)
    climb = list(_climb(plan))
    readings = dict.fromkeys(climb, 1) | readings
    ends = (_most_between(users // 2 or None, users, climb[-1], readings) for users in climb)
    return sum(users >= ahead for users in climb) + max(ends)


def _most_between(below: int | None, smallest: int, peak: int, readings: Mapping[int, int]) -> int:
    """The most steps once the climb is over: levels between the two, and repeats of three levels.

    A level between them becomes the smallest at the peak, or the one below it.
    """
    middle = _between(below, smallest)
    if middle is None or below is None:
        levels = {users for users in (below, smallest, peak) if users}
        return sum(max(READINGS - readings[users], 0) for users in levels)
    more = {**readings, middle: 1}
    ways = ((below, middle), (middle, smallest))
    return 1 + max(_most_between(*way, peak, more) for way in ways)


def _between(below: int | None, smallest: int) -> int | None:
    """The level to try between the two; `None` if they are near enough."""
    if below and smallest / below > NEAR_USERS and smallest - below > 1:
        return round(math.sqrt(below * smallest))
    return None


def _climb(plan: SearchPlan) -> Iterator[int]:
    """1, 2, 4 and so on, up to the limit."""
    users = 1
    while users <= plan.most_users:
        yield users
        users *= 2


def _peak_level(done: Sequence[StepResult], users: int) -> Level:
    wanted = AT_PEAK * _peak(done)[1]
    rates = _by_users(done)[users]
    good = sum(rate >= wanted for rate in rates)
    return Level(value=users, good=good, steps=len(rates), confidence=confidence(good, len(rates)))


def _closed_tps(users: int, done: Sequence[StepResult]) -> float | None:
    return _rates(done).get(users)


@dataclass(frozen=True)
class _Rates:
    """The verdicts of the steps at each rate, and the rates on both sides of the answer."""

    verdicts: dict[float, list[bool]]
    kept: float | None
    lost: float | None

    @classmethod
    def of(cls, objective: Objective, users: int, done: Sequence[StepResult]) -> _Rates:
        verdicts: dict[float, list[bool]] = defaultdict(list)
        for step in done:
            if step.rate and step.concurrency == users:
                verdicts[step.rate.rate].append(holds(step, objective))
        return cls.judged(verdicts)

    @classmethod
    def judged(cls, verdicts: dict[float, list[bool]]) -> _Rates:
        """The verdicts with the two rates that follow from them."""
        lost = min((rate for rate, said in verdicts.items() if not _is_kept(said)), default=None)
        # If a rate above a lost one seems kept, that is luck.
        below = (
            rate
            for rate, said in verdicts.items()
            if _is_kept(said) and (lost is None or rate < lost)
        )
        return cls(verdicts, max(below, default=None), lost)

    def tried(self, rate: float, held: bool) -> _Rates:
        """The rates after one more step."""
        more = [*self.verdicts.get(rate, []), held]
        return self.judged({**self.verdicts, rate: more})


def holds(step: StepResult, objective: Objective) -> bool:
    """Whether the server kept up with the rate within the objective, without failed events."""
    figure = getattr(step.latency.response, objective.figure)
    return keeps_up(step) and step.failed == 0 and objective.is_met(figure)


def _is_kept(verdicts: Sequence[bool]) -> bool:
    """Whether a majority is good; half is not enough."""
    return 2 * sum(verdicts) > len(verdicts)


def _next_rate(
    objective: Objective, users: int, done: Sequence[StepResult], shift: float
) -> float | None:
    """The next rate, or `None`; 0 stands for the closed loop, which first shows where to look."""
    closed = _closed_tps(users, done)
    if closed is None:
        return 0.0
    return _rate_after(_Rates.of(objective, users, done), closed, shift)


def _rate_after(found: _Rates, closed: float, shift: float) -> float | None:
    top = found.lost or BEYOND_CLOSED * closed * SPACING**shift
    if found.kept is None:
        rate = _rounded(DOWN * top)
        return rate if rate >= SLOWEST_SHARE * closed and rate not in found.verdicts else None
    if top / found.kept > NEAR_RATE:
        between = _rounded(math.sqrt(found.kept * top))
        if between not in found.verdicts:
            return between
    sides = [rate for rate in (found.kept, found.lost) if rate is not None]
    return next((rate for rate in sides if len(found.verdicts[rate]) < READINGS), None)


def _most_rates_left(
    plan: SearchPlan, users: int | None, done: Sequence[StepResult], shift: float
) -> int:
    """The most steps until the highest rate is known; `users`: `None` while they are searched for.

    Without a search for the users the closed loop is a step of its own.
    """
    closed = _closed_tps(users, done) if users else None
    if plan.objective is None:
        return 0
    if users is None or closed is None:
        return int(not plan.peak) + 1 + _most_unknown_rates(shift)
    return _most_rates(_Rates.of(plan.objective, users, done), closed, shift)


@cache
def _most_unknown_rates(shift: float) -> int:
    return _most_rates(_Rates.judged({}), _ANY_TPS, shift)


def _most_rates(found: _Rates, closed: float, shift: float) -> int:
    """The length of the longest way to the end: a new rate holds, or does not; repeats agree."""
    rate = _rate_after(found, closed, shift)
    if rate is None:
        return 0
    before = found.verdicts.get(rate)
    ways = [_is_kept(before)] if before else [True, False]
    return 1 + max(_most_rates(found.tried(rate, held), closed, shift) for held in ways)


def _rounded(rate: float) -> float:
    """The rate rounded to three digits, as nobody quotes more."""
    return float(f"{rate:.3g}")


def _level(rate: float, verdicts: dict[float, list[bool]]) -> Level:
    good, steps = sum(verdicts[rate]), len(verdicts[rate])
    sure = confidence(good, steps)
    return Level(
        value=rate,
        good=good,
        steps=steps,
        confidence=sure if _is_kept(verdicts[rate]) else 1 - sure,
    )
