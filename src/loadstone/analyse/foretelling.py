"""Predicts the rate of a closed loop after a change, with its 80 % interval.

The rate is computed by `closed_systems`, in two models of waits. Work is taken as it was measured,
and as it may be on cores that are no longer idle in between (`COLD`). The predicted rate is the
mean of these four, and higher by what the cause slowed elsewhere (`DRAG`). The interval reaches
from the lowest of them to the highest, also if the cores were as idle when the work was done as
they were on average. What else is uncertain is added as the root of the sum of squares: 1.28
standard errors, propagated linearly, of the shares (from their 95 % intervals), and twice that of
the rate, which is measured with the remedy as well; that of what the cause slowed elsewhere; and
the error of work that is a count times a constant, which is not the same on both sides: more of it
is no more than all but what an event takes at least (`least_work_s`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from loadstone.analyse.closed_systems import (
    WORK,
    ClosedLoop,
    Remedy,
    Share,
    System,
    rates,
)
from loadstone.analyse.queues import HALVINGS, wait_at
from loadstone.model.account import Place
from loadstone.model.predicted import Foretold

NORMAL_80 = 1.2816
"""Half the width of an 80 % interval, in standard errors."""

COLD = 0.75
"""[P] The largest part of an event's work that idle cores alone can cause, if they are idle all the
time: a thread that wakes finds caches and branch predictors cold (docs/decisions/0045)."""

DRAG = 0.1
"""[P] What holds the users also slows what else they do, work too: without it the rest of an
event's time, but think time, is multiplied by (new rate / old rate) ** -DRAG
(docs/decisions/0045)."""

DRAG_ERROR = 0.2
"""[P] The standard error of that power, from one cause to the next."""

RUN_ERROR = 0.034
"""[P] Standard error of a rate, relative to it, from one run to the next: the spread of runs alike,
which their seconds do not show (docs/decisions/0045)."""

_WARMING = 4
"""Rounds in which the warmth and the rate that it allows settle."""


def foretell(loop: ClosedLoop, remedy: Remedy) -> Foretold | None:
    """The rate with the remedy and its 80 % interval; `None` if too little was measured.

    That is so as well where more of what the remedy leaves is unnamed than named: nobody knows
    whether it leaves that. And where nothing is left that bounds the rate.
    """
    if loop.tps <= 0 or not loop.shares or not System(loop, remedy).is_known:
        return None
    cold = rates(loop, remedy)
    warm, warmest = (rates(loop, _warmed(loop, remedy, use)) for use in _uses(loop))
    if not all(0 < rate < math.inf for rate in (*cold, *warm, *warmest)):
        return None  # nothing is left that takes time, or none to do it in
    low, high = min(cold), max(*cold, *warmest)
    middle = (sum(cold) + sum(warm)) / 4
    errors = [middle * math.hypot(loop.tps_error / loop.tps, RUN_ERROR)] * 2
    of_rates = NORMAL_80 * math.hypot(*errors) / middle
    errors += _changes(loop, remedy)
    chance = NORMAL_80 * math.hypot(*errors)
    usual = _middle_of(loop, remedy)
    less, more = (
        _middle_of(loop, remedy, times) for times in (1 / remedy.work_error, remedy.work_error)
    )
    # Where nothing bounds the rate without such work, nobody knows by how much it is higher.
    further = more - usual if usual <= more < math.inf else usual - less
    below = math.hypot(middle - low, chance, usual - less)
    above = math.hypot(high - middle, chance, further)
    # What is to make it faster does not make it slower.
    least = loop.tps * max(1 - of_rates, 0.0) if middle >= loop.tps else 0.0
    gained = math.log(max(middle / loop.tps, 1.0)) if remedy.removes else 0.0
    rest = _rest(loop, remedy, middle)
    most = max(min((*loop.bounds, *remedy.bounds), default=math.inf), middle)
    tps = min(middle / (1 - rest * (1 - math.exp(-DRAG * gained))), most)
    error = NORMAL_80 * DRAG_ERROR * gained * rest
    return Foretold(
        tps=tps,
        low=tps * math.exp(-_away(middle, max(middle - below, least), error)),
        high=tps * math.exp(_away(middle, middle + above, error)),
        now=loop.tps,
    )


def _rest(loop: ClosedLoop, remedy: Remedy, tps: float) -> float:
    """The part of an event's time that is no think time, nor set, at the rate with the remedy."""
    system = System(loop, remedy)
    still = system.after.get("idle", 0.0) + system.added_s
    return max(1 - still * tps / system.users, 0.0)


