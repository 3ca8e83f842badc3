"""What a step does only if its plan asks for it: counts by user, other restarts, a longer drain."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.conftest import on_mariadb
from engine.driving import (
    a_plan,
    drive,
    events,
    local,
    seconds,
    workload,
)
from engine.servers import execute
from loadstone import engine
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server


@on_mariadb
@pytest.mark.parametrize("shards", [1, 2])
def test_each_user_is_counted_apart(quiet: Sandbox, shards: int) -> None:
    plan = a_plan(local(quiet), users=5, stop=events(203), shards=shards)
    outcome = drive(plan | {"per_user": True}).finished()
    done, busy_ns = Counter[int](), 0
    for sample in outcome.samples:
        for user in sample.per_user:
            done[user.number] += user.events
            busy_ns += user.busy_ns
            assert 0 < user.min_ns <= user.busy_ns / user.events <= user.max_ns <= user.busy_ns
    assert set(done) <= set(range(5))
    assert done.total() == outcome.total().events == 203
    responses = [sample.latency_ns.response for sample in outcome.samples]
    assert busy_ns == pytest.approx(sum(r.count * (r.mean or 0.0) for r in responses), rel=1e-6)


@on_mariadb
def test_nobody_is_counted_apart_unasked(quiet: Sandbox) -> None:
    outcome = drive(a_plan(local(quiet), stop=events(5))).finished()
    assert all(sample.per_user == () for sample in outcome.samples)


def test_any_error_can_begin_the_event_anew(shared: Sandbox, schema: str) -> None:
    """Every second key exists already, and its event is retried with another one."""
    execute(
        shared,
        "CREATE TABLE sbtest1 (id INT AUTO_INCREMENT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))"
        " AUTO_INCREMENT = 1",
        "INSERT INTO sbtest1 (id) VALUES (1), (2), (3)",
        # The server is made to hand out keys that are taken.
        "CREATE TRIGGER again BEFORE INSERT ON sbtest1 FOR EACH ROW SET NEW.id ="
        " IF(RAND() < 0.5, 1, NEW.id)",
        database=schema,
    )
    target = local(shared, database=schema)
    plan = a_plan(target, workload=workload("oltp_insert", 1, 10), stop=events(40))
    failed = drive(plan)
    assert failed.failure == ("statement_failed", 1062)
    for restart_on in (["1062"], "all"):
        outcome = drive(plan | {"restart_on": restart_on}).finished()
        counts = outcome.total()
        assert (counts.events, counts.failed) == (40, 0)
        assert counts.restarts > 0


def test_events_in_flight_have_the_time_that_the_plan_gives_them(shared: Sandbox) -> None:
    """Each statement of the window waits for a lock that another connection holds."""
    with shared.connect() as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES sbtest1 WRITE, sbtest2 WRITE")
        plan = a_plan(local(shared), stop=seconds(0.3))
        outcome = drive(plan | {"drain_s": 0.5})
    assert outcome.last.tally.in_flight == 1
    # Less than the default of five seconds.
    assert 0.8 <= outcome.last.seconds < 4.5


@on_mariadb
def test_the_values_of_a_latency_log_come_back_with_their_counts(quiet: Sandbox) -> None:
    outcome = drive(a_plan(local(quiet), users=3, stop=events(100))).finished()
    lines = [line for sample in outcome.samples for line in sample.hlog]
    counts = engine.hlog_counts(lines)["step-1/response"]
    merged = engine.merge_hlog(lines)["step-1/response"]
    assert sum(count for _, count in counts) == merged.count == 100
    values = [value for value, _ in counts]
    assert values == sorted(values)
    assert values[0] == pytest.approx(merged.min, rel=1e-3)
    assert values[-1] == merged.max
    middle = values[len(values) // 2]
    at_or_above = sum(count for value, count in counts if value >= middle)
    of_tag = [line for line in lines if line.startswith("Tag=step-1/response,")]
    rows = engine.hlog_rows(of_tag, [0, middle])
    assert [sum(row) for row in zip(*rows, strict=True)] == [100 - at_or_above, at_or_above]
