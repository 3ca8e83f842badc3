"""Database servers that tests share: each worker has one of each kind and settings.

A server takes seconds to start and nothing to keep. What a test needs of its own is a schema; only
a test that stops its server, fills its disk or changes what cannot be put back starts one itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.sandbox.mysql.binaries import mariadb_plugins

QUICK: Mapping[str, str] = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "0"}
"""Durability is not what most tests are about, and the disk is shared."""

KINDS = ["mariadb", pytest.param("mysql", marks=pytest.mark.mysql)]
"""Parameters of a fixture or a test that is for both servers."""

KINDS_IN_TURN = ["mariadb", pytest.param("mysql", marks=[pytest.mark.mysql, pytest.mark.nightly])]
"""The same for long tests of what we do, not of what a server says: MySQL's turn is at night."""


def need(kind: str) -> str:
    """The same kind; skips the test where there is no such server."""
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
    """Servers that stand until the worker ends, each started when it is first wanted."""

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
            # Not in the state folder of the test that happens to be the first.
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_STATE_HOME", str(self._state))
                self._running[key] = self._stack.enter_context(start_sandbox(spec))
        return self._running[key]

    @contextmanager
    def schema(
        self, kind: str = "mariadb", settings: Mapping[str, str] = QUICK
    ) -> Iterator[Sandbox]:
        """The same server with an empty schema as its database, which goes at the end."""
        server = self.server(kind, settings)
        name = f"own_{next(self._numbers)}"
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        try:
            yield on_schema(server, name)
        finally:
            with server.connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"DROP DATABASE IF EXISTS {name}")


def on_schema(server: Sandbox, name: str) -> Sandbox:
    """The same server, whose endpoints name another schema."""
    return Sandbox(server.folder, server.state.model_copy(update={"database": name}))
