"""What a ledger's users have acknowledged, and how long they wait while connections are cut."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from engine.between import Between
from engine.conftest import on_mariadb
from engine.driving import (
    Document,
    Driving,
    Outcome,
    a_layout,
    a_load,
    a_plan,
    load,
    local,
    seconds,
    tcp,
)
from engine.servers import stopped
from loadstone.sandbox import Sandbox
from pooled import Pool

pytestmark = pytest.mark.server

USERS = 8
EVERYBODY = set(range(USERS))
BOOK = 4711


def a_ledger(target: Document, **changes: object) -> Document:
    workload = {"name": "ledger", "tables": 2, "table_size": 1, "book": BOOK}
    known = {"users": USERS, "workload": workload, "on_error": "continue", "shards": 2}
    more = {"pauses_s": 1.0, "drain_s": 5.0}
    connect = {"at_once": 64, "timeout_s": 5.0, "retries": 3, "backoff_s": 0.02}
    return a_plan(target, connect=connect | {"longest_backoff_s": 0.05}) | known | more | changes


@pytest.fixture
def sandbox(server: str, pool: Pool) -> Iterator[Sandbox]:
    """A schema with the tables of a ledger."""
    with pool.schema(server) as own:
        load(a_load(local(own), layout=a_layout(tables=2, kind="ledger"))).finished()
        yield own


def told(outcome: Outcome) -> tuple[Counter[int], set[tuple[int, int]]]:
    """For each user the number up to which its entries are settled, and all entries in doubt."""
    settled: Counter[int] = Counter()
    doubts: set[tuple[int, int]] = set()
    for sample in outcome.samples:
        for user, last, in_doubt in sample.ledger:
            assert last >= settled[user]
            settled[user] = last
            assert doubts.isdisjoint((user, number) for number in in_doubt)
            doubts |= {(user, number) for number in in_doubt}
    return settled, doubts


def paused(outcome: Outcome, longer_s: float = 0.0) -> set[int]:
    """Users that had a pause longer than this, and have resumed."""
    pauses = (pause for sample in outcome.samples for pause in sample.pauses)
    return {each.user for each in pauses if each.to_s and each.to_s - each.from_s > longer_s}


def there(sandbox: Sandbox) -> Counter[tuple[int, int]]:
    """How often each entry of the book is in the tables."""
    found: Counter[tuple[int, int]] = Counter()
    with sandbox.connect() as connection, connection.cursor() as cursor:
        for table in (1, 2):
            cursor.execute(f"SELECT user_no, seq FROM drill_ledger{table} WHERE book = {BOOK}")
            found.update(cursor.fetchall())
    return found


def test_what_was_acknowledged_is_there_once_however_often_the_way_is_cut(sandbox: Sandbox) -> None:
    with Between(sandbox.port) as between:
        target = tcp(sandbox) | {"port": between.port}
        with Driving(a_ledger(target, stop=seconds(60))) as step:
            step.until_connected()
            for _ in range(10):
                step.listen(0.2)
                between.cut()
            step.until(lambda outcome: paused(outcome) == EVERYBODY)  # each lost its connection
            step.stop()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    settled, doubts = told(outcome)
    rows = there(sandbox)
    assert set(rows.values()) == {1}
    acknowledged = {
        (user, number) for user in settled for number in range(1, settled[user] + 1)
    } - doubts
    assert acknowledged <= set(rows), "an acknowledged entry is lost"
    assert set(rows) <= acknowledged | doubts, "an entry is there that was refused"
    assert len(acknowledged) == outcome.last.tally.succeeded
    lost = outcome.errors()["2013"]
    assert len(doubts) <= lost
    assert lost > 0


@on_mariadb
def test_a_pause_is_as_long_as_the_door_is_shut(sandbox: Sandbox) -> None:
    with Between(sandbox.port) as between:
        target = tcp(sandbox) | {"port": between.port}
        with Driving(a_ledger(target, stop=seconds(60))) as step:
            step.until_connected()
            step.until(lambda outcome: outcome.total().events > 0)
            between.shut = True
            between.cut()
            step.listen(1.5)
            between.shut = False
            step.until(lambda outcome: paused(outcome, 1.4) == EVERYBODY)
            step.stop()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    for sample in outcome.samples:
        # A pause is reported in the interval in which it ends.
        for pause in sample.pauses:
            assert pause.to_s is not None
            assert sample.from_s <= pause.to_s <= sample.to_s


@on_mariadb
def test_a_stall_is_a_pause_of_all_although_no_connection_was_lost(sandbox: Sandbox) -> None:
    with Driving(a_ledger(tcp(sandbox), stop=seconds(60))) as step:
        step.until_connected()
        step.until(lambda outcome: outcome.total().events > 0)
        with stopped(sandbox):
            time.sleep(1.4)
        step.until(lambda outcome: paused(outcome, 1.3) == EVERYBODY)
        step.stop()
    assert (step.outcome.last.reason, step.outcome.total().reconnects) == ("stopped", 0)


@on_mariadb
def test_what_nobody_waits_for_any_more_is_in_doubt_and_its_pause_has_no_end(
    sandbox: Sandbox,
) -> None:
    # Long enough that the server is stopped before the step ends.
    plan = a_ledger(tcp(sandbox), stop=seconds(5), drain_s=0.2)
    with ExitStack() as after, Driving(plan) as step:
        step.until(lambda outcome: outcome.total().events > 0)
        after.enter_context(stopped(sandbox))
    outcome = step.outcome.finished()
    unfinished = [pause for sample in outcome.samples for pause in sample.pauses if not pause.to_s]
    assert {pause.user for pause in unfinished} == set(range(USERS))
    settled, doubts = told(outcome)
    assert len(doubts) <= USERS
    assert sum(settled.values()) - len(doubts) == outcome.last.tally.succeeded
    rows = there(sandbox)
    for user, last in settled.items():
        for number in range(1, last + 1):
            assert rows[user, number] == 1 or (user, number) in doubts
