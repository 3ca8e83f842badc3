"""Loads on throwaway servers of PostgreSQL, and what is refused there."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from engine.driving import a_plan, described, drive, session, workload
from loadstone.families import family_of
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Message
from loadstone.model.result import Result
from loadstone.model.target import Endpoint, Tls
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, kept_tables, start_sandbox
from loadstone.sandbox.kept_tables import Contents, kept_folders, start_loaded
from loadstone.sandbox.postgresql.pgbouncer import check_pooler
from loadstone.sandbox.template import cache_folder
from pooled import need

pytestmark = [pytest.mark.server, pytest.mark.slow]

SMALL = ("--tables", "1", "--table-size", "100", "--concurrency", "2", "--duration", "1s")

EXPERIMENT = """
duration = "500ms"
warmup = "0s"
repeats = 2
ladder = [1]
[sandbox]
server = "postgresql"
[[workload]]
name = "oltp_update_index"
tables = 1
table_size = 100
[factor.sync.on]
[factor.sync.off]
dynamic = { synchronous_commit = "off" }
"""


@pytest.fixture
def postgresql() -> str:
    return need("postgresql")


def ran(state: Path, tmp_path: Path, *words: str) -> Result:
    command = ("run", "oltp_read_write", *SMALL, "--warmup", "0s", "--json", *words)
    said = called(*command, folder=tmp_path).stdout
    return Result.model_validate_json(said)


def test_a_run_starts_one_and_says_how_durable_it_is(
    state: Path, postgresql: str, tmp_path: Path
) -> None:
    command = ("run", "oltp_read_write", *SMALL, "--warmup", "0s", "--server", postgresql)
    said = called(*command, "--protocol", "extended", folder=tmp_path).stdout
    assert "a throwaway PostgreSQL" in said
    assert "extended statements" in said
    assert "fsync=on, synchronous_commit=on, full_page_writes=on" in said


def directly(sandbox: Sandbox) -> Endpoint:
    """The server over TLS that it is not asked for."""
    return sandbox.endpoint(tls=Tls(mode="verify-ca", ca=sandbox.certificates.ca, direct=True))


@pytest.mark.parametrize("newer", ["postgresql-17", "postgresql-18"])
def test_tls_may_come_first(state: Path, newer: str) -> None:
    with start_sandbox(SandboxSpec(server=need(newer))) as sandbox:
        endpoint = directly(sandbox)
        with family_of(endpoint.target).connect(endpoint, database=None) as connection:
            with connection.cursor() as cursor:
                cursor.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                assert cursor.fetchone()[0]
        one = workload("oltp_point_select", tables=1, table_size=1)
        there = described(endpoint, database="postgres")
        table = session("CREATE TEMP TABLE sbtest1 (id INT, c INT)")
        step = drive(a_plan(there, workload=one, session=table, users=2)).finished()
        assert step.connected is not None
        assert step.connected.encrypted_users == 2


def test_a_server_that_takes_no_direct_tls_says_since_when_others_do(
    state: Path, tmp_path: Path
) -> None:
    with start_sandbox(SandboxSpec(server=need("postgresql-15"))) as sandbox:
        said = called(
            "run", "oltp_read_only", "--target", directly(sandbox).target.url,
            folder=tmp_path, code=ExitCode.TARGET,
        ).stderr  # fmt: skip
    assert "does not take direct TLS" in said
    assert "from version 17 on" in said


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_load_passes_a_pooler(state: Path, postgresql: str, tmp_path: Path, mode: str) -> None:
    try:
        check_pooler("pgbouncer", {})
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings={"pool_mode": mode})
    # A second server with a copy of the same data, which starts at the same time.
    with start_sandbox(spec) as sandbox, start_sandbox(SandboxSpec(server=postgresql)):
        assert sandbox.pooled is not None
        prepared = ("--tables", "1", "--table-size", "100", "--target", sandbox.tcp.target.url)
        called("prepare", *prepared, folder=tmp_path)
        result = ran(state, tmp_path, "--target", sandbox.pooled.target.url)
        (step,) = result.steps
        assert step.tps
        # The host's figures are those of the server behind it, which is on this machine.
        assert step.host is not None
        assert step.host.process_cpu_user
        # The pooler says what its connections do, and the kernel what its thread does.
        assert step.server is not None
        assert step.server.means["pgbouncer.cl_active"] > 0
        # Between transactions, a connection to the server is nobody's.
        assert step.server.means["pgbouncer.sv_active"] >= (mode == "session")
        assert step.host.rates["between.thread_run_s"] > 0


def test_the_next_one_starts_on_tables_that_were_kept(
    state: Path, postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates = cache_folder("templates")
    (tmp_path / "cache/loadstone").mkdir(parents=True)
    (tmp_path / "cache/loadstone/templates").symlink_to(templates)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOADSTONE_KEPT_GIB", "16")
    monkeypatch.setattr(kept_tables, "is_worth_keeping", lambda **_: True)
    loads: list[Sandbox] = []
    told: list[Message] = []

    def load(sandbox: Sandbox) -> None:
        loads.append(sandbox)
        with sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE numbers AS SELECT generate_series(1, 3) AS number")
            connection.commit()

    spec, contents = SandboxSpec(server=postgresql), Contents("numbers to three", "numbers")
    for settings in ({}, {"shared_buffers": "64MB"}):
        with start_loaded(
            spec.model_copy(update={"settings": settings}), contents, load, told.append
        ) as sandbox:
            with family_of(sandbox.tcp.target).connect(sandbox.tcp) as connection:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT sum(number) FROM numbers")
                    assert cursor.fetchone()[0] == 6
    assert len(loads) == 1
    assert [kept.tables for kept in kept_folders()] == ["numbers"]


def test_variants_of_settings_are_measured_on_one(
    state: Path, postgresql: str, tmp_path: Path
) -> None:
    (tmp_path / "sync.toml").write_text(EXPERIMENT)
    said = called("experiment", "sync.toml", folder=tmp_path).stdout
    assert "durability differs: synchronous_commit is on (sync=on), off (sync=off)" in said
    (run,) = (tmp_path / "runs").iterdir()
    result = run_folder.load(run)
    # Steps that others disturbed are measured once more, beyond the four of the plan.
    assert (result.run.state, result.run.steps_planned) == ("finished", 4)
    assert result.run.steps_finished >= 4
    assert all(step.tps for step in result.steps)


def test_a_template_brings_its_tables_to_one(state: Path, postgresql: str, tmp_path: Path) -> None:
    asked = ("--duration", "500ms", "--warmup", "0s", "--json", "--server", postgresql)
    said = called("run", "flash_sale.toml", *asked, folder=tmp_path).stdout
    (step,) = Result.model_validate_json(said).steps
    assert step.tps


def test_what_is_not_supported_is_refused_before_a_server_is_started(
    state: Path, postgresql: str, tmp_path: Path
) -> None:
    for option in ("--storage-engine", "--compression"):
        given = ("run", "oltp_read_only", option, "zlib", "--server", postgresql)
        said = called(*given, folder=tmp_path, code=ExitCode.USAGE).stderr
        assert said == f"error: PostgreSQL has no {option}\nhint:  leave it out\n"
