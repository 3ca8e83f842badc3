"""Records as generators send them, for tests of how the head combines them."""

from __future__ import annotations

from loadstone import engine
from loadstone.cluster.merge_stream import Collector, Member
from loadstone.model.cluster import OnNodeLoss
from loadstone.model.records import (
    AnyStepRecord,
    Connected,
    Counts,
    End,
    EngineFailure,
    GeneratorUse,
    Phase,
    Sample,
    Tally,
)


def a_tally(events: int) -> Tally:
    return Tally(
        due=events,
        waiting=0,
        started=events,
        skipped=0,
        in_flight=0,
        succeeded=events,
        failed=0,
    )


def a_sample(second: int, events: int, phase: Phase = "window", so_far: int = 0) -> Sample:
    """The interval that starts at this second; `so_far` events came before it."""
    return Sample(
        phase=phase,
        from_s=float(second),
        to_s=float(second + 1),
        tally=a_tally(so_far + events),
        counts=Counts(events=events, due=events, reads=events),
        users=2,
        generator=GeneratorUse(
            cpu_us=1000 * events, wall_us=1_000_000, late_ns_p99=None, run_delay_us=5, shards=1
        ),
    )


def connected(users: int = 2) -> Connected:
    return Connected(seconds=0.1, users=users, encrypted_users=0, server_version="8.0")


def an_end(events: int, error: EngineFailure | None = None) -> End:
    reason = "failed" if error else "finished"
    return End.model_validate(
        {"reason": reason, "error": error, "seconds": 9.0, "tally": a_tally(events)}
    )


class Heard:
    """A collector of several generators, and what it has returned."""

    def __init__(self, generators: int, on_node_loss: OnNodeLoss = "continue") -> None:
        members = [Member(number, f"node-{number}", users=2) for number in range(generators)]
        self.collector = Collector(members, on_node_loss, engine.sum_hlog)
        self.said: list[AnyStepRecord] = []
        self.order = dict.fromkeys(range(generators), 0)

    def tell(self, number: int, *records: AnyStepRecord) -> None:
        """Add the next records of a generator."""
        for record in records:
            self.order[number] += 1
            assert self.collector.take(number, self.order[number], record, None)
        self.listen()

    def again(self, number: int, record: AnyStepRecord) -> bool:
        """Add the last record again; returns whether it was counted."""
        counted = self.collector.take(number, self.order[number], record, None)
        self.listen()
        return counted

    def begin(self) -> None:
        for number in self.order:
            self.tell(number, connected())
        assert self.collector.is_connected
        self.collector.begin()
        self.listen()

    def lose(self, number: int, reason: str = "gone") -> None:
        self.collector.lose(number, reason)
        self.listen()

    def listen(self) -> None:
        self.said.extend(self.collector.ready())

    @property
    def samples(self) -> list[Sample]:
        return [record for record in self.said if isinstance(record, Sample)]

    @property
    def end(self) -> End:
        (end,) = (record for record in self.said if isinstance(record, End))
        return end
