"""Merges the records of several generators, each counted once, without a clock or a network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.cluster.merge_interval import SumLines, merge_connected, merge_samples, sum_tallies
from loadstone.cluster.messages import HostUse
from loadstone.model.cluster import GENERATOR_LOST, OnNodeLoss
from loadstone.model.figure import General
from loadstone.model.message import say
from loadstone.model.records import (
    AnyStepRecord,
    Connected,
    End,
    EngineFailure,
    FirstError,
    GeneratorPart,
    GeneratorState,
    Outage,
    Sample,
    Tally,
)

_ABANDONED = "abandoned"
"""The engine's word for a part whose lease ran out."""

_NOTHING = Tally(due=0, waiting=0, started=0, skipped=0, in_flight=0, succeeded=0, failed=0)


@dataclass
class Member:
    """One generator of a step."""

    number: int
    node: str
    users: int
    has: int = 0
    """The number of the last record taken in."""
    samples: float = 0
    """How many intervals it has reported; infinite once it drains."""
    told_to_s: float = 0.0
    tally: Tally = _NOTHING
    """The counters as of the last interval that was merged."""
    of_mix: dict[str, Tally] = field(default_factory=dict)
    """The same for each workload of a mix, by its name."""
    connected: Connected | None = None
    end: End | None = None
    lost: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether no more records are expected."""
        return self.end is not None or self.lost is not None


@dataclass
class _Interval:
    samples: dict[int, Sample] = field(default_factory=dict)
    details: dict[int, GeneratorPart] = field(default_factory=dict)


class Collector:
    """Takes in the records of all generators, in any order, and produces those of the whole step.

    An interval is produced once every remaining generator has reported it. Records of a generator
    that was given up are ignored: its seconds are missing, and are shown as missing.
    """

    def __init__(
        self, members: Sequence[Member], on_node_loss: OnNodeLoss, sum_lines: SumLines
    ) -> None:
        self.members = {member.number: member for member in members}
        self.begun = False
        self._on_node_loss = on_node_loss
        self._sum_lines = sum_lines
        self._living = dict(self.members)
        self._pending: dict[float, _Interval] = {}
        self._oldest = -1.0
        """The interval that is produced next."""
        self._behind: set[int] = set()
        """Generators that have not reported it yet."""
        self._ready: list[AnyStepRecord] = []
        self._said_errors: set[str] = set()
        self._unfinished: list[Outage] = []
        self._failure: EngineFailure | None = None
        self._over = False

    @property
    def failure(self) -> EngineFailure | None:
        """Why the step cannot continue; all generators must then be stopped."""
        return self._failure

    @property
    def over(self) -> bool:
        """Whether the final record has been produced."""
        return self._over

    @property
    def is_connected(self) -> bool:
        """Whether all remaining generators have connected all their users."""
        living = self._living.values()
        return bool(living) and all(member.connected for member in living)

    @property
    def living(self) -> list[Member]:
        """Generators from which more records are expected."""
        return list(self._living.values())

    def begin(self) -> None:
        """Note that all are connected, and know when the load begins."""
        self.begun = True
        connected = [member.connected for member in self.members.values() if member.connected]
        self._ready.append(merge_connected(connected))

    def take(self, number: int, order: int, record: AnyStepRecord, host: HostUse | None) -> bool:
        """Take in the record with this number from this generator.

        Returns whether it was counted: a repeated record, or one that comes too late, is not.
        """
        member = self.members[number]
        if order != member.has + 1 or member.is_done:
            return False
        member.has = order
        match record:
            case Connected():
                member.connected = record
            case Sample():
                self._take_sample(member, record, host)
            case FirstError():
                if record.code not in self._said_errors:
                    self._said_errors.add(record.code)
                    self._ready.append(record)
            case Outage() if record.to_s is None:
                self._unfinished.append(record)
            case End():
                self._take_end(member, record)
            case _:
                self._ready.append(record)
        self._say_complete(member)
        return True

    def lose(self, number: int, reason: str) -> None:
        """Give up this generator: no more of its records are expected or accepted."""
        member = self.members[number]
        if member.is_done:
            return
        member.lost = reason
        del self._living[number]
        self._ready.append(
            GeneratorState(
                number=number,
                node=member.node,
                state="lost",
                at_s=member.told_to_s,
                users=member.users,
                reason=reason,
            )
        )
        if self._on_node_loss != "continue" or not self.begun:
            self._fail(self._loss(member))
        self._say_complete(member)

    def ready(self) -> Iterator[AnyStepRecord]:
        """The records that can be produced by now, in order, each once."""
        while self._ready:
            yield self._ready.pop(0)

    def _take_sample(self, member: Member, sample: Sample, host: HostUse | None) -> None:
        drains = sample.phase == "drain"
        index = math.inf if drains else member.samples
        interval = self._pending.setdefault(index, _Interval())
        interval.samples[member.number] = sample
        interval.details[member.number] = GeneratorPart(
            number=member.number,
            users=sample.users,
            events=sample.counts.events,
            response_ns_p99=sample.latency_ns.response.p99,
            use=sample.generator,
            host_cpu_share=host.cpu_share if host else None,
            net_bytes_in=host.net_bytes_in if host else None,
            net_bytes_out=host.net_bytes_out if host else None,
            line_bytes_per_s=host.line_bytes_per_s if host else None,
        )
        member.samples = math.inf if drains else member.samples + 1
        member.told_to_s = sample.to_s

    def _take_end(self, member: Member, end: End) -> None:
        if end.error and end.error.kind == _ABANDONED:
            # The network delayed our polls of this one; the others may well have received theirs.
            self.lose(member.number, say("it ended its load: {why}", why=end.error.message))
            return
        member.end = end
        del self._living[member.number]
        if end.error:
            self._fail(end.error)

    def _fail(self, failure: EngineFailure) -> None:
        self._failure = self._failure or failure

    def _loss(self, member: Member) -> EngineFailure:
        told = {"number": member.number, "node": member.node, "why": member.lost}
        message = (
            say(
                "generator {number} on {node} was lost {at} s after the load started: {why}",
                at=General(member.told_to_s),
                **told,
            )
            if self.begun
            else say("generator {number} on {node} was lost before the load: {why}", **told)
        )
        return EngineFailure(kind=GENERATOR_LOST, message=message)

    def _say_complete(self, told: Member) -> None:
        """Produce the intervals that all remaining generators have reported by now.

        With a thousand generators this is called a thousand times a second: which ones are behind
        is computed once an interval.
        """
        if told.is_done or told.samples > self._oldest:
            self._behind.discard(told.number)
        while self._pending:
            oldest = min(self._pending)
            if oldest != self._oldest:
                self._oldest = oldest
                self._behind = {
                    # A generator that drains counts as behind until its end.
                    member.number
                    for member in self._living.values()
                    if member.samples <= oldest
                }
            if self._behind:
                return
            self._say_interval(self._pending.pop(oldest))
        if not self._over and not self._living:
            self._say_end()

    def _say_interval(self, interval: _Interval) -> None:
        for number, sample in interval.samples.items():
            member = self.members[number]
            member.tally = sample.tally
            member.of_mix = {one.name: one.tally for one in sample.members}
        members = self.members.values()
        tally = sum_tallies(member.tally for member in members)
        # Each generator reports all workloads, including those that none of its users has.
        of_mix = {
            name: sum_tallies(member.of_mix[name] for member in members if member.of_mix)
            for name in next((member.of_mix for member in members if member.of_mix), ())
        }
        merged = merge_samples(interval.samples, interval.details, tally, of_mix, self._sum_lines)
        self._ready.append(merged)

    def _say_end(self) -> None:
        self._over = True
        members = self.members.values()
        ends = [member.end for member in members if member.end]
        if not ends and self._failure is None:
            self._fail(self._loss(next(iter(members))))
        if self._unfinished:
            self._ready.append(_together(self._unfinished))
        stopped = any(end.reason == "stopped" for end in ends)
        self._ready.append(
            End(
                reason="failed" if self._failure else "stopped" if stopped else "finished",
                error=self._failure,
                seconds=max((member.told_to_s for member in members), default=0.0),
                tally=sum_tallies(
                    member.end.tally if member.end else member.tally for member in members
                ),
            )
        )


def _together(outages: Sequence[Outage]) -> Outage:
    """Merge the outages that the step's end cut off: same target, same time."""
    first = min(outages, key=lambda outage: outage.from_s)
    return first.model_copy(update={"users": sum(outage.users for outage in outages)})


def absent(node: str, number: int, reason: str) -> GeneratorState:
    """The state of a generator of the run that does not take part in the step."""
    return GeneratorState(number=number, node=node, state="absent", users=0, reason=reason)


def joined(member: Member, clock: Mapping[int, tuple[int, int]]) -> GeneratorState:
    """The state of a generator that takes part, with its clock's offset and error bound."""
    offset_ns, bound_ns = clock[member.number]
    return GeneratorState(
        number=member.number,
        node=member.node,
        state="joined",
        users=member.users,
        clock_offset_ns=offset_ns,
        clock_bound_ns=bound_ns,
    )
