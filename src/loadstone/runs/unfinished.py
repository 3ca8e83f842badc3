"""Percentiles that depend on events which had not ended when the window did.

Of such an event only the age at that time is known: it took longer. While the load is in balance
this does not matter, as the events in flight at the window's end make up for those in flight at its
start. The window itself tells how many older than `x` there are at any time: an event that took `R`
was older than `x` for a time of `R - x`, so `sum(R - x) / T` of them (Little's law). If more have
not ended than that and chance explain, a percentile depends on them: it is that of all events, each
unfinished one at its age. It is a lower bound if more of those that are younger than it have not
ended than the same law explains, as these may yet pass it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from loadstone.model.records import LatencyNs

Counts = Sequence[tuple[int, int]]
"""Values in nanoseconds with their counts, in ascending order."""

_CHANCE: Final = 1.96
"""Standard deviations: 95 % of a normal distribution lie within."""

_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


class WithUnfinished(LatencyNs):
    """The figures that depend on events without an end; `None` in place of all others."""

    at_least: tuple[str, ...] = ()
    """Those of which only a lower bound is known."""


def with_unfinished(
    ended: LatencyNs,
    read_counts: Callable[[], Counts],
    window_ns: float,
    ages: Counts,
    read_together: Callable[[], LatencyNs],
) -> WithUnfinished | None:
    """The figures that depend on events without an end; `None` if none does.

    Args:
        ended: the events that ended in the window.
        read_counts: their values, read only if they matter, as that takes long.
        window_ns: the window's length.
        ages: the ages of those that had not ended, when the window did.
        read_together: the summary of both.
    """
    # What the window explains only makes fewer of them depend on the others.
    if not _dependent(ended, (), window_ns, ages):
        return None
    counts = read_counts()
    names = _dependent(ended, counts, window_ns, ages)
    if not names:
        return None
    together = read_together()
    figures = {name: getattr(together, name) or 0 for name in names}

    def is_bound(name: str) -> bool:
        return _may_rise(getattr(ended, name) or 0, figures[name], counts, window_ns, ages)

    return WithUnfinished(
        count=together.count,
        above_range=together.above_range,
        **figures,
        at_least=_from_first(names, is_bound),
    )


def _dependent(ended: LatencyNs, counts: Counts, window_ns: float, ages: Counts) -> tuple[str, ...]:
    """The figures that more events would change than had not ended by chance."""

    def is_so(name: str) -> bool:
        value = getattr(ended, name) or 0
        older = sum(times for age, times in ages if age > value)
        explained = sum((took - value) * times for took, times in counts if took > value)
        # Of a percentile's rank (binomial); of the number that is older, below.
        share = _SHARES.get(name, 1.0)
        variance = ended.count * share * (1 - share)
        return _is_more(older, explained / window_ns, variance)

    return _from_first([*_SHARES, "max"], is_so)


def _from_first(names: Sequence[str], is_so: Callable[[str], bool]) -> tuple[str, ...]:
    """The first figure of which something is so, and all above it."""
    first = next((at for at, name in enumerate(names) if is_so(name)), len(names))
    return tuple(names[first:])


def _may_rise(ended: int, together: int, counts: Counts, window_ns: float, ages: Counts) -> bool:
    """Whether a figure is a lower bound, by its values without and with the unfinished events.

    More of those that are younger than it have not ended than at any other moment: of all, or of
    those that raised it. In a closed loop only the latter tell, as each user has one event.
    """

    def are_more(above: int) -> bool:
        younger = sum(times for age, times in ages if above < age <= together)
        # Young events without an end may have lowered the figure: then it is below `above`.
        explained = sum(
            max(min(took, together) - above, 0) * times for took, times in counts if took > above
        )
        return _is_more(younger, explained / window_ns)

    return are_more(0) or are_more(ended)


def _is_more(number: int, explained: float, variance: float = 0.0) -> bool:
    """Whether chance does not explain it either; the number itself is Poisson's."""
    return number - explained > _CHANCE * math.sqrt(variance + explained)
