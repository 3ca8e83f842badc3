"""PgBouncer in front of a throwaway PostgreSQL: sessions that it shares are left as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.families import connect
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Endpoint
from loadstone.postgresql.databases import of
from loadstone.sandbox import SandboxError, SandboxSpec, start_sandbox
from loadstone.sandbox.postgresql.pgbouncer import check_pooler
from pooled import need

pytestmark = [pytest.mark.server, pytest.mark.slow]

SMALL = ("--tables", "1", "--table-size", "100")
LEFT = (
    "SELECT name FROM pg_settings WHERE source = 'session' AND name LIKE '%timeout%'"
    " UNION ALL SELECT 'lock' FROM pg_locks WHERE locktype = 'advisory'"
)


@pytest.fixture
def postgresql() -> str:
    try:
        check_pooler("pgbouncer", {})
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return need("postgresql")


def rows(endpoint: Endpoint, sql: str) -> list[str]:
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return [str(row[0]) for row in cursor.fetchall()]


def tables(endpoint: Endpoint) -> list[str]:
    return rows(endpoint, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")


def of_sysbench(endpoint: Endpoint) -> tuple[str, ...]:
    target = endpoint.target
    login = {
        "host": target.host, "port": str(target.port), "user": str(target.user),
        "password": endpoint.credentials.reveal(), "db": str(target.database),
    }  # fmt: skip
    options = (f"--pgsql-{name}={value}" for name, value in login.items())
    return ("sysbench", "oltp_read_only", "--db-driver=pgsql", "--table-size=10", *options)


@pytest.mark.parametrize(
    "mode", ["session", "transaction", pytest.param("statement", marks=pytest.mark.nightly)]
)
def test_tables_are_made_only_where_a_session_is_kept(
    state: Path, postgresql: str, tmp_path: Path, mode: str
) -> None:
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings={"pool_mode": mode})
    keeps = mode == "session"
    code = ExitCode.OK if keeps else ExitCode.GUARD
    with start_sandbox(spec) as sandbox:
        pooled = sandbox.pooled
        assert pooled is not None
        for endpoint, shares in ((sandbox.tcp, False), (pooled, not keeps)):
            with connect(endpoint) as connection:
                assert of(connection).shares_sessions() == shares
        through = ("--target", pooled.target.url)
        said = called("prepare", *SMALL, *through, folder=tmp_path, code=code).stderr
        assert keeps or "set pool_mode=session there" in said
        assert tables(sandbox.tcp) == (["loadstone_tables", "sbtest1"] if keeps else [])
        if not keeps:
            called("prepare", *SMALL, "--target", sandbox.tcp.target.url, folder=tmp_path)
        else:
            called("cleanup", *through, folder=tmp_path)
        if mode == "transaction":
            called(
                "run", "oltp_read_write", *SMALL, *through, "--duration", "1s", "--warmup", "0s",
                "--concurrency", "2", folder=tmp_path,
            )  # fmt: skip
        said = called(*of_sysbench(pooled), "prepare", folder=tmp_path, code=int(not keeps)).stdout
        assert keeps or "set pool_mode=session there" in said
        called("cleanup", *through, "--sysbench-tables", folder=tmp_path, code=code)
        assert tables(sandbox.tcp) == ([] if keeps else ["loadstone_tables", "sbtest1"])
        if not keeps:
            # These connections are the ones that the commands had.
            assert rows(pooled, LEFT) == []


def test_waits_for_a_connection_of_the_pooler_are_counted(
    state: Path, postgresql: str, tmp_path: Path
) -> None:
    settings = {"pool_mode": "transaction", "default_pool_size": "1"}
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings=settings)
    with start_sandbox(spec) as sandbox:
        assert sandbox.pooled is not None
        called("prepare", *SMALL, "--target", sandbox.tcp.target.url, folder=tmp_path)
        done = called(
            "run", "oltp_read_only", *SMALL, "--target", sandbox.pooled.target.url, "--text",
            "--concurrency", "8", "--duration", "4s", "--warmup", "1s", "--json", folder=tmp_path,
        )  # fmt: skip
    (step,) = json.loads(done.stdout)["steps"]
    shares = {entry["place"]: entry["share"] for entry in step["account"]["entries"]}
    # One of eight has the connection, and the others wait until they have it.
    assert shares["admission"] == pytest.approx(7 / 8, abs=0.15)
    assert step["account"]["beyond"] < 0.1
