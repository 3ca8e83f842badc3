"""Evaluates a load's conditions while it runs, from its seconds and from readings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from loadstone.lab.protection.conditions import Judge
from loadstone.model.message import Message, say
from loadstone.model.observed import Observation, SourceName, SourceState
from loadstone.model.protection import Condition
from loadstone.model.records import LatencyNs, Sample
from loadstone.model.target import Endpoint
from loadstone.observe import others
from loadstone.observe.latest import DATA_FREE, DATA_SIZE
from loadstone.observe.others import Before, Others
from loadstone.observe.replica import LAG
from loadstone.observe.sampler import Sampling, Seen

THE_LOAD = say("the load")
_A_MOMENT_S = 0.1


@dataclass(frozen=True)
class Met:
    """A condition that is met, and where."""

    condition: Condition
    is_default: bool
    place: Message
    value: float
    """The figure's value; for a silent place, the seconds of silence."""
    is_silent: bool = False
    """Whether the place has been silent for that long."""

    def aborts(self, at_s: float) -> Message:
        """The reason why the load ends, for a person."""
        told = {
            "at": round(at_s),
            "unasked": say("default condition") if self.is_default else say("condition"),
            "condition": self.condition.text,
            "place": self.place,
        }
        if self.is_silent:
            return say(
                "aborted at {at} s by the {unasked} '{condition}': {place} said nothing for "
                "{value} s",
                value=round(self.value),
                **told,
            )
        return say(
            "aborted at {at} s by the {unasked} '{condition}': {place} had {value}",
            value=self.condition.shown(self.value),
            **told,
        )


_SILENT_S = 10.0
"""Seconds for which a watched server may be silent while it still answers the load."""


@dataclass
class Answered:
    """The period over which the load has been answered without a break."""

    _since_s: float | None = None
    _until_s: float = 0.0

    def take(self, sample: Sample, at_s: float) -> None:
        """Take in a second of the load that ended at `at_s`."""
        if sample.counts.events:
            # Counted from the end of the second: the server may have come back in the middle of it.
            self._since_s = at_s if self._since_s is None else self._since_s
            self._until_s = at_s
        elif not _asked_nothing(sample):
            self._since_s = None

    def seconds_after(self, moment_s: float) -> float:
        """How long the load has been answered since a moment; 0 if it is not answered now."""
        if self._since_s is None:
            return 0.0
        return max(0.0, self._until_s - max(self._since_s, moment_s))


def _asked_nothing(sample: Sample) -> bool:
    """Whether the server had nothing to answer: a slow schedule, or a load that is held back."""
    tally = sample.tally
    failed = sample.counts.failed or sample.errors or sample.connect_failures
    return bool(sample.users) and not (failed or tally.in_flight or tally.waiting)


@dataclass(frozen=True)
class Ground:
    """Facts about one target's server, found out before the first load."""

    endpoint: Endpoint
    is_throwaway: bool
    others: Others
    server: str
    """Identifies the server: several targets may be one."""
    before: Before = field(default_factory=Before)


@dataclass(frozen=True)
class Replica:
    """A server whose lag is watched."""

    endpoint: Endpoint
    follows: bool
    """Whether it was replicating when it was first examined."""
    before_s: list[float] = field(default_factory=list)
    """Its lag before the first load, once that is known."""


@dataclass(frozen=True)
class Place:
    """The place that a source's figures describe."""

    judges: list[tuple[Judge, bool]]
    """Each with whether it is a default."""
    name: Message


