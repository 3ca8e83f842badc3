"""The account over the seconds of a step, and that of its slow seconds against the others'.

All of it is added up while the step's observations are read once. A reading that is partly in some
seconds counts there with that part.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from loadstone.model.account import (
    PLACES,
    AccountEntry,
    Course,
    Known,
    PlaceGain,
    SlowSeconds,
    Stretch,
)
from loadstone.model.observed import Observation, SourceName
from loadstone.model.result import Window
from loadstone.runs.account import ENOUGH_LOOKS, Driven, entries_of
from loadstone.runs.slow_counters import SlowCounters
from loadstone.runs.slow_seconds import slow_seconds
from loadstone.runs.source_figures import SourceSums

MOST_STRETCHES = 60
"""Parts of the course, in addition to as many runs of slow seconds: a figure shows no more."""

_Span = tuple[float, float]


@dataclass(frozen=True)
class RatedSeconds:
    """The seconds of a window, and the events a second in each: in an open loop those in time."""

    spans: Sequence[_Span]
    rates: Sequence[float]
    slow: tuple[int, ...]

    @classmethod
    def of(
        cls,
        spans: Sequence[_Span],
        rates: Sequence[float],
        due: Sequence[float] | None = None,
        *,
        is_even: bool,
    ) -> RatedSeconds:
        """The seconds with the slow ones among them.

        Args:
            spans: start and end of each.
            rates: events a second in each.
            due: in an open loop, those that became due: what is caught up after a stall would make
                the other seconds look uneven.
            is_even: the load was to be the same in all seconds, so that slow ones can be found.
        """
        if due is not None:
            rates = [*map(min, rates, due)]
        return cls(spans, rates, slow_seconds(rates) if is_even else ())

    def runs(self, longest_s: float = math.inf) -> Iterator[_Run]:
        """Neighbouring seconds, all slow or all others, in parts of at most this length."""
        slow = frozenset(self.slow)
        for _, neighbours in groupby(range(len(self.spans)), key=self._parts(slow, longest_s)):
            places = [*neighbours]
            first, last = places[0], places[-1]
            events = sum(self.rates[at] * _length(self.spans[at]) for at in places)
            yield _Run(
                (self.spans[first][0], self.spans[last][1]), events, len(places), first in slow
            )

    def _parts(self, slow: frozenset[int], longest_s: float) -> _Numbered:
        """A function that numbers the run of each second; called in their order."""
        return _Numbered(self.spans, slow, longest_s)


@dataclass
class _Numbered:
    """Numbers the run of each second."""

    spans: Sequence[_Span]
    slow: frozenset[int]
    longest_s: float
    number: int = 0
    began_s: float | None = None

    def __call__(self, at: int) -> int:
        from_s, to_s = self.spans[at]
        if self.began_s is None or (
            (at in self.slow) != (at - 1 in self.slow)
            or from_s - self.spans[at - 1][1] > (to_s - from_s) / 2
            or from_s - self.began_s >= self.longest_s - (to_s - from_s) / 2
        ):
            self.number += 1
            self.began_s = from_s
        return self.number


@dataclass(frozen=True)
class _Run:
    span: _Span
    events: float
    seconds: int
    is_slow: bool


@dataclass
class _Part:
    """What was read in some seconds of the sessions of each target."""

    windows: Sequence[Window]
    """In the order of time."""
    events: float
    seconds: float
    is_slow: bool
    sums: dict[SourceName, SourceSums] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Sequence[_Run], held: Sequence[_Span]) -> _Part:
        return cls(
            [_window(run.span, held) for run in runs],
            sum(run.events for run in runs),
            sum(_length(run.span) for run in runs),
            runs[0].is_slow,
        )

    @property
    def rate(self) -> float:
        return self.events / self.seconds

    @property
    def looks(self) -> float:
        return sum(sums.deltas["looks"] for sums in self.sums.values())

    def overlap(self, seen: Observation) -> float:
        return sum(
            min(seen.to_s, window.to_s) - max(seen.from_s, window.from_s)
            for window in _overlapping(self.windows, seen)
        )

    def add(self, seen: Observation) -> None:
        sums = self.sums.setdefault(seen.source, SourceSums())
        for window in _overlapping(self.windows, seen):
            sums.add(seen, window)

    def joined(self, other: _Part) -> _Part:
        sums: dict[SourceName, SourceSums] = {}
        for part in (self, other):
            for name, each in part.sums.items():
                sums.setdefault(name, SourceSums()).merge(each)
        windows = [*self.windows, *other.windows]
        events, seconds = self.events + other.events, self.seconds + other.seconds
        return _Part(windows, events, seconds, self.is_slow, sums)

    def entries(self, load: Driven, rate: float) -> tuple[AccountEntry, ...]:
        """Where the users' time went; `rate`: that of the whole window."""
        part = self.rate / rate if rate else 1.0
        return entries_of(load.at_rate(part), [*self.sums.values()])


