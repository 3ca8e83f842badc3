"""Where users' time goes, against truths that the load itself makes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from accounted import unexplained
from cli.person import Person
from loadstone.families import connect
from loadstone.model.account import Account, Place
from loadstone.model.observed import SourceName
from loadstone.model.result import StepResult
from loadstone.observe.answers import Answers
from loadstone.observe.looking import LookingSource
from loadstone.observe.mysql.sessions import MysqlSessions
from loadstone.runs import run_folder
from loadstone.runs.account import ENOUGH_LOOKS
from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection, Timeouts
from pooled import KINDS, Pool

pytestmark = pytest.mark.server

TOLERANCE = 0.05
LONGER_S = (6, 18, 54)

ROW = """
[table.one]
rows = 1
[table.one.columns]
id = { type = "INT NOT NULL", sequence = true }
n = { type = "INT NOT NULL", constant = 0 }

[transaction.hold]
statements = ["UPDATE one SET n = n + 1 WHERE id = 1", "SELECT SLEEP(0.02)"]
"""
"""Each user holds the row for 20 ms; all others wait for it."""


SELECTS = """
[table.one]
rows = 10
[table.one.columns]
id = { type = "INT NOT NULL", sequence = true }

[transaction.look]
statements = ["SELECT id FROM one WHERE id = 5"]
"""


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    with pool.schema(request.param) as running:
        yield running


def driven(sandbox: Sandbox, template: str, folder: Path, users: int = 4) -> StepResult:
    """Drive it until there are as many looks as an interval takes; a busy machine has fewer."""
    (folder / "load.toml").write_text(template)
    person = Person(folder, sandbox, careful=False)
    person.loadstone("prepare", "load.toml", *person.target)
    for seconds in LONGER_S:
        runs = f"runs-{seconds}"
        person.loadstone(
            "run", "load.toml", *person.target, "--concurrency", str(users), "--duration",
            f"{seconds}s", "--warmup", "1s", "--out", runs,
        )  # fmt: skip
        (run,) = (folder / runs).iterdir()
        (step,) = run_folder.load(run).steps
        if step.account is not None and step.account.looks >= ENOUGH_LOOKS:
            break
    return step


def other(sandbox: Sandbox) -> Connection:
    """A session of the load's account, in its schema."""
    return connect(sandbox.endpoint(), Timeouts(statement_s=120))


def sleeps(session: Connection) -> None:
    with session.cursor() as cursor, contextlib.suppress(pymysql.MySQLError):  # it is killed
        cursor.execute("SELECT SLEEP(100)")


def sleeping(sandbox: Sandbox) -> list[int]:
    with sandbox.connect() as session, session.cursor() as cursor:
        cursor.execute(
            "SELECT ID FROM information_schema.PROCESSLIST"
            " WHERE INFO LIKE '%SLEEP(100)' AND ID <> CONNECTION_ID()"
        )
        return [number for (number,) in cursor.fetchall()]


def ended(sandbox: Sandbox, number: int) -> None:
    with sandbox.connect() as session, session.cursor() as cursor:
        cursor.execute(f"KILL QUERY {number}")


def holds(place: Place, account: Account, truth: float) -> None:
    """The truth is another source's: InnoDB's own count, the time that was asked for."""
    (entry,) = (one for one in account.entries if one.place == place)
    assert entry.low is not None
    assert entry.high is not None
    assert entry.low - TOLERANCE <= truth <= entry.high + TOLERANCE, (entry, truth)


def test_a_row_that_is_held_and_a_sleep_are_where_their_statements_say(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    step = driven(sandbox, ROW, tmp_path)
    found = step.account
    assert found is not None
    assert found.view == "threads"
    assert step.server is not None
    asleep = 0.02 * step.statements["read"].count / step.seconds
    holds("row lock", found, (step.server.row_lock_waiting or 0.0) / step.concurrency)
    holds("paused", found, asleep / step.concurrency)
    assert found.share_of("row lock") > 0.5
    assert found.unnamed < 0.1
    assert unexplained(found) < 0.02
    assert found.disks is not None
    assert found.disks.own is not None
    # The users' commits write the redo log, unless the server's files are in memory.
    assert found.disks.users.written > 0 or not found.disks.own.both


def test_sessions_of_the_same_account_are_not_users_of_the_load(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """An application that logs in as the load does: its users sleep, and none of ours."""
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            thread = threading.Thread(target=sleeps, args=(stack.enter_context(other(sandbox)),))
            stack.callback(thread.join)
            thread.start()
        step = driven(sandbox, SELECTS, tmp_path)
        for number in sleeping(sandbox):
            ended(sandbox, number)
    assert step.account is not None
    assert step.account.share_of("paused") < TOLERANCE  # of 12 sessions 8 sleep
    assert unexplained(step.account) < 0.02


def test_by_sql_alone_states_tell_what_they_can(sandbox: Sandbox) -> None:
    """Ten users sleep: they are not on the way, and no thread is looked at."""
    source = LookingSource(
        SourceName(role="sessions"),
        MysqlSessions(sandbox.endpoint()),
        Answers(sandbox.endpoint().target),
        pid=None,
    )
    with sandbox.connect(), sandbox.connect():
        until = time.monotonic() + 20
        while (read := source.read()).counters.get("looks", 0.0) < 3 and time.monotonic() < until:
            time.sleep(0.1)
    source.close()
    assert read.facts["view"] == "sessions"
    looks = read.counters["looks"]
    assert read.counters["at.client"] == 2 * looks
    assert "core_s" not in read.counters