@dataclass
class Watch:
    """Evaluates one step's conditions as figures come in; callers poll it often."""

    load: Place
    places: dict[SourceName, Place]
    own: Sampling
    """Samples of sources that nobody else reads."""
    grounds: dict[SourceName, Ground]
    replicas: dict[SourceName, Replica]
    compared: frozenset[SourceName]
    """Servers where the statements of others are compared with those before the load."""
    held: dict[SourceName, int]
    """How many connections of our account may be ours, by server."""
    max_load: tuple[Condition, ...]
    _told_s: dict[SourceName, float] = field(default_factory=dict)
    """When each watched server and replica last reported."""
    _answered: Answered = field(default_factory=Answered)
    _promoted: set[SourceName] = field(default_factory=set)
    """Servers that are no replicas at the moment, and for which there is a note."""
    _lines: list[Message] = field(default_factory=list)

    def look_before(self, ended: Callable[[], bool]) -> None:
        """Observe others without a load, for some seconds if there are any."""
        self.own.mark()
        time.sleep(_A_MOMENT_S)
        self.own.mark()
        self.look()
        deadline = time.monotonic() + others.STATEMENTS_EVERY_S + _A_MOMENT_S
        while self._has_others_to_look_at() and time.monotonic() < deadline and not ended():
            time.sleep(_A_MOMENT_S)
            self.look()
        self.own.mark()
        self.look()
        for ground in self.grounds.values():
            ground.before.is_known = True

    def _has_others_to_look_at(self) -> bool:
        """Whether the statements of others still have to be observed before the load."""
        return any(
            not ground.before.is_known
            and self.own.gauge(name, others.OTHERS_CONNECTED) != 0  # unknown: there may be some
            for name, ground in self.grounds.items()
            if name in self.compared
        )

    def look(self) -> list[Message]:
        """Take in what the own sources have reported since; returns notes for readers."""
        seen = self.own.taken()
        self.take_seen(seen)
        lines, self._lines = self._lines, []
        return lines + [
            say(
                "{place} is not watched for now: {why}",
                place=self.places[one.source].name,
                why=one.why,
            )
            for one in seen
            if isinstance(one, SourceState) and one.lost
        ]

    def take_seen(self, seen: Sequence[Seen]) -> None:
        """Take in readings of servers and hosts, from any source."""
        for one in seen:
            place = self.places.get(one.source)
            if place is None:
                continue
            if isinstance(one, SourceState):
                # Figures need a second reading. The first shows that it answers again.
                if not one.lost:
                    self._told_s[one.source] = one.at_s
                continue
            self._told_s[one.source] = one.to_s
            self._judge(place, one)
            self._note_promotion(one)
            ground = self.grounds.get(one.source)
            if ground and not ground.before.is_known:
                running = self._others(one, others.RUNNING)
                ground.before.running = max(ground.before.running, running or 0.0)

    def _note_promotion(self, seen: Observation) -> None:
        """Note that a server is no replica any more: a failover, which the load did not cause."""
        if seen.source not in self.replicas:
            return
        if LAG in seen.gauges:
            self._promoted.discard(seen.source)
        elif seen.source not in self._promoted:
            self._promoted.add(seen.source)
            name = self.places[seen.source].name
            self._lines.append(
                say("{place} is no replica any more: its lag is not watched", place=name)
            )

    def take_reading(self, source: SourceName, gauges: dict[str, float], at_s: float) -> None:
        """Take in values read at one moment of the run, before there are samples."""
        seen = Observation(source=source, from_s=at_s, to_s=at_s, deltas={}, gauges=gauges)
        self._judge(self.places[source], seen)

    def _judge(self, place: Place, seen: Observation) -> None:
        for judge, _ in place.judges:
            value = self._figure(judge.condition, seen)
            if value is not None:
                judge.take(seen.to_s, value)

    def take_sample(self, sample: Sample, at_s: float, *, is_held: bool) -> None:
        """Take in a second of the load that ended at `at_s` of the run.

        A second in which the load was held back says nothing about it.
        """
        if sample.phase == "drain" or sample.seconds <= 0:
            return
        self._answered.take(sample, at_s)
        for judge, _ in self.load.judges:
            value = None if is_held else of_the_load(judge.condition, sample)
            if value is not None:
                judge.take(at_s, value)
            elif is_held or judge.condition in self.max_load:
                judge.forget()

    def to_abort(self, now_s: float) -> Met | None:
        """The condition for which the load must end; `None`: it may continue."""
        return next((met for met in self._met(now_s) if met.condition not in self.max_load), None)

    def to_hold(self, now_s: float) -> Met | None:
        """The condition for which no event may start now, also while its figure is unknown."""
        return next((met for met in self._met(now_s) if met.condition in self.max_load), None)

    def _met(self, now_s: float) -> Iterator[Met]:
        for source, place in ((None, self.load), *self.places.items()):
            for judge, is_default in place.judges:
                if judge.is_met(now_s):
                    yield Met(judge.condition, is_default, place.name, judge.value)
                    continue
                silent_s = self._silent_s(source, judge.condition, now_s)
                if silent_s > _SILENT_S:
                    yield Met(judge.condition, is_default, place.name, silent_s, is_silent=True)

    def _silent_s(self, source: SourceName | None, condition: Condition, now_s: float) -> float:
        """For how many seconds the silence of a server or a replica has mattered.

        A load that is held back waits until the figure is known. Any other load is ended after it
        has been answered for that long during the silence: a server that takes no new connection or
        leaves SHOW STATUS unanswered is overloaded. Where the load had no answers either, the
        server was gone, which is not our doing and may be a drill; and the watch takes longer than
        the load to reconnect.
        """
        told_s = self._told_s.get(source) if source in (*self.grounds, *self.replicas) else None
        if source is None or told_s is None:
            return 0.0
        if condition in self.max_load:
            return now_s - told_s
        return self._answered.seconds_after(told_s)

    def _figure(self, asked: Condition, seen: Observation) -> float | None:
        gauges = seen.gauges
        match asked.figure:
            case "threads_running":
                return self._others(seen, others.RUNNING)
            case "threads_connected":
                return self._others(seen, others.CONNECTED)
            case "replica_lag":
                return gauges.get(LAG)
            case "replica_lag_growth":
                return self._lag_growth(seen)
            case "disk_free":
                free, size = gauges.get(DATA_FREE), gauges.get(DATA_SIZE)
                if free is None or not size:
                    return None
                return free / size if asked.kind == "share" else free
            case others.LATENCY | others.SLOWDOWN:
                return gauges.get(asked.figure)
        row = f"status.{asked.figure}"
        if not asked.is_growth:
            return gauges.get(row)
        return seen.deltas[row] / seen.seconds if row in seen.deltas and seen.seconds else None

    def _others(self, seen: Observation, row: str) -> float | None:
        """Threads of others: of other accounts, and those of ours beyond the ones we hold."""
        gauges, held = seen.gauges, float(self.held.get(seen.source, 0))
        running = row == others.RUNNING
        theirs = gauges.get(others.OTHERS_RUNNING if running else others.OTHERS_CONNECTED)
        ours = gauges.get(others.OWN_RUNNING if running else others.OWN_CONNECTED)
        if ours is not None and gauges.get(others.LOADS_OF_OWN):
            # All connections of this account are of some load; they cannot be distinguished.
            held = max(held, ours)
        if theirs is not None and ours is not None:
            return theirs + max(0.0, ours - held)
        whole = gauges.get(row)
        if whole is None or gauges.get(others.LOADS_UNSEEN):
            return None
        return max(0.0, whole - held)

    def _lag_growth(self, seen: Observation) -> float | None:
        replica, lag = self.replicas.get(seen.source), seen.gauges.get(LAG)
        if replica is None or lag is None:
            return None
        if not replica.before_s:
            replica.before_s.append(lag)
        return lag - replica.before_s[0]

    def close(self) -> None:
        """Stop watching."""
        self.own.close()


def of_the_load(asked: Condition, sample: Sample) -> float | None:
    """A figure of one second of the load; `None` where the second has none."""
    counts = sample.counts
    match asked.figure:
        case "tps":
            return counts.events / sample.seconds
        case "qps":
            return counts.queries / sample.seconds
        case "errors":
            ended, errors = counts.events + counts.failed, sum(sample.errors.values())
            return errors / ended if ended else (1.0 if errors else None)
    found = _latency(sample.latency_ns.response, asked.figure)
    return None if found is None else found / 1e9


def _latency(response: LatencyNs, figure: str) -> float | None:
    found: float | None = getattr(response, figure)
    return found
