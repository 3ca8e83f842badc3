"""Database servers that tests share: each worker has one of each kind and settings.

A server takes seconds to start and nothing to keep. Tests isolate themselves by a schema; only a
test that stops its server, fills its disk or changes what cannot be restored starts one itself.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pymysql
import pytest

from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.sandbox.mysql.binaries import mariadb_plugins
from loadstone.servers.connection import Cursor

QUICK: Mapping[str, str] = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "0"}
"""Most tests are not about durability, and the disk is shared."""

KINDS = ["mariadb", pytest.param("mysql", marks=pytest.mark.mysql)]
"""The kinds of servers, as parameters of a fixture or a test."""

KINDS_IN_TURN = ["mariadb", pytest.param("mysql", marks=[pytest.mark.mysql, pytest.mark.nightly])]
"""The same for long tests that hardly depend on the server: MySQL's run only at night."""


def need(kind: str) -> str:
    """Return the kind; skips the test if there is no such server."""
    try:
        find_server(kind)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return kind


def methods_of(kind: str) -> tuple[str, ...]:
    """The login methods that this kind of server has here."""
    if kind == "mysql":
        return ("caching_sha2_password", "sha256_password")
    native = ("mysql_native_password",)
    return (*native, "ed25519") if mariadb_plugins() is not None else native


class Pool:
    """Servers that run until the worker ends, each started when it is first needed."""

    def __init__(self, stack: ExitStack, state: Path) -> None:
        self._stack = stack
        self._state = state
        self._running: dict[tuple[str, tuple[tuple[str, str], ...]], Sandbox] = {}
        self._numbers = itertools.count(1)

    def server(self, kind: str = "mariadb", settings: Mapping[str, str] = QUICK) -> Sandbox:
        """The server of this kind with these settings, with a user for each login method."""
        need(kind)
        key = (kind, tuple(sorted(settings.items())))
        if key not in self._running or not self._running[key].is_running():
            spec = SandboxSpec(server=kind, auth=methods_of(kind), settings=dict(settings))
            # Not in the state folder of the test that is the first by chance.
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_STATE_HOME", str(self._state))
                self._running[key] = self._stack.enter_context(start_sandbox(spec))
        return self._running[key]

    @contextmanager
    def schema(
        self, kind: str = "mariadb", settings: Mapping[str, str] = QUICK
    ) -> Iterator[Sandbox]:
        """The same server with an empty schema as its database, which is dropped at the end."""
        server = self.server(kind, settings)
        name = f"own_{next(self._numbers)}"
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        try:
            yield on_schema(server, name)
        finally:
            with server.connect() as connection, connection.cursor() as cursor:
                _end_statements(cursor, name)
                cursor.execute(f"DROP DATABASE IF EXISTS {name}")


def _end_statements(cursor: Cursor, schema: str) -> None:
    """End what clients that are gone have left: the next tests' would be company to it."""
    cursor.execute(
        "SELECT ID FROM information_schema.PROCESSLIST"
        f" WHERE DB = '{schema}' AND COMMAND = 'Query' AND ID <> CONNECTION_ID()"
    )
    for (number,) in cursor.fetchall():
        with contextlib.suppress(pymysql.MySQLError):  # it has just ended
            cursor.execute(f"KILL {number}")


def on_schema(server: Sandbox, name: str) -> Sandbox:
    """The same server, with endpoints of another schema."""
    return Sandbox(server.folder, server.state.model_copy(update={"database": name}))
