"""The account of a step: sums that are measured apart, and what no place holds."""

from __future__ import annotations

from collections import defaultdict

import pytest

from loadstone.model.account import Account, DiskBytes, Disks, Memory, MemoryOf, Trips
from loadstone.model.plan import Step
from loadstone.model.records import LatencyNs
from loadstone.runs.account import Driven, _is_paced, account_of, driven
from loadstone.runs.source_figures import SourceSums
from loadstone.runs.whose import cores_of, disks_of, memory_of

THREADS = {"view": "threads"}


def a_load(**changes: float | bool) -> Driven:
    """Ten users in a closed loop for ten seconds."""
    values = {
        "users": 10, "seconds": 10.0, "in_statements": 10.0, "connecting": 0.0, "is_paced": False,
        "beside": 0.0, "served": 0.0,
    }  # fmt: skip
    return Driven(**(values | changes))  # type: ignore[arg-type]


def looks(*seen: dict[str, float], core: float = 0.0, delay: float = 0.0) -> SourceSums:
    """Sums of looks that saw these numbers of sessions; core and delay in mean numbers."""
    deltas: defaultdict[str, float] = defaultdict(float)
    for look in seen:
        deltas["looks"] += 1
        running = look.get("running", 0.0)
        for seat, number in look.items():
            deltas[f"at.{seat}"] += number
            deltas[f"sq.{seat}"] += number**2
            deltas[f"xr.{seat}"] += number * running
    deltas["core_s"], deltas["delay_s"], deltas["counted_s"] = 10 * core, 10 * delay, 10.0
    seconds = defaultdict(float, dict.fromkeys(deltas, 10.0))
    return SourceSums(seconds=10.0, deltas=deltas, delta_s=seconds)


def account(load: Driven, *looked: SourceSums, view: str = "threads") -> Account:
    found = account_of(load, looked, [{"view": view}] * len(looked))
    assert found is not None
    return found


def shares(found: Account) -> dict[str, float]:
    return {entry.place: round(entry.share, 4) for entry in found.entries}


def test_the_times_of_statements_that_are_sent_at_once_are_not_added() -> None:
    step = Step(number=1, workload="oltp_read_write", concurrency=10)
    alone = {
        "read": LatencyNs(count=1400, mean=8e6),
        "write": LatencyNs(count=400, mean=9e6),
        "other": LatencyNs(count=200, mean=5e6),
    }
    flights = alone | {"flight": LatencyNs(count=100, mean=50e6)}
    found = [driven(step, 2.0, 0.1, {}, merged).in_statements for merged in (alone, flights)]
    assert found == [pytest.approx(7.9), pytest.approx(2.5)]


def test_times_on_a_core_are_counted_and_waits_sampled() -> None:
    look = {"running": 3.0, "row lock": 6.0, "client": 1.0}
    found = account(a_load(), looks(*[look] * 20, core=2.0, delay=1.0))
    assert shares(found) == {
        "way": 0.1, "on core": 0.2, "waiting for a core": 0.1, "row lock": 0.6,
    }  # fmt: skip
    assert found.unnamed == pytest.approx(0.0)
    assert {one.place for one in found.entries if one.known == "counted"} == {
        "on core", "waiting for a core",
    }  # fmt: skip


def test_by_how_much_the_looks_were_off_is_known_from_what_is_counted() -> None:
    """Half of the looks saw all users running, half all at a lock; the kernel counted 30 %."""
    seen = [{"running": 10.0}, {"row lock": 10.0}] * 20
    found = account(a_load(), looks(*seen, core=3.0))
    assert shares(found) == {"on core": 0.3, "row lock": 0.7}
    assert found.seen_running == pytest.approx(0.5)
    (lock,) = (one for one in found.entries if one.place == "row lock")
    assert lock.high == pytest.approx(0.7)  # nothing is left to chance


def test_what_the_looks_could_not_name_is_the_rest() -> None:
    seen = [{"running": 2.0, "latch": 3.0}] * 20
    found = account(a_load(), looks(*seen, core=2.0))
    assert found.unnamed == pytest.approx(0.5)
    assert found.beyond == 0.0


def test_more_than_all_time_is_told_and_not_rescaled() -> None:
    found = account(a_load(), looks(*[{"latch": 8.0}] * 5, core=3.0))
    assert shares(found) == {"on core": 0.3, "latch": 0.8}
    assert found.unnamed == 0.0
    assert found.beyond == pytest.approx(0.1)