def _away(middle: float, bound: float, error: float) -> float:
    """How far a bound of the interval is from its middle in logarithms, with another error."""
    return math.hypot(math.log(bound / middle), error) if bound > 0 else math.inf


def _middle_of(loop: ClosedLoop, remedy: Remedy, times: float = 1.0) -> float:
    """The rate if the work that it removes is so many times as much."""
    least = _least_left(loop, remedy)
    removes = dict(remedy.removes)
    for place in WORK & removes.keys() & loop.shares.keys():
        most = max(loop.shares[place].value * (1 - least), removes[place])
        removes[place] = min(removes[place] * times, most)
    return sum(rates(loop, replace(remedy, removes=removes))) / 2


def _least_left(loop: ClosedLoop, remedy: Remedy) -> float:
    """The part of an event's work that is the least that it takes."""
    cores = sum(
        loop.shares[place].value for place in ("on core", "in the server") if place in loop.shares
    )
    return min(remedy.least_work_s * loop.tps / (loop.users * cores), 1.0) if cores else 0.0


def _uses(loop: ClosedLoop) -> tuple[float, float]:
    """The use of the cores when an event's work is done, and the mean one, which is no higher.

    Work that comes in bursts, as between two locks of all tables, meets others at work, and caches
    that are warm: by so much the wait for a core is longer than the mean use explains.
    """
    if loop.cores is None or not loop.cores.capacity:
        return 1.0, 1.0
    mean = min(loop.cores.used / loop.cores.capacity, 1.0)
    work, wait = (
        loop.shares[place].value if place in loop.shares else 0.0
        for place in ("on core", "waiting for a core")
    )
    if not work:
        return mean, mean
    low, high = mean, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if wait_at(middle, loop.cores.capacity) < wait / work:
            low = middle
        else:
            high = middle
    return low, mean


def _warmed(loop: ClosedLoop, remedy: Remedy, use: float) -> Remedy:
    """The remedy if all that idle cores may add to the work goes with their idleness.

    `use`: that of the cores when the work was done.
    """
    was, warm = 1 - COLD * _idle(use), remedy
    for _ in range(_WARMING):
        cores, tps = System(loop, warm).cores, _middle_of(loop, warm)
        if cores is None or not math.isfinite(tps) or cores.capacity < cores.capacity_before:
            return remedy
        warmth = min(was / (1 - COLD * _idle(cores.use(tps))), 1.0)
        warm = replace(remedy, warmth=warmth, loops_warmth=_loops_warmth(loop, warmth))
    return warm


def _loops_warmth(loop: ClosedLoop, warmth: float) -> float:
    """That of the event loops: busy ones are warm, and those of another host are another story."""
    if loop.loops is None or not loop.generator_cores:
        return 1.0
    return max(warmth, 1 - COLD * _idle(loop.loops.used / loop.loops.capacity))


def _idle(used: float) -> float:
    """The part that is idle, of cores of which so much is used."""
    return min(max(1 - used, 0.0), 1.0)


def _changes(loop: ClosedLoop, remedy: Remedy) -> Iterator[float]:
    """By how much the rate changes with each sampled share, by one standard error."""
    base = sum(rates(loop, remedy)) / 2
    for place, share in loop.shares.items():
        if share.error:
            moved = _moved(loop, place, share)
            taken = _taken(remedy, place, share, moved.shares[place])
            yield sum(rates(moved, taken)) / 2 - base


def _moved(loop: ClosedLoop, place: Place, share: Share) -> ClosedLoop:
    """The loop if one share is larger by its standard error, at the cost of all others."""
    larger = share.value + share.error
    rest = 1 - share.value
    scale = max(1 - larger, 0.0) / rest if rest > 0 else 1.0
    shares = {
        other: replace(one, value=larger if other == place else one.value * scale)
        for other, one in loop.shares.items()
    }
    return replace(loop, shares=shares)


def _taken(remedy: Remedy, place: Place, before: Share, after: Share) -> Remedy:
    """The remedy that removes the same part of a place whose share is another one."""
    removed = remedy.removes.get(place, 0.0)
    if not removed or before.value <= 0:
        return remedy
    part = removed * after.value / before.value
    return replace(remedy, removes={**remedy.removes, place: part})
