"""A source that is watched and silent: overloaded, gone, or back only after the load has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from lab.watched import ground_of
from loadstone.lab.protection.conditions import Judge
from loadstone.lab.protection.watch import THE_LOAD, Met, Place, Replica, Watch
from loadstone.model.message import plain
from loadstone.model.observed import Observation, SourceName, SourceState
from loadstone.model.protection import condition
from loadstone.model.records import Counts, GeneratorUse, Sample, Tally
from loadstone.observe.replica import LAG
from loadstone.observe.sampler import Sampling, Seen

SERVER = SourceName(role="server")
REPLICA = SourceName(role="replica")
GONE_S = 20.5
END_S = 80.0


def a_watch(*, holds: str = "") -> Watch:
    """A watch on a server, and on a replica, with the default conditions of each."""
    ground = ground_of("db1")
    asked = [(Judge(condition("threads_running>20 for 10s")), True)]
    held = tuple(condition(one) for one in [holds] if one)
    asked += [(Judge(one), False) for one in held]
    falls = [(Judge(condition("replica_lag_growth>30s for 10s")), True)]
    return Watch(
        load=Place([], THE_LOAD),
        places={
            SERVER: Place(asked, plain("db1:3306")),
            REPLICA: Place(falls, plain("the replica db2:3306")),
        },
        own=Sampling((), 0.0),
        grounds={SERVER: ground},
        replicas={REPLICA: Replica(ground.endpoint, True)},
        compared=frozenset(),
        held={SERVER: 8},
        max_load=held,
    )


def a_second(
    to_s: float, events: int, *, users: int = 4, in_flight: int = 4, failed: int = 0
) -> Sample:
    tally = Tally(
        due=in_flight + failed,
        waiting=0,
        started=in_flight + failed,
        skipped=0,
        in_flight=in_flight,
        succeeded=0,
        failed=failed,
    )
    return Sample(
        phase="window",
        from_s=to_s - 1,
        to_s=to_s,
        tally=tally,
        counts=Counts(events=events, failed=failed),
        users=users,
        generator=GeneratorUse(cpu_us=0, wall_us=1_000_000, late_ns_p99=None, shards=1),
    )


def seen(source: SourceName, at_s: float, **gauges: float) -> Observation:
    return Observation(source=source, from_s=at_s - 1, to_s=at_s, deltas={}, gauges=gauges)


@dataclass
class Sampler:
    """Behaves as the program's sampler does with a source that fails from one moment to another."""

    source: SourceName
    gone_s: float
    back_s: float
    retry_s: float = 5.0
    hangs_s: float = 0.0
    """How long it takes to notice that it is gone."""
    lost: bool = False
    readings: int = 0
    due_s: float = field(default=1.3)

    def told(self, now_s: float) -> Iterator[Seen]:
        while self.due_s <= now_s:
            at_s = self.due_s
            if self.gone_s <= at_s < self.back_s:
                self.lost, self.readings = True, 0
                self.due_s = at_s + self.hangs_s + self.retry_s
                continue
            if self.lost:
                self.lost = False
                yield SourceState(
                    source=self.source, at_s=at_s, lost=False, why=plain("answers again")
                )
            self.readings += 1
            self.due_s = at_s + 1
            if self.readings > 1:
                gauge = {LAG: 0.0} if self.source == REPLICA else {"status.threads_running": 3.0}
                yield seen(self.source, at_s, **gauge)


def outcome(
    watch: Watch, back_s: float, *, load_ends_s: float = END_S, hangs_s: float
) -> Met | None:
    """A load on a server that is gone for a while; both are asked five times a second."""
    samplers = [Sampler(one, GONE_S, back_s, hangs_s=hangs_s) for one in (SERVER, REPLICA)]
    next_s = 1.0
    for tick in range(int(END_S * 5)):
        now_s = tick / 5
        for sampler in samplers:
            watch.take_seen(list(sampler.told(now_s)))
        if next_s <= now_s <= load_ends_s:
            answers = next_s <= GONE_S or next_s > back_s
            lost = not answers and next_s - 1 > GONE_S
            sample = a_second(next_s, 100 if answers else 0, users=0 if lost else 4)
            watch.take_sample(sample, next_s, is_held=False)
            next_s += 1.0
        if met := watch.to_abort(now_s):
            return met
    return None