class CourseSums:
    """Adds up the observations of one step by its seconds."""

    def __init__(
        self, seconds: RatedSeconds, window: Window, facts_of_host: Mapping[str, str]
    ) -> None:
        """Store what to add up.

        Args:
            seconds: the seconds of the window.
            window: the window, which may have times in which the load was held back.
            facts_of_host: those of the first target's host.
        """
        self._seconds = seconds
        runs = [*seconds.runs()]
        self._slow = _part([run for run in runs if run.is_slow], window)
        self._others = _part([run for run in runs if not run.is_slow], window)
        self._stretches = [
            _Part.of([run], window.held) for run in _stretches(seconds, _width_s(runs))
        ]
        self._counters = SlowCounters(facts_of_host)

    def add(self, seen: Observation) -> None:
        """Add the next observation; its times count from the start of the load."""
        if seen.source.role == "sessions":
            for part in self._touched(seen):
                part.add(seen)
        elif self._slow and self._others:
            slow_s, others_s = self._slow.overlap(seen), self._others.overlap(seen)
            if slow_s + others_s > seen.seconds / 2:
                rate = self._slow.rate if slow_s > others_s else self._others.rate
                self._counters.add(seen, self._rate_in(seen, rate), is_slow=slow_s > others_s)

    def _touched(self, seen: Observation) -> Iterator[_Part]:
        """The parts that may have some of the observation's time."""
        yield from (part for part in (self._slow, self._others) if part)
        at = max(bisect_right(self._stretches, seen.from_s, key=_begins) - 1, 0)
        while at < len(self._stretches) and _begins(self._stretches[at]) < seen.to_s:
            yield self._stretches[at]
            at += 1

    def _rate_in(self, seen: Observation, otherwise: float) -> float:
        """Events a second during a reading, which is not in step with the load's seconds."""
        spans = self._seconds.spans
        at = max(bisect_right(spans, seen.from_s, key=lambda span: span[0]) - 1, 0)
        events = seconds = 0.0
        while at < len(spans) and spans[at][0] < seen.to_s:
            overlap = min(spans[at][1], seen.to_s) - max(spans[at][0], seen.from_s)
            if overlap > 0:
                events += overlap * self._seconds.rates[at]
                seconds += overlap
            at += 1
        return events / seconds if seconds else otherwise

    def slow(self, load: Driven) -> SlowSeconds | None:
        """The slow seconds against the others; `None` if there are none."""
        slow, others = self._slow, self._others
        if slow is None or others is None:
            return None
        rate = (slow.events + others.events) / (slow.seconds + others.seconds)
        return SlowSeconds(
            count=len(self._seconds.slow),
            of=len(self._seconds.spans),
            spans=tuple((window.from_s, window.to_s) for window in slow.windows),
            tps=slow.rate,
            tps_others=others.rate,
            lost=1.0 - rate / others.rate,
            looks=slow.looks,
            places=tuple(_gains(slow.entries(load, rate), others.entries(load, rate))),
            counters=self._counters.found(),
        )

    def course(self, load: Driven) -> Course | None:
        """The account over the seconds; `None` if it has but one part."""
        parts = [*_with_enough_looks(self._stretches)]
        events, seconds = sum(one.events for one in parts), sum(one.seconds for one in parts)
        rate = events / seconds if seconds else 0.0
        found = [(part, part.entries(load, rate)) for part in parts if part.looks]
        if len(found) < 2:
            return None
        there = {entry.place for _, entries in found for entry in entries}
        places = tuple(place for place in PLACES if place in there)
        return Course(
            places=places,
            stretches=tuple(
                Stretch(
                    from_s=part.windows[0].from_s,
                    to_s=part.windows[-1].to_s,
                    slow=part.is_slow,
                    shares=tuple(
                        round(sum(one.share for one in entries if one.place == place), 4)
                        for place in places
                    ),
                )
                for part, entries in found
            ),
        )


