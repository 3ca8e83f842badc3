"""The part of an event's CPU that came with something that grows while the load runs.

An old snapshot keeps all versions of rows that change meanwhile, and events come past them.
"""

from __future__ import annotations

import math
from statistics import fmean, linear_regression

from loadstone.analyse.foretelling import NORMAL_80
from loadstone.diagnosis.context import Case, Series
from loadstone.diagnosis.page_reads import FEWEST, by_second, by_thirds

YOUNG = 0.5
"""[P] Of the mean: what is kept at most in seconds that show an event's own CPU."""

FEWEST_YOUNG = 2
"""[P] Such seconds, of which the dearest counts: a load's first ones find cold caches."""

_Points = list[tuple[float, float]]
"""By second, what is kept and the CPU of an event."""


def grown(case: Case, kept: str) -> float:
    """The part of an event's CPU in the window that came with what a gauge of the server counts.

    At least what the last third of the window has and the first had not. Also what had come before:
    by the seconds in which little was kept; where these are too few by a straight line through all,
    as an event comes past all versions that its rows have.

    Args:
        case: at a step.
        kept: the gauge, which grows with what is kept: the age of a snapshot in transactions, or
            the length of a history.
    """
    cpu, events = _cpu(case), case.series("load", "tps")
    thirds = by_thirds(cpu, events) if cpu and events else None
    within = 1 - thirds[0] / thirds[1] if thirds and thirds[1] else 0.0
    return max(within, _since_the_start(case, kept), 0.0)


def _since_the_start(case: Case, kept: str) -> float:
    """The part that an event had not when nothing was kept.

    Seconds before the window count: the further they reach, the better is the beginning known.
    """
    ages = case.series("server", f"{kept}.now", warmup=True)
    events = case.series("load", "tps", warmup=True)
    cpu = _cpu(case, warmup=True)
    if not ages or not events or not cpu or case.step.window is None:
        return 0.0
    rates, used = by_second(events), by_second(cpu)
    each = {at: used[at] / rates[at] for at in used if rates.get(at)}
    points = [(_age_at(ages, at - 0.5), one) for at, one in each.items() if at - 0.5 > ages[0][0]]
    if len(points) < FEWEST or len({age for age, _ in points}) < FEWEST:
        return 0.0
    now = fmean(one for at, one in each.items() if at > case.step.window.from_s)
    # Before the first look no more was kept than it found.
    before = [(ages[0][1], one) for at, one in each.items() if at - 0.5 <= ages[0][0]]
    own = _of_the_young([*before, *points])
    if own is None:
        own = max(_upper_start(points), 0.0)
    return 1 - own / now if now else 0.0


def _of_the_young(points: _Points) -> float | None:
    """The most CPU of an event while little was kept; `None`: there are too few such seconds."""
    little = YOUNG * fmean(age for age, _ in points)
    young = [one for age, one in points if age <= little]
    return max(young) if len(young) >= FEWEST_YOUNG else None


def _age_at(ages: Series, at: float) -> float:
    """The age at a moment, on the straight line between two looks."""
    before = max(one for one in ages if one[0] <= at)
    after = min((one for one in ages if one[0] > at), default=before)
    span = after[0] - before[0]
    return before[1] + (after[1] - before[1]) * ((at - before[0]) / span if span else 0.0)


def _upper_start(points: _Points) -> float:
    """The upper end of the 80 % interval for the value where a line through the points begins."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    slope, start = linear_regression(xs, ys)
    middle = fmean(xs)
    off = sum((y - start - slope * x) ** 2 for x, y in points) / (len(points) - 2)
    spread = sum((x - middle) ** 2 for x in xs)
    return start + NORMAL_80 * math.sqrt(off * (1 / len(points) + middle**2 / spread))


def _cpu(case: Case, *, warmup: bool = False) -> Series | None:
    """Cores that the server's processes used, by second."""
    user = case.series("host", "process.cpu_user_s", warmup=warmup)
    system = dict(case.series("host", "process.cpu_sys_s", warmup=warmup) or ())
    return user and tuple((at, value + system.get(at, 0.0)) for at, value in user)
