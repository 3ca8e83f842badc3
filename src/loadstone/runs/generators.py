"""Several generators of one step: each one's share in the window, and which one was the limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loadstone.model.records import GeneratorPart, GeneratorState
from loadstone.model.result import CLIENT_BOUND_SHARE, CLIENT_LATE_SHARE, GeneratorShare


@dataclass
class GeneratorSums:
    """Sums of one generator's intervals in the window."""

    seconds: float = 0.0
    intervals: int = 0
    late_intervals: int = 0
    events: int = 0
    cpu_us: int = 0
    wall_us: int = 0
    dispatch_ns_worst: int | None = None
    host_cpu_s: float | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None
    line_bytes_per_s: float | None = None

    def add(self, part: GeneratorPart, seconds: float) -> None:
        """Add another interval of this length."""
        self.seconds += seconds
        self.intervals += 1
        self.events += part.events
        self.cpu_us += part.use.cpu_us
        self.wall_us += part.use.wall_us
        own_ns = part.use.dispatch_ns_p99
        if own_ns is not None:
            self.dispatch_ns_worst = max(own_ns, self.dispatch_ns_worst or 0)
            self.late_intervals += own_ns > CLIENT_LATE_SHARE * (part.response_ns_p99 or own_ns)
        if part.host_cpu_share is not None:
            self.host_cpu_s = (self.host_cpu_s or 0.0) + part.host_cpu_share * seconds
        if part.net_bytes_in is not None:
            self.bytes_in = (self.bytes_in or 0) + part.net_bytes_in
        if part.net_bytes_out is not None:
            self.bytes_out = (self.bytes_out or 0) + part.net_bytes_out
        self.line_bytes_per_s = part.line_bytes_per_s or self.line_bytes_per_s

    @property
    def cpu_share(self) -> float | None:
        """The busy share of its shards' time."""
        return self.cpu_us / self.wall_us if self.wall_us else None

    @property
    def line_share(self) -> float | None:
        """The share of its interface's capacity, in the busier direction."""
        counted = [amount for amount in (self.bytes_in, self.bytes_out) if amount is not None]
        by_second = self.by_second(max(counted, default=None))
        if by_second is None or self.line_bytes_per_s is None:
            return None
        return by_second / self.line_bytes_per_s

    @property
    def is_saturated(self) -> bool:
        """Whether it may have been the limit: its cores, its line, or delays of its own."""
        most = max(self.cpu_share or 0.0, self.line_share or 0.0)
        return most > CLIENT_BOUND_SHARE or 2 * self.late_intervals > self.intervals

    def by_second(self, amount: float | None) -> float | None:
        """A figure per second, over the seconds that it delivered."""
        return amount / self.seconds if amount is not None and self.seconds else None


def generator_shares(
    states: Iterable[GeneratorState], sums: Mapping[int, GeneratorSums], seconds: float
) -> tuple[GeneratorShare, ...]:
    """The shares of each generator that joined, for a window of so many seconds."""
    joined: dict[int, GeneratorState] = {}
    lost: dict[int, GeneratorState] = {}
    for state in states:
        if state.state != "absent":
            (joined if state.state == "joined" else lost).setdefault(state.number, state)
    return tuple(
        _share(state, lost.get(number), sums.get(number, GeneratorSums()), seconds)
        for number, state in sorted(joined.items())
    )


def _share(
    joined: GeneratorState, lost: GeneratorState | None, sums: GeneratorSums, seconds: float
) -> GeneratorShare:
    return GeneratorShare(
        number=joined.number,
        node=joined.node,
        users=joined.users,
        events=sums.events,
        seconds=sums.seconds,
        seconds_lost=max(seconds - sums.seconds, 0.0),
        lost=lost.reason if lost else None,
        cpu_share=sums.cpu_share,
        dispatch_p99_us=_us(sums.dispatch_ns_worst),
        host_cpu_share=sums.by_second(sums.host_cpu_s),
        net_bytes_in_per_s=sums.by_second(sums.bytes_in),
        net_bytes_out_per_s=sums.by_second(sums.bytes_out),
        net_line_share=sums.line_share,
        clock_offset_us=_us(joined.clock_offset_ns),
        clock_bound_us=_us(joined.clock_bound_ns),
        saturated=sums.is_saturated if sums.intervals else None,
    )


def _us(ns: int | None) -> float | None:
    return None if ns is None else ns / 1000