def _part(runs: Sequence[_Run], window: Window) -> _Part | None:
    return _Part.of(runs, window.held) if runs else None


def _window(span: _Span, held: Sequence[_Span]) -> Window:
    inside = tuple(one for one in held if one[0] < span[1] and span[0] < one[1])
    return Window(from_s=span[0], to_s=span[1], method="part", held=inside)


def _width_s(runs: Sequence[_Run]) -> float:
    """The length of a stretch, in whole seconds."""
    return float(math.ceil(sum(run.seconds for run in runs) / MOST_STRETCHES))


def _stretches(seconds: RatedSeconds, width_s: float) -> Iterator[_Run]:
    """Parts of the window; of many runs of slow seconds only the longest ones are parts."""
    slow = [run for run in seconds.runs() if run.is_slow]
    shown = sorted(slow, key=lambda run: -run.seconds)[:MOST_STRETCHES]
    places = {
        at
        for at in seconds.slow
        if any(run.span[0] <= seconds.spans[at][0] < run.span[1] for run in shown)
    }
    yield from RatedSeconds(seconds.spans, seconds.rates, tuple(sorted(places))).runs(width_s)


def _with_enough_looks(stretches: Sequence[_Part]) -> Iterator[_Part]:
    """Neighbours joined until each has enough looks; slow seconds are never joined with others."""
    for _, group in groupby(stretches, key=lambda part: part.is_slow):
        pending: list[_Part] = []
        for part in group:
            if pending and pending[-1].looks < ENOUGH_LOOKS:
                pending[-1] = pending[-1].joined(part)
            else:
                pending.append(part)
        if len(pending) > 1 and pending[-1].looks < ENOUGH_LOOKS:
            last = pending.pop()
            pending[-1] = pending[-1].joined(last)
        yield from pending


def _gains(slow: Sequence[AccountEntry], others: Sequence[AccountEntry]) -> Iterator[PlaceGain]:
    """What each place gains; nothing without looks on either side."""
    if not slow or not others:
        return
    in_slow, in_others = {one.place: one for one in slow}, {one.place: one for one in others}
    gains = [
        _gain(in_slow.get(place), in_others.get(place))
        for place in PLACES
        if place in in_slow or place in in_others
    ]
    yield from sorted(gains, key=lambda one: -one.gain)


def _gain(slow: AccountEntry | None, others: AccountEntry | None) -> PlaceGain:
    there = [one for one in (slow, others) if one]
    first = slow.share if slow else 0.0
    second = others.share if others else 0.0
    halves = [_half_width(one) for one in there]
    known: Known = "sampled" if any(one.known == "sampled" for one in there) else "counted"
    has_interval = known == "sampled" and None not in halves
    half = math.hypot(*(each or 0.0 for each in halves))
    return PlaceGain(
        place=there[0].place,
        slow=first,
        others=second,
        known=known,
        low=first - second - half if has_interval else None,
        high=first - second + half if has_interval else None,
    )


def _half_width(entry: AccountEntry) -> float | None:
    """The larger half of its interval; `None` if it is sampled too seldom."""
    if entry.known == "counted":
        return 0.0
    if entry.low is None or entry.high is None:
        return None
    return max(entry.high - entry.share, entry.share - entry.low)


def _overlapping(windows: Sequence[Window], seen: Observation) -> Iterator[Window]:
    at = max(bisect_right(windows, seen.from_s, key=lambda one: one.from_s) - 1, 0)
    while at < len(windows) and windows[at].from_s < seen.to_s:
        if windows[at].to_s > seen.from_s:
            yield windows[at]
        at += 1


def _begins(part: _Part) -> float:
    return part.windows[0].from_s


def _length(span: _Span) -> float:
    return span[1] - span[0]
