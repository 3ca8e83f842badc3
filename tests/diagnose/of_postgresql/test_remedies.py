"""Remedies that depend on who or what holds the users."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.accounts import an_account
from diagnose.of_postgresql.example_checkpoints import EARLY
from diagnose.of_postgresql.example_work import READ_WHOLE, SCANNED
from diagnose.of_postgresql.figures import a_case, at
from diagnose.of_postgresql.tables import a_table
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.page_reads import by_thirds
from loadstone.diagnosis.rules.postgresql import (
    cold_caches,
    full_pages,
    missing_index,
    page_reads,
    row_locks,
    serialization_failures,
    shared_buffers,
    table_locks,
    unused_indexes,
)
from loadstone.model.hot_spots import HotSpots, IndexOfVersions

PREPARED = {"pg_prepared_xacts.oldest_s": 30.0, "pg_stat_activity.oldest_transaction_s": 29.0}


def test_a_prepared_transaction_is_named_and_not_the_users_that_wait_for_it() -> None:
    for rule, account in (
        (row_locks.RULE, an_account(row_lock=0.5)),
        (table_locks.RULE, an_account(table_lock=0.5)),
    ):
        found = rule.judge(a_case(at(account, means=PREPARED)))
        assert found is not None and "ROLLBACK PREPARED" in (found.remedy or "")
        younger = PREPARED | {"pg_stat_activity.oldest_transaction_s": 60.0}
        other = rule.judge(a_case(at(account, means=younger)))
        assert other is not None and "PREPARED" not in (other.remedy or "")


def test_commits_that_queue_up_to_notify_are_told_to_notify_less() -> None:
    queue = at(an_account(table_lock=0.5), means={"state.Lock:object": 8.0})
    found = table_locks.RULE.judge(a_case(queue))
    assert found is not None and "NOTIFY" in found.sentence
    assert "fewer notifications" in (found.remedy or "")


def test_checkpoints_that_come_by_the_clock_are_told_to_come_later() -> None:
    timed = EARLY.but(
        rates={"pg_stat_bgwriter.checkpoints_timed": 0.03},
        totals={"pg_stat_bgwriter.checkpoints_req": 0.0},
    )
    found = full_pages.RULE.judge(a_case(timed, variables={"checkpoint_timeout": "30s"}))
    usual = full_pages.RULE.judge(a_case(timed))
    assert found is not None and found.trial is not None and usual is not None
    assert found.trial.settings[0].value == "15min"
    assert "checkpoint_timeout=30s" in found.sentence
    # What checkpoints write is theirs as well.
    assert (found.share or 0.0) > (usual.share or 0.0)


def test_pages_that_find_room_are_no_reason_for_more_buffers() -> None:
    reading = an_account(disk_read=0.5, on_core=0.2)
    rates: dict[str, float | None] = {
        "pg_stat_database.target.blks_read": 4000.0,
        "pg_stat_io.client.relation.evictions": 100.0,
        "pg_stat_io.client.relation.reuses": 0.0,
    }
    level = tuple((float(second), 4000.0) for second in range(1, 10))
    events = tuple((float(second), 1000.0) for second in range(1, 10))
    seconds: dict[tuple[Source, str], Series] = {
        ("server", "pg_stat_database.target.blks_read"): level,
        ("load", "tps"): events,
    }
    room = a_case(at(reading, rates=rates), seconds=seconds)
    assert shared_buffers.RULE.judge(room) is None
    found = cold_caches.RULE.judge(room)
    assert found is not None and "found room" in found.sentence
    exchanged = at(reading, rates={**rates, "pg_stat_io.client.relation.evictions": 3900.0})
    full = a_case(exchanged, seconds=seconds)
    assert shared_buffers.RULE.judge(full) is not None
    assert cold_caches.RULE.judge(full) is None


def test_a_reading_right_after_the_load_s_end_is_no_second_without_reads() -> None:
    ten = range(1, 11)
    reads = (*((float(second), 4000.0) for second in ten), (10.02, 3.0))
    events = tuple((float(second), 1000.0) for second in ten)
    assert by_thirds(reads, events) == (4.0, 4.0)


def test_planner_statistics_that_are_missing_or_old_are_named_with_the_scan() -> None:
    def said(*, analyzed: bool, changed: int = 0, live: int = 50_000) -> str:
        about: dict[str, Any] = {"analyzed": analyzed, "changed_since_analyze": changed}
        table = a_table(scanned=90_000_000, live=live, dead=0, **about)
        spots = HotSpots(versions=(table,))
        found = missing_index.RULE.judge(
            a_case(at(rates=SCANNED, step={**READ_WHOLE, "hot_spots": spots}))
        )
        assert found is not None
        return found.sentence

    assert "was never analyzed" in said(analyzed=False)
    assert "30,000 rows were changed since" in said(analyzed=True, changed=30_000)
    assert "ANALYZE" not in said(analyzed=True, changed=5_000)
    # A standby counts no rows.
    assert "ANALYZE" not in said(analyzed=True, live=0)


def test_pages_that_sessions_read_are_counted_by_bytes_where_a_read_may_be_of_several() -> None:
    rates: dict[str, float | None] = {
        "pg_stat_database.target.blks_read": 4000.0,
        "pg_stat_io.client.relation.reads": 100.0,
    }
    assert page_reads.reads(a_case(at(rates=rates))) == 100.0
    rates["pg_stat_io.client.relation.read_bytes"] = 1600.0 * 8192
    assert page_reads.reads(a_case(at(rates=rates))) == 1600.0


def test_an_index_that_is_asked_and_finds_nothing_is_in_use() -> None:
    index = IndexOfVersions(index="child_parent", columns=("parent",), entries=0, fetched=0)
    asked = index.model_copy(update={"scans": 20})
    partial = index.model_copy(update={"of_each_row": False})
    table = a_table(indexes=(index, asked, partial))
    assert unused_indexes.unread(table) == [index]


@pytest.mark.parametrize("name", ["SLRURead", "SlruRead"])
def test_reads_about_transactions_are_not_those_of_tables(name: str) -> None:
    reading = an_account(disk_read=0.5, on_core=0.2)
    states = {"state.IO:DataFileRead": 1.0, f"state.IO:{name}": 7.0}
    read = {"pg_stat_database.target.blks_read": 4000.0}
    many = {"pg_stat_database.target.blks_read": 400_000.0}
    found = [
        shared_buffers.RULE.judge(a_case(at(reading, rates=read, totals=many, means=means)))
        for means in ({}, states)
    ]
    shares = [one.share or 0.0 for one in found if one]
    assert len(shares) == 2 and shares[1] < 0.3 * shares[0]


def test_what_cannot_be_serialized_is_undone_by_the_isolation_that_was_set() -> None:
    failing = at(step={"errors": {"40001": 5000}, "restarts": 5000})
    by_server = serialization_failures.RULE.judge(
        a_case(failing, variables={"default_transaction_isolation": "serializable"})
    )
    assert by_server is not None and by_server.trial is not None
    assert by_server.trial.kind == "dynamic"
    assert by_server.trial.settings[0].value == "read committed"
    first = diagnosis_of(
        a_case(failing, variables={"default_transaction_isolation": "serializable"})
    ).findings[0]
    assert first.cause == "serialization-failures"
    assert first.foretold is not None and first.foretold.tps > 1.2 * (first.foretold.now or 0.0)
