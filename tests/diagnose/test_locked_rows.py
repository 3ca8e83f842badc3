"""Waits for rows count with what keeps the rows locked, as far as that is known."""

from __future__ import annotations

import random

import pytest

from diagnose.accounts import an_account, an_entry, by_place, diagnosed, first, named, statements
from diagnose.examples import FULL, IDLE
from diagnose.healthy import Made, a_case
from loadstone.analyse.closed_loops import closed_loop
from loadstone.analyse.closed_systems import Remedy
from loadstone.analyse.foretelling import foretell
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.locked_rows import Hold, due_to, hold_of
from loadstone.model.account import Account, Place
from loadstone.model.result import LatencyMs


def hot(tps: float, in_statements: float, **more: object) -> Made:
    """16 users that change one row, each change a transaction, that are so long in statements.

    `in_statements`: share of their time.
    """
    mean_ms = 1000 * 16 * in_statements / tps
    return Made(
        tps=tps, mean_ms=mean_ms, host=IDLE,
        rates={"row_lock_time_s": 0.9 * 16, "row_lock_waits": tps, "log_syncs": tps},
        means={"state.commit": 0.5},
        step={"statements": statements(write=(mean_ms, round(10 * tps))), **more},
    )  # fmt: skip


def slow_sync() -> Account:
    return an_account(row_lock=0.9, log_sync=0.06, on_core=0.005, way=0.01, generator=0.005)


def held(made: Made, account: Account) -> Hold:
    found = hold_of(a_case(made.but(step={"account": account})))
    assert found is not None
    return found


def test_a_slow_sync_holds_the_waits_for_rows_that_it_keeps_locked() -> None:
    """32 ms a commit: one user is in it, the others wait for the row."""
    found = diagnosed(hot(30.0, 0.975), slow_sync())
    assert first(found, 2) == ["commit-flush", "row-locks"]
    flush, rows = found.findings[:2]
    # Of the time for which a row is locked, 0.06 / 0.08 is the sync.
    assert by_place(flush) == {"log sync": 0.06, "row lock": pytest.approx(0.9 * 0.75, abs=0.01)}
    assert by_place(rows) == {"row lock": pytest.approx(0.9 * 0.25, abs=0.01)}
    assert flush.share == pytest.approx(0.735, abs=0.01)
    assert "users wait for rows for 68 % of their time because of that" in flush.sentence
    said = (
        "68 % of the users' time counts with what keeps the rows locked for longer: commit-flush."
    )
    assert said in rows.sentence


def test_hot_rows_on_a_quick_disk_are_the_rows_fault() -> None:
    """0.8 ms a commit, of which half is the sync: what a durable commit takes."""
    account = an_account(row_lock=0.9, log_sync=0.025, on_core=0.03, way=0.02, generator=0.01)
    found = diagnosed(hot(1000.0, 0.985), account)
    assert first(found) == ["row-locks"]
    assert "commit-flush" not in [one.cause for one in found.findings]
    assert by_place(found.findings[0]) == {"row lock": 0.9}
    assert "counts with" not in found.findings[0].sentence


def test_rows_that_somebody_else_keeps_are_not_due_to_the_load_s_own_commits() -> None:
    """Another session has the row for 33 ms each time; the load itself for one."""
    account = an_account(row_lock=0.985, log_sync=0.001, on_core=0.001, way=0.0008)
    made = hot(30.0, 0.99)
    assert held(made, account).waits < 0.1
    assert first(diagnosed(made, account)) == ["row-locks"]
    assert held(made.but(users=1, tps=30.0), account.model_copy(update={"users": 1})).waits == 0.0


def test_neighbours_have_no_part_of_the_waits_for_rows() -> None:
    """The figures of a real run on a busy host: 36 users, five rows, others on its cores."""
    made = Made(
        users=36, tps=612.0, mean_ms=58.0, rates={"row_lock_time_s": 0.9 * 36},
        host=FULL | {"process_cpu_user": 0.3, "process_cpu_sys": 0.2},
        step={"statements": statements(write=(59.5, 1838)), "seconds": 3.0},
    )  # fmt: skip
    account = an_account(
        row_lock=0.898, waiting_for_a_core=0.042, on_core=0.007, log_sync=0.003, commit=0.019,
        answer_unread=0.005, generator=0.001,
    ).model_copy(update={"users": 36})  # fmt: skip
    found = diagnosed(made, account)
    assert first(found, 2) == ["row-locks", "noisy-neighbour"]
    assert by_place(found.findings[0])["row lock"] >= 0.89
    assert "row lock" not in by_place(found.findings[1])


def test_a_delay_that_was_set_is_named_before_the_rows_that_it_keeps_locked() -> None:
    account = an_account(row_lock=0.9, commit_delay=0.06, on_core=0.01, way=0.01)
    made = hot(96.0, 0.98).but(means={"state.commit": 0.96})
    on: dict[str, str | None] = {
        "binlog_commit_wait_count": "1000",
        "binlog_commit_wait_usec": "10000",
    }
    found = diagnosed(made, account, variables=on)
    assert first(found, 2) == ["commit-delay", "row-locks"]
    # The delay is 10 of 12.5 ms that a row is locked.
    assert by_place(found.findings[0])["row lock"] == pytest.approx(0.9 * 0.75, abs=0.02)


def test_a_replica_is_named_before_the_rows_that_wait_for_its_answer() -> None:
    account = an_account(row_lock=0.9, replica=0.06, on_core=0.01, way=0.01)
    made = hot(96.0, 0.98).but(rates={"semi_sync_wait_s": 0.96})
    found = diagnosed(made, account, variables={"rpl_semi_sync_master_enabled": "ON"})
    assert first(found, 2) == ["semi-sync-wait", "row-locks"]
    assert named(found, "semi-sync-wait").share == pytest.approx(0.735, abs=0.02)


