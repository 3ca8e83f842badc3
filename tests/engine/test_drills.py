"""What users of a ledger are told, and how long they wait, while the way to the server is cut."""

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
    """By user the number up to which its entries are settled, and those in doubt."""
    settled: Counter[int] = Counter()
    doubts: set[tuple[int, int]] = set()
    for sample in outcome.samples:
        for user, last, in_doubt in sample.ledger:
            assert last >= settled[user]
            settled[user] = last
            assert doubts.isdisjoint((user, number) for number in in_doubt)
            doubts |= {(user, number) for number in in_doubt}
    return settled, doubts


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
        with Driving(a_ledger(target, stop=seconds(2.5))) as step:
            step.until_connected()
            for _ in range(10):
                step.listen(0.2)
                between.cut()
    outcome = step.outcome.finished()
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
    users = {pause.user for sample in outcome.samples for pause in sample.pauses}
    assert users == set(range(USERS)), "each user lost its connection"


@on_mariadb
def test_a_pause_is_as_long_as_the_door_is_shut(sandbox: Sandbox) -> None:
    with Between(sandbox.port) as between:
        target = tcp(sandbox) | {"port": between.port}
        with Driving(a_ledger(target, stop=seconds(2.5))) as step:
            step.until_connected()
            step.listen(0.5)
            between.shut = True
            between.cut()
            step.listen(0.7)
            between.shut = False
    outcome = step.outcome.finished()
    pauses = [pause for sample in outcome.samples for pause in sample.pauses]
    long = [pause for pause in pauses if pause.to_s is not None and pause.to_s - pause.from_s > 0.6]
    assert Counter(pause.user for pause in long) == Counter(range(USERS))
    for sample in outcome.samples:
        # A pause is told in the interval in which it ends.
        for pause in sample.pauses:
            assert pause.to_s is not None
            assert sample.from_s <= pause.to_s <= sample.to_s


@on_mariadb
def test_a_stall_is_a_pause_of_all_although_no_connection_was_lost(sandbox: Sandbox) -> None:
    with Driving(a_ledger(tcp(sandbox), stop=seconds(3))) as step:
        step.until_connected()
        step.listen(0.5)
        with stopped(sandbox):
            time.sleep(1.4)
    outcome = step.outcome.finished()
    pauses = [pause for sample in outcome.samples for pause in sample.pauses]
    assert {pause.user for pause in pauses} == set(range(USERS))
    assert all(pause.to_s and pause.to_s - pause.from_s > 1.3 for pause in pauses)
    assert outcome.total().reconnects == 0


@on_mariadb
def test_what_nobody_waits_for_any_more_is_in_doubt_and_its_pause_has_no_end(
    sandbox: Sandbox,
) -> None:
    plan = a_ledger(tcp(sandbox), stop=seconds(1.5), drain_s=0.2)
    with ExitStack() as after, Driving(plan) as step:
        step.until_connected()
        step.listen(0.6)
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