def test_a_users_time_without_a_statement_is_the_generators_or_thought() -> None:
    seen = looks(*[{"client": 10.0}] * 20)
    assert shares(account(a_load(in_statements=6.0), seen)) == {"generator": 0.4, "way": 0.6}
    assert shares(account(a_load(in_statements=6.0, is_paced=True), seen)) == {
        "idle": 0.4, "way": 0.6,
    }  # fmt: skip


def test_a_statement_that_never_ended_is_no_time_of_the_generator() -> None:
    """Its time is in no sum, but its session does not wait for the client."""
    found = account(a_load(in_statements=0.0), looks(*[{"table lock": 10.0}] * 20))
    assert shares(found) == {"table lock": 1.0}


def test_answers_that_wait_and_users_that_are_served_are_not_on_the_way() -> None:
    seen = [{"client": 5.0, "unread": 2.0}] * 20
    found = account(a_load(served=1.0), looks(*seen, core=5.0))
    assert shares(found) == {
        "generator": 0.1, "answer unread": 0.2, "way": 0.2, "on core": 0.5,
    }  # fmt: skip


def test_what_generator_and_server_do_at_the_same_time_counts_once() -> None:
    """A server that works on after its answer, and a generator that works on after sending."""
    seen = [{"running": 1.0}, {"client": 1.0}] * 20
    one = a_load(users=1, in_statements=0.6, served=0.7)
    found = account(one, looks(*seen, core=0.5))
    assert shares(found) == {"generator": 0.5, "on core": 0.5}
    assert found.beyond == 0.0


def test_a_paced_user_is_served_in_the_time_that_it_thinks() -> None:
    found = account(
        a_load(in_statements=4.0, is_paced=True, served=1.0),
        looks(*[{"client": 8.0}] * 20, core=2.0),
    )
    assert shares(found) == {"idle": 0.6, "generator": 0.1, "way": 0.1, "on core": 0.2}


def test_idle_connections_are_no_users() -> None:
    found = account(a_load(beside=90.0), looks(*[{"client": 95.0}] * 20, core=5.0))
    assert shares(found) == {"way": 0.5, "on core": 0.5}


def test_users_before_a_pooler_have_none_of_its_sessions() -> None:
    seen = looks(*[{"running": 3.0, "row lock": 1.0, "client": 16.0}] * 20, core=3.0)
    seen.deltas["queued_s"], seen.deltas["queue_counted_s"] = 40.0, 10.0
    found = account(a_load(), seen)
    assert shares(found) == {"way": 0.2, "on core": 0.3, "row lock": 0.1, "admission": 0.4}
    assert found.beyond == pytest.approx(0.0)
    (before,) = (entry for entry in found.entries if entry.place == "admission")
    assert before.known == "counted"


def test_an_answer_that_is_still_sent_is_not_unread_as_well() -> None:
    seen = [{"client": 1.0, "sending": 4.0, "unread": 5.0}] * 20
    assert shares(account(a_load(), looks(*seen, core=5.0))) == {
        "answer unread": 0.1, "on core": 0.5, "sending": 0.4,
    }  # fmt: skip


def test_few_looks_have_no_interval() -> None:
    found = account(a_load(), looks(*[{"latch": 8.0}] * 5, core=1.0))
    (latch,) = (one for one in found.entries if one.place == "latch")
    assert (latch.known, latch.low, latch.high) == ("sampled", None, None)


def test_of_more_threads_than_are_read_the_times_are_sampled_and_correct_nothing() -> None:
    seen = [{"running": 40.0}, {"row lock": 40.0}] * 20
    found = account(a_load(users=100), looks(*seen, core=30.0))
    assert shares(found) == {"on core": 0.3, "row lock": 0.2}
    assert {one.known for one in found.entries} == {"sampled"}


def test_times_count_over_the_seconds_in_which_they_were_counted() -> None:
    seen = looks(*[{"running": 4.0, "latch": 6.0}] * 20, core=4.0)
    seen.deltas["counted_s"] = 5.0  # the server was away, or its sessions were all new
    seen.deltas["core_s"] = 20.0
    assert shares(account(a_load(), seen)) == {"on core": 0.4, "latch": 0.6}


