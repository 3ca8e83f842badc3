"""Finds the counters of server and host that differ between slow seconds and the others.

A counter that grows with each event (queries, rows) falls with the rate, and one that grows by
itself (pages flushed in the background) seems to rise for each event. Neither tells anything, so
what counts is the smaller of both differences: by second, and from what the events explain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from loadstone.model.account import CounterGain
from loadstone.model.observed import Observation, Role
from loadstone.runs.slow_seconds import BY_CHANCE

MOST = 5
"""How many are named: more would hide the ones that matter."""

_NO_FIGURES = ("state.", "setting.", "uptime", "pg_postmaster.")
_OF_THE_TARGET = ".target."
"""In names of figures that are there for all databases of the server as well."""

_IN_THE_MEAN_TIME = (".read_s", ".write_s")
"""Times of a disk's operations, which their mean time tells more plainly."""

_ROLES: tuple[Role, ...] = ("server", "server-host")


@dataclass
class _Moments:
    """Sums over readings of a figure and of the events in them."""

    count: int = 0
    filled: int = 0
    """Readings in which it was not zero."""
    value: float = 0.0
    events: float = 0.0
    squared: float = 0.0
    both: float = 0.0
    events_squared: float = 0.0

    def add(self, value: float, events: float) -> None:
        self.count += 1
        self.filled += value != 0
        self.value += value
        self.events += events
        self.squared += value**2
        self.both += value * events
        self.events_squared += events**2

    @property
    def mean(self) -> float:
        return self.value / self.count

    def beyond(self, others: _Moments, per_event: float) -> float:
        """The difference of the means, less `per_event` for each event, in others' spreads."""
        of_events = self.events / self.count - others.events / others.count
        apart = self.mean - others.mean - per_event * of_events
        spread = others.spread(per_event)
        if spread == 0:
            return math.copysign(math.inf, apart) if apart else 0.0
        return apart / spread

    def spread(self, per_event: float) -> float:
        """The standard deviation of what the events do not explain."""
        mean = (self.value - per_event * self.events) / self.count
        square = (
            self.squared - 2 * per_event * self.both + per_event**2 * self.events_squared
        ) / self.count
        variance = square - mean**2
        # Less than this is what rounding leaves of a value that never changes.
        if variance <= 1e-12 * square or self.count < 2:
            return 0.0
        return math.sqrt(variance * self.count / (self.count - 1))


_Name = tuple[Role, str, bool]
"""Where a figure is read, its name, and whether it is a counter."""


@dataclass
class SlowCounters:
    """Collects the readings of one step, without keeping them."""

    facts: Mapping[str, str]
    """Of the server's host: the names of its disk and of its interface."""
    _of: dict[bool, dict[_Name, _Moments]] = field(default_factory=lambda: {True: {}, False: {}})
    """By whether most of the reading's time was slow."""

    def add(self, seen: Observation, events_per_s: float, *, is_slow: bool) -> None:
        """Add a reading, during which so many events finished."""
        if seen.source.target or seen.source.role not in _ROLES or seen.seconds <= 0:
            return
        into = self._of[is_slow]
        for name, is_counter, value in self._figures(seen):
            key = (seen.source.role, name, is_counter)
            into.setdefault(key, _Moments()).add(value, events_per_s)

    def found(self) -> tuple[CounterGain, ...]:
        """Those that chance does not explain, the most telling first."""
        pairs = [
            (name, slow, self._of[False][name])
            for name, slow in self._of[True].items()
            if name in self._of[False]
        ]
        ranked: list[tuple[float, _Name]] = []
        for name, slow, others in pairs:
            apart = _apart(slow, others, is_counter=name[2])
            if abs(apart) > _limit(others.count, len(pairs)):
                ranked.append((abs(apart), name))
        ranked.sort(key=lambda one: (-one[0], one[1]))
        return tuple(_apart_from_each_other(self._gain(*one) for one in ranked))[:MOST]

    def _gain(self, apart: float, name: _Name) -> CounterGain:
        role, counter, is_counter = name
        assert role in ("server", "server-host")
        return CounterGain(
            role=role,
            counter=counter,
            is_rate=is_counter,
            slow=self._of[True][name].mean,
            others=self._of[False][name].mean,
            spreads=apart if math.isfinite(apart) else None,
        )

    def _figures(self, seen: Observation) -> Iterator[tuple[str, bool, float]]:
        """Names, whether they are counters, and growths per second or values."""
        for name, delta in seen.deltas.items():
            if self._tells(name):
                yield name, True, delta / seen.seconds
        for name, value in seen.gauges.items():
            if self._tells(name):
                yield name, False, value
        disk = f"disk.{self.facts.get('data_disk')}"
        for what in ("read", "write"):
            times, number = seen.deltas.get(f"{disk}.{what}_s"), seen.deltas.get(f"{disk}.{what}s")
            if times is not None and number:
                yield f"{disk}.{what}_await_ms", False, 1000 * times / number

    def _tells(self, name: str) -> bool:
        """Whether the load may move it: no setting, no single core, no disk without its data."""
        if name.startswith(_NO_FIGURES) or _OF_THE_TARGET in name:
            return False
        kind, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        if kind == "cpu":
            return not part.isdigit()
        if name.endswith(_IN_THE_MEAN_TIME):
            return False
        whose = {"disk": "data_disk", "nic": "traffic_nic"}.get(kind)
        return whose is None or part == self.facts.get(whose)


def _apart_from_each_other(gains: Iterable[CounterGain]) -> Iterator[CounterGain]:
    """Without those that are another one's figures by another name."""
    named: set[tuple[float, float]] = set()
    for gain in gains:
        if (gain.slow, gain.others) not in named:
            named.add((gain.slow, gain.others))
            yield gain


def _apart(slow: _Moments, others: _Moments, *, is_counter: bool) -> float:
    """In spreads of the others; 0 if events explain it, or the passing of time does."""
    by_time = slow.beyond(others, 0.0)
    if math.isinf(by_time) and (others.value or 2 * slow.filled < slow.count):
        return 0.0
    if not is_counter or not others.events:
        return by_time
    by_event = slow.beyond(others, others.value / others.events)
    if by_time * by_event <= 0:
        return 0.0
    return min(by_time, by_event, key=abs)


def _limit(others: int, figures: int) -> float:
    """What one of so many figures reaches by chance.

    Slow seconds are often one event, so that their mean is known no better than one second is.
    """
    from scipy.special import stdtrit

    if others < 2:
        return math.inf
    by_chance = float(-stdtrit(others - 1.0, BY_CHANCE / 2 / figures))
    return by_chance * math.sqrt(1.0 + 1.0 / others)
