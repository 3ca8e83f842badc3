"""Whose the time is that PostgreSQL's commits wait: a sync's, a delay's, or that of other locks."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account, by_place, named, statements
from diagnose.healthy import Made
from diagnose.of_postgresql.example_group_commit import synced
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.context import Missing
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.rules.postgresql import commit_delay, commit_flush, deadlocks, group_commit

DELAYED = an_account(commit_delay=0.05, log_sync=0.01, commit=0.9, on_core=0.04)
SET = {"commit_delay": "10000"}


def test_a_delay_has_its_part_of_the_wait_for_the_group_and_syncs_have_the_rest() -> None:
    found = diagnosis_of(a_case(at(DELAYED), variables=SET))
    assert found.findings[0].cause == "commit-delay"
    claims = by_place(found.findings[0])
    assert claims == pytest.approx({"commit delay": 0.05, "commit": 0.9 * 0.05 / 0.06})
    # What is left of it is no reason to accuse the disk.
    assert "commit-flush" not in [one.cause for one in found.findings]


def test_where_no_thread_is_seen_the_sleeps_follow_from_the_syncs() -> None:
    account = an_account("sessions", log_sync=0.01, commit=0.8, in_the_server=0.15)
    figures = at(account, rates={"pg_stat_wal.wal_sync": 80.0})
    found = commit_delay.RULE.judge(a_case(figures, variables=SET))
    assert found is not None
    asleep = 80.0 * 0.01 / 16
    assert found.share == pytest.approx(asleep + 0.8 * asleep / (asleep + 0.01))
    alone = a_case(figures, variables=SET | {"commit_siblings": "20"})
    assert commit_delay.RULE.judge(alone) is None


def _written(users: int, tps: float, writes: float) -> Made:
    uncounted = {"log_syncs_per_s": 0.0, "transactions_per_sync": None}
    rates = {"log_writes": writes, "log_syncs": 0.0, "pg_stat_wal.wal_sync": 0.0}
    made = synced(users, tps, writes, "wal_write")
    return made.but(rates=rates, server_figures=uncounted)


def test_a_write_that_returns_once_it_is_on_disk_is_a_sync() -> None:
    """With open_datasync the server counts no syncs."""
    ladder = [_written(4, 500.0, 480.0), _written(80, 2100.0, 200.0)]
    assert group_commit.RULE.judge(a_case(*ladder)) is None
    found = group_commit.RULE.judge(a_case(*ladder, variables={"wal_sync_method": "open_datasync"}))
    assert found is not None
    assert "One sync carries 10.5 transactions instead of 1.04" in found.sentence
    assert str(found.evidence[-1].counter) == "pg_stat_wal.wal_write"


def test_a_quick_sync_that_many_share_is_a_note() -> None:
    figures = at(
        an_account(log_sync=0.03, commit=0.55, on_core=0.1),
        host_rates={"disk.vda.flushes": 600.0, "disk.vda.flush_s": 0.1},
    )
    found = commit_flush.RULE.judge(a_case(figures))
    assert found is not None
    assert found.group == "note"
    assert found.trial is not None
    assert found.trial.risks_commits


def test_rows_that_stay_locked_while_a_commit_waits_count_with_the_commit() -> None:
    account = an_account(log_sync=0.3, commit=0.3, row_lock=0.2, on_core=0.1)
    slow = {"disk.vda.flushes": 20.0, "disk.vda.flush_s": 0.6}
    timed = statements(write=(4.8, 10_000), other=(9.8, 10_000))
    found = diagnosis_of(a_case(at(account, host_rates=slow, step={"statements": timed})))
    assert found.findings[0].cause == "commit-flush"
    waits = by_place(found.findings[0])["row lock"]
    assert waits > 0.05
    assert named(found, "row-locks").share == pytest.approx(0.2 - waits)


def test_who_waits_behind_deadlocks_waits_until_they_are_found() -> None:
    """Real figures: with a deadlock_timeout of 50 ms, not 500, the rate was five times as high."""
    account = an_account(
        generator=0.038, on_core=0.012, waiting_for_a_core=0.021, row_lock=0.917, commit=0.012
    )
    timed = statements(write=(20.3, 7500), other=(0.5, 3750))
    figures = at(
        account, tps=375.0, rates={"pg_stat_database.deadlocks": 4.0}, step={"statements": timed}
    )
    case = a_case(figures, variables={"deadlock_timeout": "500ms"})
    found = diagnosis_of(case)
    assert found.findings[0].cause == "deadlocks"
    (claimed,) = by_place(found.findings[0]).values()
    assert 0.6 < claimed < 0.9
    assert by_place(named(found, "row-locks")) == pytest.approx({"row lock": 0.917 - claimed})


def test_of_deadlocks_alone_no_more_is_known_than_their_own_waits() -> None:
    account = an_account(row_lock=0.4, on_core=0.2)
    figures = at(account, rates={"pg_stat_database.deadlocks": 1.6})
    found = diagnosis_of(a_case(figures))
    assert by_place(named(found, "deadlocks")) == pytest.approx({"row lock": 2 * 1.6 / 16})
    soon = deadlocks.RULE.judge(a_case(figures, variables={"deadlock_timeout": "60ms"}))
    assert soon is not None
    assert soon.trial is None


def test_without_the_right_to_see_sessions_nothing_is_said_of_their_waits() -> None:
    hidden = {"not_evaluated": {"connection_states": "the user lacks the right"}}
    with pytest.raises(Missing):
        commit_flush.RULE.judge(a_case(Figures(step={"account": None}, server_figures=hidden)))