@pytest.mark.parametrize("hangs_s", [0.0, 4.9], ids=["refused", "silent"])
@pytest.mark.parametrize("outage_s", [0.5, 3.0, 3.5, 5.5, 7.0, 7.5, 12.0, 12.5, 20.0, 30.0, 1e9])
def test_an_outage_ends_nothing(outage_s: float, hangs_s: float) -> None:
    assert outcome(a_watch(), GONE_S + outage_s, hangs_s=hangs_s) is None


@pytest.mark.parametrize("outage_s", [3.0, 7.0, 12.0, 30.0])
def test_nor_does_one_that_the_load_does_not_outlive(outage_s: float) -> None:
    ends_s = GONE_S + outage_s / 2
    assert outcome(a_watch(), GONE_S + outage_s, load_ends_s=ends_s, hangs_s=0) is None


@pytest.mark.parametrize("source", [SERVER, REPLICA])
def test_who_answers_the_load_and_nobody_who_watches_ends_it(source: SourceName) -> None:
    """After ten seconds with answers, and no sooner."""
    watch = a_watch()
    watch.take_seen([seen(source, 3.2, **{LAG: 0.0, "status.threads_running": 3.0})])
    for second in range(1, 14):
        watch.take_sample(a_second(second, 50), second, is_held=False)
        assert watch.to_abort(second) is None
    watch.take_sample(a_second(14, 50), 14, is_held=False)
    met = watch.to_abort(14.1)
    assert met and met.is_silent
    assert met.aborts(14.1).endswith("said nothing for 11 s")


def test_it_also_ends_one_that_came_back_from_an_outage_only_for_the_load() -> None:
    watch = a_watch()
    watch.take_seen([seen(SERVER, 3.2, **{"status.threads_running": 3.0})])
    for second in range(4, 9):
        watch.take_sample(a_second(second, 0), second, is_held=False)
    for second in range(9, 20):
        watch.take_sample(a_second(second, 50), second, is_held=False)
        assert watch.to_abort(second) is None
    watch.take_sample(a_second(20, 50), 20, is_held=False)
    assert watch.to_abort(20.0)


def test_seconds_in_which_nothing_was_asked_are_no_outage() -> None:
    """One event in three seconds is answered, and those between are not waited for."""
    watch = a_watch()
    watch.take_seen([seen(SERVER, 1.0, **{"status.threads_running": 3.0})])
    for second in range(1, 17):
        sample = a_second(second, second % 3 == 0, in_flight=0)
        watch.take_sample(sample, second, is_held=False)
    met = watch.to_abort(16.0)
    assert met and met.is_silent


def test_a_load_of_which_all_fails_is_not_answered() -> None:
    watch = a_watch()
    watch.take_seen([seen(SERVER, 1.0, **{"status.threads_running": 3.0})])
    for second in range(1, 30):
        watch.take_sample(a_second(second, 0, in_flight=0, failed=5), second, is_held=False)
    assert watch.to_abort(30.0) is None


def test_a_load_that_is_held_back_stays_so_while_nobody_knows_more() -> None:
    watch = a_watch(holds="threads_connected>100")
    watch.take_seen([seen(SERVER, 1.0, **{"status.threads_connected": 3.0})])
    assert watch.to_hold(10.9) is None
    assert watch.to_hold(11.1)
    watch.take_seen([SourceState(source=SERVER, at_s=12.0, lost=False, why=plain("answers again"))])
    assert watch.to_hold(12.1) is None


def test_a_replica_that_is_promoted_is_a_note() -> None:
    watch = a_watch()
    told: list[str] = []
    for second in range(1, 40):
        gauges = {LAG: 0.0} if second < 5 else {}
        watch.take_seen([seen(REPLICA, second, **gauges)])
        watch.take_sample(a_second(second, 50), second, is_held=False)
        told += watch.look()
        assert watch.to_abort(second) is None
    assert told == ["the replica db2:3306 is no replica any more: its lag is not watched"]
