"""What the tests ask of a server over a connection of their own, without the engine."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pooled
from loadstone.families import connect
from loadstone.model.target import Tls
from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection
from pooled import methods_of as methods_of

QUICK = dict(pooled.QUICK)


def rows(sandbox: Sandbox, sql: str, database: str | None = None) -> list[tuple[Any, ...]]:
    with sandbox.connect() as connection:
        return asked(connection, sql, database)


def asked(connection: Connection, sql: str, database: str | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        if database is not None:
            cursor.execute(f"USE {database}")
        cursor.execute(sql)
        return list(cursor.fetchall())


def execute(sandbox: Sandbox, *statements: str, database: str | None = None) -> None:
    with sandbox.connect() as connection:
        for sql in statements:
            asked(connection, sql, database)


def one(sandbox: Sandbox, sql: str, database: str | None = None) -> Any:
    return rows(sandbox, sql, database)[0][0]


def counters(sandbox: Sandbox) -> dict[str, int]:
    """The server's numeric counters."""
    said = rows(sandbox, "SHOW GLOBAL STATUS")
    return {str(name): int(value) for name, value in said if str(value).isdigit()}


def grown(before: dict[str, int], after: dict[str, int], *names: str) -> dict[str, int]:
    return {name: after[name] - before[name] for name in names}


def loaders(sandbox: Sandbox) -> list[tuple[int, str]]:
    """The number and state of the engine's connections, by the server; needs no SELECT."""
    with sandbox.connect() as connection:
        return others(connection)


def others(connection: Connection) -> list[tuple[int, str]]:
    """All other connections, except for the server's own threads."""
    own = ("event_scheduler", "system user")
    asks = "SHOW FULL PROCESSLIST"
    return [
        (int(row[0]), str(row[4]))
        for row in asked(connection, asks)
        # Our statements begin with a comment that says so.
        if row[1] not in own and not str(row[7]).endswith(asks)
    ]


def wait_until_nobody(sandbox: Sandbox, within_s: float = 60) -> None:
    """Wait until the server has closed the connections of the step before.

    It uses one connection that asks seldom: some tests count the bytes that the server receives.
    """
    deadline, pause_s = time.monotonic() + within_s, 0.01
    with sandbox.connect() as connection:
        while still := others(connection):
            assert time.monotonic() < deadline, still
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.3)


@contextmanager
def stopped(sandbox: Sandbox) -> Iterator[None]:
    """Stop the server's process for the block (SIGSTOP)."""
    os.kill(sandbox.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(sandbox.pid, signal.SIGCONT)


@contextmanager
def account(
    sandbox: Sandbox, name: str, known_by: str = "IDENTIFIED BY ''", may: str = "ALL ON *.*"
) -> Iterator[None]:
    """Create an account on the server for the block."""
    execute(sandbox, f"CREATE USER {name}@'%' {known_by}", f"GRANT {may} TO {name}@'%'")
    try:
        yield
    finally:
        execute(sandbox, f"DROP USER {name}@'%'")


@contextmanager
def variables(sandbox: Sandbox, **values: object) -> Iterator[Connection]:
    """Set global variables for the block, and restore them; yields the connection that does it."""
    with connect(sandbox.endpoint(over="socket", tls=Tls())) as connection:
        before = {name: asked(connection, f"SELECT @@GLOBAL.{name}")[0][0] for name in values}
        for name, value in values.items():
            asked(connection, f"SET GLOBAL {name} = {quoted(value)}")
        try:
            yield connection
        finally:
            for name, value in before.items():
                asked(connection, f"SET GLOBAL {name} = {quoted(value)}")


def quoted(value: object) -> str:
    return str(value) if isinstance(value, int) else f"'{value}'"
