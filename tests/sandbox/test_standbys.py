from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxSpec, list_sandboxes, start_sandbox
from loadstone.sandbox.postgresql.binaries import releases
from pooled import need

pytestmark = [pytest.mark.server, pytest.mark.slow]

_FOLLOWS_S = 60
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def asked(sandbox: Sandbox, *statements: str) -> list[tuple[object, ...]]:
    """The rows of the last statement."""
    with sandbox.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


def until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _FOLLOWS_S
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def test_commits_wait_for_a_standby_which_goes_with_its_primary(state: Path) -> None:
    spec = SandboxSpec(server=need("postgresql"), replica=True, semi_sync=True)
    with start_sandbox(spec) as primary:
        standby = primary.replica
        assert standby is not None
        assert asked(primary, "SELECT sync_state FROM pg_stat_replication") == [("sync",)]
        assert asked(standby, "SELECT pg_is_in_recovery()") == [(True,)]
        asked(primary, "CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
        # What is on the standby's disk is applied a little later.
        assert until(lambda: asked(standby, "SELECT count(*) FROM t") == [(1,)])
        standby.kill()
        with ThreadPoolExecutor(1) as pool:
            writes = pool.submit(asked, primary, "INSERT INTO t VALUES (2)")
            assert until(lambda: asked(primary, _WAITING) == [(1,)])
            assert not writes.done()
            standby.start_again()
            writes.result(_FOLLOWS_S)
        assert until(lambda: asked(standby, "SELECT max(a) FROM t") == [(2,)])
    assert list_sandboxes() == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", releases)
def test_each_release_has_a_standby(state: Path, name: str) -> None:
    with start_sandbox(SandboxSpec(server=need(name), replica=True)) as primary:
        standby = primary.replica
        assert standby is not None
        assert asked(primary, "SELECT sync_state FROM pg_stat_replication") == [("async",)]
        asked(primary, "CREATE TABLE t (a int)")
        assert until(lambda: asked(standby, "SELECT to_regclass('t')::text") == [("t",)])
