"""Errors of statements: which restart an event, fail it or end the step, and what they leave."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.driving import (
    Document,
    Driving,
    a_layout,
    a_load,
    a_plan,
    drive,
    events,
    load,
    local,
    seconds,
    session,
    tcp,
    workload,
)
from engine.servers import account, execute, one, rows, variables, wait_until_nobody
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server

CROWD = 32
SOON_S = 25.0
"""Seconds for a step that has to end at once; it would otherwise last a minute."""


@pytest.fixture
def crowded(shared: Sandbox, schema: str) -> Document:
    """A table of 20 rows, on which many users collide."""
    target = tcp(shared, database=schema)
    load(a_load(target, layout=a_layout(1, 20))).finished()
    return target


def meeting(target: Document, **changes: object) -> Document:
    """Users that lock the same rows in different orders."""
    mix = workload("oltp_read_write", 1, 20, point_selects=1, index_updates=4, range_selects=False)
    mix["distribution"] = {"kind": "uniform"}
    plan = a_plan(target, workload=mix, users=CROWD, stop=seconds(1.0), shards=2)
    return plan | changes


def nothing_is_left(sandbox: Sandbox) -> bool:
    wait_until_nobody(sandbox)
    return rows(sandbox, "SELECT * FROM information_schema.innodb_trx") == []


@pytest.mark.parametrize("protocol", ["prepared", "text"])
def test_deadlocks_begin_the_event_anew_and_are_kept_out_of_the_good_ones(
    shared: Sandbox, crowded: Document, protocol: str
) -> None:
    outcome = drive(meeting(crowded, protocol=protocol)).finished()
    counts, tally = outcome.total(), outcome.last.tally
    deadlocks = outcome.errors()["1213"]
    assert deadlocks > 0
    assert 0 < counts.retried <= counts.restarts
    assert counts.restarts == sum(outcome.errors().values())
    assert tally.failed == 0
    assert outcome.errors_said["1213"].message.startswith("Deadlock found")
    assert "sbtest1" in (outcome.errors_said["1213"].statement or "")
    latency = outcome.latency()
    assert latency["error-1213"].count == deadlocks
    assert latency["response"].count == latency["service"].count == counts.events
    assert nothing_is_left(shared)


@pytest.mark.parametrize("sale", [True, False])
def test_rows_are_sold_as_often_as_events_succeed(shared: Sandbox, schema: str, sale: bool) -> None:
    target = tcp(shared, database=schema)
    for kind in ("hot", "products", "orders"):
        load(a_load(target, layout=a_layout(1, 8, kind=kind))).finished()
    plan = a_plan(
        target, workload=workload("hot_row", 1, 8, hot_rows=4, sale=sale, skip_trx=not sale),
        users=CROWD, shards=2,
        stop=seconds(1.0), session=session("SET SESSION innodb_lock_wait_timeout = 1"),
    )  # fmt: skip
    outcome = drive(plan).finished()
    assert nothing_is_left(shared)
    orders = rows(
        shared, "SELECT product, SUM(pieces) FROM hot_order1 GROUP BY 1 ORDER BY 1", schema
    )
    sold = rows(shared, "SELECT product, stock, sold FROM hot_row1 ORDER BY product", schema)
    assert sum(int(row[2]) for row in sold) == outcome.last.tally.succeeded > 0
    assert len({int(row[1] + row[2]) for row in sold}) == 1
    assert [int(row[2]) > 0 for row in sold] == [True] * 4 + [False] * 4
    ordered = {int(row[0]): int(row[1]) for row in orders}
    assert ordered == ({int(row[0]): int(row[2]) for row in sold[:4]} if sale else {})


@pytest.mark.parametrize(
    ("server", "policy", "protocol"),
    [
        ("mariadb", "restart", "prepared"),
        ("mariadb", "continue", "text"),
        pytest.param("mysql", "restart", "text", marks=pytest.mark.mysql),
        pytest.param("mysql", "continue", "prepared", marks=pytest.mark.mysql),
    ],
    indirect=["server"],
)
def test_a_lock_that_is_not_given_is_1205_and_rolled_back(
    shared: Sandbox, crowded: Document, policy: str, protocol: str
) -> None:
    plan = a_plan(
        crowded, workload=workload("oltp_write_only", 1, 20, index_updates=2),
        users=2, stop=seconds(60), on_error=policy, protocol=protocol,
        session=session("SET SESSION innodb_lock_wait_timeout = 1"),
    )  # fmt: skip
    with shared.connect() as holder, holder.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(f"SELECT * FROM {crowded['database']}.sbtest1 FOR UPDATE")
        with Driving(plan) as step:
            step.until(lambda outcome: outcome.errors()["1205"] >= 2)
            cursor.execute("ROLLBACK")
            step.until(lambda outcome: outcome.total().events > 0)
            step.stop()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    counts = outcome.total()
    if policy == "restart":
        assert counts.restarts == sum(outcome.errors().values())
        assert counts.failed == 0
    else:
        assert counts.restarts == 0
        assert counts.failed == sum(outcome.errors().values())
    assert outcome.latency()["error-1205"].min > 0.8e9
    assert nothing_is_left(shared)


class TestPolicies:
    """What a bad statement does, by `on_error`: a table is dropped in the middle of the run."""

    @contextmanager
    def dropped(self, sandbox: Sandbox, target: Document, policy: str) -> Iterator[Driving]:
        """A step of a minute, whose table is dropped after its first second."""
        plan = a_plan(
            target, workload=workload("oltp_read_write", 1, 20), users=4, shards=2,
            stop=seconds(60), on_error=policy,
        )  # fmt: skip
        with Driving(plan) as step:
            step.until(lambda outcome: bool(outcome.samples or outcome.end))
            execute(sandbox, f"DROP TABLE {target['database']}.sbtest1")
            yield step
        assert nothing_is_left(sandbox)

    @pytest.mark.parametrize("policy", ["restart", "stop"])
    def test_the_step_ends_with_the_number_and_the_statement(
        self, shared: Sandbox, crowded: Document, policy: str
    ) -> None:
        with self.dropped(shared, crowded, policy) as step:
            pass
        outcome = step.outcome
        kind, number = outcome.failure
        if policy == "stop" and number == 1213:
            return  # a deadlock came first, which ends such a step too
        assert (kind, number) == ("statement_failed", 1146)
        assert outcome.last.error is not None
        assert "sbtest1" in (outcome.last.error.statement or "")
        assert "doesn't exist" in outcome.last.error.message
        assert outcome.last.seconds < SOON_S
        assert outcome.last.tally.in_flight == 0

    def test_continue_goes_on(self, shared: Sandbox, crowded: Document) -> None:
        with self.dropped(shared, crowded, "continue") as step:
            step.until(lambda outcome: outcome.errors()["1146"] > 100)
            step.stop()
        outcome = step.outcome
        assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
        counts = outcome.total()
        assert counts.failed == sum(outcome.errors().values())
        assert counts.restarts == 0
        tally = outcome.last.tally
        assert tally.started == tally.succeeded + tally.failed

    def test_stop_ends_with_the_first_deadlock(self, shared: Sandbox, crowded: Document) -> None:
        outcome = drive(meeting(crowded, on_error="stop", stop=seconds(60)))
        assert outcome.failure == ("statement_failed", 1213)
        assert outcome.last.seconds < SOON_S
        assert nothing_is_left(shared)


def test_too_few_prepared_statements_are_told_by_number(shared: Sandbox) -> None:
    with variables(shared, max_prepared_stmt_count=5):
        plan = a_plan(tcp(shared), workload=workload("oltp_read_write"), users=4)
        outcome = drive(plan | {"stop": seconds(60)})
    assert outcome.failure == ("statement_failed", 1461)
    assert outcome.last.error is not None
    assert "max_prepared_stmt_count" in outcome.last.error.message
    assert outcome.last.seconds < SOON_S


def test_a_missing_table_ends_the_step_at_once(shared: Sandbox) -> None:
    plan = a_plan(tcp(shared), workload=workload("oltp_point_select", 99), stop=seconds(60))
    outcome = drive(plan)
    assert outcome.failure == ("statement_failed", 1146)
    assert outcome.last.seconds < SOON_S


def test_a_user_who_may_not_write_fails_by_the_statement_and_not_by_the_login(
    shared: Sandbox,
) -> None:
    target = tcp(shared) | {"user": "reader", "password": ""}
    with account(shared, "reader", may=f"SELECT ON {target['database']}.*"):
        drive(a_plan(target, stop=events(3))).finished()
        outcome = drive(a_plan(target, workload=workload("oltp_update_index")))
    assert outcome.failure == ("statement_failed", 1142)
    assert nothing_is_left(shared)


def test_transactions_in_flight_at_the_end_are_finished_not_cut(
    shared: Sandbox, crowded: Document
) -> None:
    with Driving(meeting(crowded, stop=seconds(30))) as step:
        step.until_connected()
        time.sleep(0.4)
        step.stop()
    tally = step.outcome.last.tally
    assert (tally.in_flight, tally.failed) == (0, 0)
    assert step.outcome.total("drain").events > 0
    assert nothing_is_left(shared)
    assert one(shared, "SELECT COUNT(*) FROM sbtest1", str(local(shared)["database"])) > 0
