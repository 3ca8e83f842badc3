"""Loads on throwaway servers of PostgreSQL, and what is refused there."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.families import family_of
from loadstone.model.message import Message
from loadstone.model.result import Result
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
    said = called(*command, folder=tmp_path).stdout
    assert "a throwaway PostgreSQL" in said
    assert "fsync=on, synchronous_commit=on, full_page_writes=on" in said


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_load_passes_a_pooler(state: Path, postgresql: str, tmp_path: Path, mode: str) -> None:
    try:
        check_pooler("pgbouncer", {})
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings={"pool_mode": mode})
    with start_sandbox(spec) as sandbox:
        assert sandbox.pooled is not None
        prepared = ("--tables", "1", "--table-size", "100", "--target", sandbox.tcp.target.url)
        called("prepare", *prepared, folder=tmp_path)
        result = ran(state, tmp_path, "--target", sandbox.pooled.target.url)
        (step,) = result.steps
        assert step.tps


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
    assert "finished, 4 of 4 steps" in said


def test_a_template_brings_its_tables_to_one(state: Path, postgresql: str, tmp_path: Path) -> None:
    asked = ("--duration", "500ms", "--warmup", "0s", "--json", "--server", postgresql)
    said = called("run", "flash_sale.toml", *asked, folder=tmp_path).stdout
    (step,) = Result.model_validate_json(said).steps
    assert step.tps