def test_a_way_that_is_far_is_named_before_the_rows_that_stay_locked_on_it() -> None:
    """BEGIN, an update and a COMMIT of 20 ms each."""
    account = an_account(row_lock=0.84, way=0.12, log_sync=0.005, on_core=0.005, generator=0.03)
    timed = statements(write=(20 + 420.0, 320), other=(21.0, 640))
    fastest = {name: each.model_copy(update={"min": 20.0}) for name, each in timed.items()}
    made = hot(32.0, 0.97, qps=96.0).but(step={"statements": fastest})
    found = diagnosed(made, account)
    assert first(found, 2) == ["far-away", "row-locks"]
    assert by_place(found.findings[0])["row lock"] > 0.5


def test_a_flight_is_one_way_however_many_statements_it_has() -> None:
    """Ten statements of an event in 205 ms: on the way one by one, or all at once."""
    account = an_account(way=0.97, on_core=0.02, generator=0.01)
    causes = []
    for flights in ({}, {"flight": (204.0, 640)}):
        timed = statements(write=(20.2, 3200), other=(20.2, 3200), **flights)
        fastest = {name: each.model_copy(update={"min": 20.0}) for name, each in timed.items()}
        made = hot(64.0, 0.82, qps=640.0).but(step={"statements": fastest, "events": 640})
        causes.append([one.cause for one in diagnosed(made, account).findings])
    assert ["far-away" in found for found in causes] == [True, False], causes


def test_times_that_overlap_say_nothing_of_who_keeps_rows() -> None:
    timed = statements(write=(320.0, 480), other=(330.0, 960), flight=(330.0, 480))
    made = hot(48.0, 0.98)
    for known, is_known in ((timed, False), ({**timed, "flight": None}, True)):
        kept = {name: each for name, each in known.items() if each}
        case = a_case(made.but(step={"account": slow_sync(), "statements": kept}))
        assert (hold_of(case) is not None) == is_known


def test_reads_before_the_first_write_keep_no_rows_locked() -> None:
    """Ten reads of 3 ms, a write of 1 ms without its wait, and a COMMIT of 10 ms."""
    account = an_account(row_lock=0.5, log_sync=0.1, on_core=0.32, generator=0.08)
    # 100 events a second of 160 ms; users / events = 160 ms.
    timed = statements(read=(4.8, 10_000), write=(82.0, 1000), other=(9.0, 2000))
    made = hot(100.0, 0.92).but(step={"statements": timed, "qps": 1300.0})
    found = held(made, account)
    # Of the work, that of the write (2 ms of 52) and of one of two other statements (1 ms).
    assert found.places["on core"] == pytest.approx(0.32 * 3 / 52, abs=0.002)
    assert found.places["generator"] == pytest.approx(0.08 * 2 / 13, abs=0.001)
    assert found.places["log sync"] == pytest.approx(0.1)


def test_reads_that_wait_for_rows_lock_rows() -> None:
    account = an_account(row_lock=0.7, log_sync=0.1, on_core=0.2)
    timed = statements(read=(120.0, 1000), write=(16.0, 1000), other=(8.0, 2000))
    found = held(hot(100.0, 0.95).but(step={"statements": timed}), account)
    assert found.places["on core"] > 0.15


@pytest.mark.parametrize(
    "timed", [{}, {"read": statements(read=(1.0, 10))["read"]}, {"write": None}], ids=len
)
def test_without_times_of_writes_nothing_is_said_of_who_keeps_rows(
    timed: dict[str, LatencyMs | None],
) -> None:
    known = {
        name: each or statements(write=(1.0, 10))["write"].model_copy(update={"mean": None})
        for name, each in timed.items()
    }
    made = hot(30.0, 0.975).but(step={"account": slow_sync()})
    case = a_case(made)
    step = case.step.model_copy(update={"statements": known})
    assert hold_of(case.at(step)) is None
    assert due_to(case.at(step), "log sync") == 0.0


def test_what_is_predicted_without_a_sync_counts_shorter_locks_once() -> None:
    """The waits for rows become shorter because the sync is gone; they are not removed as well."""
    account = slow_sync()
    made = hot(30.0, 0.975).but(step={"account": account})
    case = a_case(made)
    flush = named(diagnosis_of(case), "commit-flush")
    loop = closed_loop(case.step, None)
    assert loop is not None
    assert flush.foretold == foretell(loop, Remedy({"log sync": 0.06}))


@pytest.mark.parametrize("seed", range(30))
def test_claims_of_rows_never_come_to_more_than_their_entry(seed: int) -> None:
    draw = random.Random(seed)
    places: tuple[Place, ...] = ("row lock", "log sync", "replica", "disk read", "way", "on core")
    entries = {place: draw.random() / len(places) for place in places}
    account = an_account(unnamed=0.0).model_copy(
        update={"entries": tuple(map(an_entry, entries, entries.values()))}
    )
    made = hot(10 ** draw.uniform(0, 3), 0.9).but(
        rates={"semi_sync_wait_s": 16 * entries["replica"], "buffer_pool_reads": 2000.0}
    )
    found = diagnosed(made, account, variables={"rpl_semi_sync_master_enabled": "ON"})
    total: dict[str, float] = {}
    for finding in found.findings:
        for place, share in by_place(finding).items():
            total[place] = total.get(place, 0.0) + share
    for entry in account.entries:
        assert total.get(entry.place, 0.0) <= entry.share + 1e-5