@pytest.mark.parametrize(
    ("plan", "paced"),
    [
        ({}, False),
        ({"drive": {"arrival": {"kind": "closed", "think_s": 0.0}}}, False),
        ({"drive": {"arrival": {"kind": "closed", "think_s": 0.1}}}, True),
        ({"phases": [{}]}, True),
        ({"workload": {"template": {"transactions": [{"think_s": 0.02}]}}}, True),
        ({"workload": {"options": {"keying_and_think_time": "off"}}}, False),
        ({"mix": [{"workload": {"options": {"keying_and_think_time": True}}}]}, True),
    ],
)
def test_think_times_are_found_wherever_a_plan_has_them(
    plan: dict[str, object], paced: bool
) -> None:
    assert _is_paced(plan) == paced


def test_two_servers_are_added_and_the_coarser_view_counts() -> None:
    one = looks(*[{"in the server": 4.0}] * 20)
    found = account(a_load(), one, one, view="sessions")
    assert shares(found) == {"in the server": 0.8}
    assert found.view == "sessions"
    assert found.cores is None


def a_host(**rates: float) -> SourceSums:
    """Sums of a host whose server's process had these rates."""
    host = SourceSums(seconds=10.0)
    for name, rate in rates.items():
        host.deltas[f"process.{name}"], host.delta_s[f"process.{name}"] = 10 * rate, 10.0
    return host


def test_whose_sessions_used_the_cores() -> None:
    seen = looks(*[{"running": 3.0, "client": 7.0}] * 20, core=0.5)
    seen.deltas["others_core_s"], seen.deltas["others_counted_s"] = 2.0, 10.0
    host = a_host(cpu_user_s=0.6, cpu_sys_s=0.4)
    found = account_of(a_load(), [seen], [THREADS], [host])
    assert found is not None
    assert found.cores is not None
    assert found.cores.own == pytest.approx(0.3)
    assert (found.cores.users, found.cores.others) == (0.5, 0.2)
    assert cores_of([seen, seen], [host, host]).own == pytest.approx(0.6)
    assert cores_of([seen, seen], [host, None]).own is None
    assert found.disks is None  # nobody counted bytes


def test_whose_sessions_moved_bytes_from_and_to_disks() -> None:
    seen = looks(*[{"running": 3.0, "client": 7.0}] * 20)
    # Bytes are counted less often than times, and over other seconds.
    seen.deltas |= {"read_bytes": 80.0, "written_bytes": 16.0, "bytes_counted_s": 8.0}
    seen.deltas |= {"others_written_bytes": 500.0, "others_bytes_counted_s": 5.0}
    found = account_of(a_load(), [seen], [THREADS], [a_host(read_bytes=11.0, written_bytes=150.0)])
    assert found is not None
    assert found.disks == Disks(
        users=DiskBytes(read=10.0, written=2.0),
        others=DiskBytes(read=0.0, written=100.0),
        own=DiskBytes(read=1.0, written=48.0),
    )
    unknown = disks_of([seen], [a_host(cpu_user_s=1.0)])
    assert unknown is not None
    assert unknown.own is None


def test_what_sessions_have_for_themselves_is_a_mean_over_moments() -> None:
    seen = looks(*[{"running": 3.0, "client": 7.0}] * 20)
    seen.deltas |= {"memory_looks": 4.0, "memory_sessions": 40.0, "memory_bytes": 80e6}
    seen.deltas |= {"page_table_bytes": 8e6}
    found = account_of(a_load(), [seen], [THREADS])
    assert found is not None and found.memory is not None
    users = MemoryOf(sessions=10.0, each=2e6, page_tables=2e5)
    assert found.memory == Memory(users=users, others=None)
    assert found.memory.users.total == 20e6
    seen.deltas |= {"others_memory_looks": 2.0, "others_memory_sessions": 2.0}
    seen.deltas |= {"others_memory_bytes": 6e6}
    both = memory_of([seen, seen])
    # Of two servers all sessions are counted, and each has as much as before.
    assert both is not None
    assert both.users == users.model_copy(update={"sessions": 20.0})
    assert both.others == MemoryOf(sessions=2.0, each=3e6, page_tables=0.0)
    assert memory_of([looks()]) is None


def test_round_trips_are_means_over_the_looks_that_measured_them() -> None:
    seen = looks(*[{"running": 3.0, "client": 7.0}] * 20)
    found = account_of(a_load(), [seen], [THREADS])
    assert found is not None and found.trips is None
    seen.deltas |= {"trip_s": 0.5, "least_trip_s": 0.001, "trip_looks": 10.0}
    both = account_of(a_load(), [seen, looks({"client": 5.0})], [THREADS, THREADS])
    assert both is not None and both.trips == Trips(usual=0.05, least=0.0001)


def test_without_looks_there_is_no_account() -> None:
    assert account_of(a_load(), [looks()], [THREADS]) is None
