"""What pgbench does after errors, and how many events each client has: the engine on a server."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import Document, Outcome, events, seconds
from postgres.server import Server
from postgres.test_pgbench import run, scripted

pytestmark = [pytest.mark.server, pytest.mark.slow]

CONFLICT = "DO $$BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END$$;"
"""A statement that always fails as a serializable transaction may."""


def of_each(number: int, duration_s: float = 20.0) -> Document:
    return events(number, duration_s) | {"of_each_user": True}


def events_by_user(step: Outcome) -> Counter[int]:
    found: Counter[int] = Counter()
    for sample in step.samples:
        for share in sample.per_user:
            found[share.number] += share.events
    return found


@pytest.mark.parametrize("arrival", [{"kind": "closed"}, {"kind": "open", "rate": 2000}])
@pytest.mark.parametrize("shards", [1, 3])
def test_each_user_has_as_many_events(
    server: Server, database: str, arrival: Document, shards: int
) -> None:
    load = scripted("SELECT 1;")
    step = run(
        server, database, load, stop=of_each(25), per_user=True, arrival=arrival, shards=shards
    )
    assert events_by_user(step) == dict.fromkeys(range(4), 25)
    assert (step.last.tally.due, step.last.tally.skipped) == (100, 0)


def test_an_error_ends_its_user_and_no_other(server: Server, database: str) -> None:
    load = scripted("\\if :client_id = 2\n\\sleep 1 ms\nSELECT 1 / 0;\n\\endif\nSELECT 1;")
    step = run(server, database, load, on_error="end_user", stop=of_each(5), per_user=True)
    assert events_by_user(step) == {0: 5, 1: 5, 3: 5}
    assert step.total().failed == 1
    [ended] = step.ended
    assert (ended.user, ended.command, ended.code) == (2, 2, "22012")
    assert ended.message == "division by zero"


def test_a_step_ends_with_its_last_user(server: Server, database: str) -> None:
    load = scripted("SELECT pg_terminate_backend(pg_backend_pid());")
    step = run(server, database, load, on_error="end_user", stop=seconds(60))
    ended = {each.user: each.code for each in step.ended}
    assert ended == dict.fromkeys(range(4), "57P01")
    assert (step.total().failed, step.outages) == (4, [])
    assert step.last.seconds < 30


def test_an_expression_without_a_value_ends_its_user(server: Server, database: str) -> None:
    load = scripted("SELECT 1;\n\\set a 1 / (:client_id - 1)")
    step = run(server, database, load, on_error="end_user", stop=of_each(3))
    [ended] = step.ended
    assert (ended.user, ended.command, ended.code) == (1, 1, "02000")
    assert "division by zero" in ended.message


def test_an_event_fails_after_its_last_try(server: Server, database: str) -> None:
    step = run(
        server, database, scripted(CONFLICT), on_error="end_user", max_tries=3, stop=of_each(5)
    )
    counts = step.total()
    assert (counts.failed, counts.restarts, counts.retried, counts.events) == (20, 40, 20, 0)
    assert step.errors() == {"40001": 60}
    assert not step.ended


def test_an_event_is_tried_for_as_long_as_the_plan_says(server: Server, database: str) -> None:
    load = scripted(f"\\sleep 30 ms\n{CONFLICT}")
    step = run(server, database, load, tries_within_s=0.1, stop=of_each(1))
    counts = step.total()
    assert counts.failed == 4
    # A try takes 30 ms at least, so the fourth begins no earlier than at 90 ms and is the last.
    assert 0 <= counts.restarts <= 4 * 3


def test_nothing_is_tried_again_after_the_window(server: Server, database: str) -> None:
    load = scripted(f"\\sleep 5 ms\n{CONFLICT}")
    step = run(server, database, load, max_tries=1_000_000, stop=seconds(2))
    counts = step.total()
    assert (counts.failed, counts.retried, counts.events) == (4, 4, 0)
    assert step.last.tally.in_flight == 0


@pytest.mark.parametrize("restart_on", [["02000"], []])
def test_an_event_that_fails_before_its_first_statement_does_so_in_turns_of_the_loop(
    server: Server, database: str, restart_on: list[str]
) -> None:
    load = scripted("\\set a 1 / 0\nSELECT 1;")
    step = run(
        server, database, load, on_error="restart" if restart_on else "continue",
        restart_on=restart_on, max_tries=100_000, stop=seconds(0.5),
    )  # fmt: skip
    counts = step.total()
    # Each of them within another would be too much for any stack.
    assert counts.restarts + counts.failed > 1000
    assert step.errors() == {"02000": counts.restarts + counts.failed}


def test_deadlocks_are_retried_and_counted(server: Server, database: str) -> None:
    table = "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0)"
    server.asked(f"{table}; GRANT ALL ON t TO PUBLIC", database)
    script = (
        "BEGIN;\nUPDATE t SET v = v + 1 WHERE id = 1 + :client_id % 2;\n\\sleep 3 ms\n"
        "UPDATE t SET v = v + 1 WHERE id = 2 - :client_id % 2;\nEND;"
    )
    step = run(server, database, scripted(script), max_tries=2, stop=of_each(10))
    [[first], [second]] = server.asked("SELECT v FROM t ORDER BY id", database)
    counts = step.total()
    assert counts.events + counts.failed == 40
    assert counts.retried >= counts.failed
    assert step.errors()["40P01"] == counts.restarts + counts.failed > 0
    assert int(first) == int(second) == counts.events


def test_an_event_that_would_start_too_late_is_skipped(server: Server, database: str) -> None:
    arrival = {"kind": "open", "rate": 200, "gaps": "uniform", "latest_start_s": 0.02}
    load = scripted("\\sleep 50 ms\nSELECT 1;")
    step = run(server, database, load, users=1, arrival=arrival, stop=of_each(100))
    tally = step.last.tally
    assert tally.due == 100
    assert tally.skipped > 50
    assert tally.succeeded + tally.skipped == 100
    late = step.latency()["late"]
    assert late.max is not None
    # The loop itself may be late by what the machine makes it wait.
    assert late.p50 <= 20_000_000 + 1_000_000


def test_users_whose_waiting_events_are_all_too_late_wait_for_the_next_ones(
    server: Server, database: str
) -> None:
    # No loop starts an event within a nanosecond after it is due.
    arrival = {"kind": "open", "rate": 500, "latest_start_s": 1e-9}
    step = run(server, database, scripted("SELECT 1;"), arrival=arrival, stop=of_each(25, 60.0))
    assert (step.last.tally.due, step.last.tally.skipped) == (100, 100)
    assert step.total("window").skipped == 100
    assert step.last.seconds < 30
