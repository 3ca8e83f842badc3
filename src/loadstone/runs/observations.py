"""Observations as lines of the journal: the names once, then only numbers.

A host with many cores has hundreds of counters per second, whose names would be most of the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.model.observed import Observation
from loadstone.runs.journal import Observed, ObservedNames

_STATE = "state."
"""Connection states come and go, so their names are stored with each value."""

_Shape = tuple[str, tuple[str, ...], tuple[str, ...]]


class ObservationLines:
    """Turns one step's observations into lines."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._known: dict[_Shape, int] = {}

    def lines(self, seen: Observation, at_s: float) -> Iterator[ObservedNames | Observed]:
        """The observation's line, preceded by one with its names if they are new."""
        deltas = tuple(sorted(seen.deltas))
        gauges = tuple(sorted(name for name in seen.gauges if not name.startswith(_STATE)))
        shape = (str(seen.source), deltas, gauges)
        number = self._known.get(shape)
        if number is None:
            number = self._known[shape] = len(self._known)
            yield ObservedNames(
                at_s=at_s,
                step=self._step,
                names=number,
                source=seen.source,
                deltas=deltas,
                gauges=gauges,
            )
        yield Observed(
            at_s=at_s,
            step=self._step,
            names=number,
            from_s=seen.from_s,
            to_s=seen.to_s,
            deltas=tuple(seen.deltas[name] for name in deltas),
            gauges=tuple(seen.gauges[name] for name in gauges),
            states={name: seen.gauges[name] for name in seen.gauges if name.startswith(_STATE)},
            cost_s=seen.cost_s,
            asked_s=seen.asked_s,
        )


def fits(names: ObservedNames, line: Observed) -> bool:
    """Whether there is a number for each name."""
    return len(names.deltas) == len(line.deltas) and len(names.gauges) == len(line.gauges)


def observation_of(names: ObservedNames, line: Observed) -> Observation:
    """The observation that the two lines stand for."""
    return Observation(
        source=names.source,
        from_s=line.from_s,
        to_s=line.to_s,
        deltas=dict(zip(names.deltas, line.deltas, strict=True)),
        gauges={**dict(zip(names.gauges, line.gauges, strict=True)), **line.states},
        cost_s=line.cost_s,
        asked_s=line.asked_s,
    )
