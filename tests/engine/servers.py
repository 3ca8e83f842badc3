"""What the tests ask of a server behind the engine's back, over a connection of their own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loadstone.model.target import Tls
from loadstone.sandbox import Sandbox
from loadstone.sandbox.binaries import mariadb_plugins
from loadstone.target.connect import Connection, connect

# Durability is not what these tests are about, and the disk is shared.
QUICK = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "0"}


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
        connection.autocommit(True)
        for sql in statements:
            asked(connection, sql, database)


def one(sandbox: Sandbox, sql: str, database: str | None = None) -> Any:
    return rows(sandbox, sql, database)[0][0]


def counters(sandbox: Sandbox) -> dict[str, int]:
    """The server's own counters, those that are numbers."""
    said = rows(sandbox, "SHOW GLOBAL STATUS")
    return {str(name): int(value) for name, value in said if str(value).isdigit()}


def grown(before: dict[str, int], after: dict[str, int], *names: str) -> dict[str, int]:
    return {name: after[name] - before[name] for name in names}


def loaders(sandbox: Sandbox) -> list[tuple[int, str]]:
    """The engine's connections, by number and state, seen by the server; no SELECT is needed."""
    own = ("event_scheduler", "system user")
    said = rows(sandbox, "SHOW FULL PROCESSLIST")
    return [
        (int(row[0]), str(row[4]))
        for row in said
        if row[1] not in own and row[7] != "SHOW FULL PROCESSLIST"
    ]


def wait_until_nobody(sandbox: Sandbox, within_s: float = 10) -> None:
    """Until the server has forgotten the connections of the step before."""
    deadline = time.monotonic() + within_s
    while loaders(sandbox):
        assert time.monotonic() < deadline, loaders(sandbox)
        time.sleep(0.02)


def methods_of(server: str) -> tuple[str, ...]:
    if server == "mysql":
        return ("caching_sha2_password", "sha256_password")
    native = ("mysql_native_password",)
    return (*native, "ed25519") if mariadb_plugins() is not None else native


@contextmanager
def variables(sandbox: Sandbox, **values: object) -> Iterator[Connection]:
    """Global variables of the server, put back at the end; the connection that does it."""
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
