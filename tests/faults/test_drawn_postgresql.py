"""What may be drawn on PostgreSQL is there while it is in force, and gone afterwards."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from faults import injections
from faults.case import Draw, Inject
from faults.drawn import base, clients, postgresql_locks
from faults.drawn.beat import Beat, Made
from faults.drawn.clients import Crowd
from faults.drawn.handling import HANDLING
from faults.drawn.setting import Setting, badly_set
from faults.ground import TABLES
from faults.scene import Scene, Watch, processes_of
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from pooled import need

pytestmark = [pytest.mark.server, pytest.mark.slow]

DEADLINE_S = 20.0
BEAT = Beat(0.1, 0.02)
CROWD = Crowd(2, 0.01)
LEFT = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'another client'),
  (SELECT count(*) FROM pg_prepared_xacts), (SELECT count(*) FROM pg_replication_slots),
  (SELECT count(*) FROM pg_namespace WHERE nspname = 'theirs'),
  (SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf')
"""
"""What an injection must not leave: sessions, transactions, slots, schemas, settings."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        settings = {**postgresql_locks.SETTINGS, "synchronous_commit": "off"}
        spec = SandboxSpec(server=need("postgresql-15"), max_connections=100, settings=settings)
        with start_sandbox(spec) as started:
            patch.setenv("LOADSTONE_PASSWORD", started.tcp.credentials.reveal())
            state = started.state
            place = f"127.0.0.1:{started.port}/{state.database}?tls=disabled"
            called(
                "prepare", "--target", f"postgresql://{state.accounts[0].user}@{place}",
                "--tables", str(TABLES), "--table-size", "500",
                folder=tmp_path_factory.mktemp("prepared"),
            )  # fmt: skip
            yield started


@contextmanager
def injected(sandbox: Sandbox, inject: Inject) -> Iterator[Scene]:
    """As if load were driven from the block's begin to its end."""
    watch = Watch(sandbox.pid)
    scene = Scene(sandbox, "postgresql", watch, sandbox.port)
    watch.on.set()
    with inject(scene) as proof:
        yield scene
        watch.end()
        proof()


def number(sandbox: Sandbox, expression: str) -> float:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression}")
        ((found,),) = cursor.fetchall()
    return float(found)


def left(sandbox: Sandbox) -> list[int]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(LEFT)
        return [int(each) for each in next(iter(cursor.fetchall()))]


def seen(sandbox: Sandbox, expression: str) -> None:
    """Wait until it is there."""
    until = time.monotonic() + DEADLINE_S
    while not number(sandbox, expression):
        assert time.monotonic() < until, expression
        time.sleep(0.01)


def gone(sandbox: Sandbox) -> None:
    """Nothing may be left; a session that was closed takes a moment to end."""
    until = time.monotonic() + DEADLINE_S
    while any(found := left(sandbox)):
        assert time.monotonic() < until, found
        time.sleep(0.01)


AT_WORK = "count(*) FROM pg_stat_activity WHERE application_name = 'another client'"
THERE = {
    "_prepared": "count(*) FROM pg_prepared_xacts",
    "_slot": "count(*) FROM pg_replication_slots",
    "_advisory": "count(*) FROM pg_locks WHERE locktype = 'advisory'",
    "_definition": "count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'",
    "_open_transaction": f"{AT_WORK} AND backend_xmin IS NOT NULL AND state <> 'active'",
}


def name_of(make: Callable[..., Made]) -> str:
    return make.__name__


@pytest.mark.parametrize("make", postgresql_locks.MAKERS_OF_POSTGRESQL, ids=name_of)
def test_a_lock_is_held_and_given_free(sandbox: Sandbox, make: Callable[..., Made]) -> None:
    draw = Draw(random.Random("7"), "postgresql")
    _, _, inject, _ = make(draw, BEAT)
    with injected(sandbox, inject):
        seen(sandbox, THERE.get(make.__name__, f"{AT_WORK} AND state = 'idle in transaction'"))
    gone(sandbox)


@pytest.mark.parametrize("make", clients.MAKERS_OF_POSTGRESQL, ids=name_of)
def test_a_client_works_and_leaves(sandbox: Sandbox, make: Callable[..., Made]) -> None:
    draw = Draw(random.Random("7"), "postgresql")
    _, _, inject, _ = make(draw, CROWD)
    own = make in clients.PAUSELESS
    name = "loadstone" if own else "another client"
    with injected(sandbox, inject):
        seen(sandbox, f"count(*) FROM pg_stat_activity WHERE application_name = '{name}'")
        if not own:
            seen(sandbox, f"{AT_WORK} AND state <> 'idle'")
    gone(sandbox)


def test_a_setting_is_in_force_for_all_sessions_and_put_back(sandbox: Sandbox) -> None:
    shown = "setting::float FROM pg_settings WHERE name = 'deadlock_timeout'"
    before = number(sandbox, shown)
    setting = Setting("deadlock_timeout", f"{before:.0f}", "40", at_start=False)
    with injected(sandbox, badly_set(setting)):
        assert number(sandbox, shown) == 40.0
    assert number(sandbox, shown) == before
    gone(sandbox)


def test_what_postgresql_has_may_be_drawn_but_for_what_is_no_setting_of_performance(
    sandbox: Sandbox,
) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        found = {one.name: one for one in HANDLING["postgresql"].listed(cursor)}
    wanted = {
        "shared_buffers", "work_mem", "wal_sync_method", "max_wal_size", "commit_delay",
        "enable_indexscan", "jit_above_cost", "plan_cache_mode", "deadlock_timeout",
        "log_min_duration_statement", "autovacuum", "bgwriter_delay", "track_io_timing",
    }  # fmt: skip
    assert wanted <= found.keys()
    never = {"fsync", "port", "ssl", "statement_timeout", "max_connections", "wal_segment_size"}
    assert not never & found.keys()
    assert found["shared_buffers"].at_start and not found["work_mem"].at_start


needs_groups = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/sys/fs/cgroup/cpu/cgroup.procs").exists(),
    reason="not evaluated: only root may make a control group (version 1)",
)


@needs_groups
def test_a_quota_is_one_of_all_the_server_s_processes(sandbox: Sandbox) -> None:
    def groups() -> set[str]:
        texts = [Path(f"/proc/{pid}/cgroup").read_text() for pid in processes_of(sandbox.pid)]
        return {one for text in texts for one in re.findall(r"cpu(?:,\w+)*:(/.*)$", text, re.M)}

    before = groups()
    with injected(sandbox, injections.server_cores(0.5)):
        with sandbox.connect():
            assert {one.startswith("/loadstone-bench-") for one in groups()} == {True}
        assert len(processes_of(sandbox.pid)) > 2
    assert groups() == before


def cached_bytes(path: Path) -> int:
    """Of a file in the kernel's cache."""
    words = ["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def test_files_of_tables_are_cold_while_it_lasts(sandbox: Sandbox) -> None:
    rows = "SELECT repeat('x', 1000) FROM generate_series(1, 4000)"
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE large AS {rows}")
        cursor.execute("CHECKPOINT")
        cursor.execute("SELECT pg_relation_filepath('large')")
        ((name,),) = cursor.fetchall()
    path = sandbox.datadir / str(name)
    assert cached_bytes(path) > 4_000_000
    with injected(sandbox, base.cold_files):
        until = time.monotonic() + DEADLINE_S
        while cached_bytes(path):
            assert time.monotonic() < until
            time.sleep(0.01)
