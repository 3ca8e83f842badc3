"""PgBouncer in front of a throwaway PostgreSQL: sessions that it shares are left as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.families import connect
from loadstone.lab.tables.inspect import look_at_server, try_session
from loadstone.model.exit_codes import ExitCode
from loadstone.model.observed import SourceName
from loadstone.model.plan import READ_ONLY, Session
from loadstone.model.target import Endpoint
from loadstone.observe.postgresql.server import ServerSource
from loadstone.postgresql.connect import connect_to_console
from loadstone.postgresql.databases import of
from loadstone.sandbox import SandboxError, SandboxSpec, start_sandbox
from loadstone.sandbox.postgresql.pgbouncer import check_pooler
from loadstone.servers.connection import DEFAULT_TIMEOUTS
from loadstone.servers.errors import GuardError, NotInEffect, TargetError
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


def set_in_sessions(endpoint: Endpoint) -> set[str]:
    """What the pooler's session for the next client has set, apart from what poolers set."""
    own = ("application_name", "client_encoding", "DateStyle", "TimeZone", "IntervalStyle")
    told = rows(endpoint, "SELECT name FROM pg_settings WHERE source = 'session'")
    return set(told) - set(own)


@pytest.mark.parametrize("more", [{}, {"default_pool_size": "1"}, {"server_round_robin": "1"}])
def test_what_a_pooler_of_transactions_loses_is_refused_and_what_it_tracks_holds(
    state: Path, postgresql: str, tmp_path: Path, more: dict[str, str]
) -> None:
    settings = {"pool_mode": "transaction"} | more
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings=settings)
    with start_sandbox(spec) as sandbox:
        pooled = sandbox.pooled
        assert pooled is not None
        looked = look_at_server(pooled)
        lost = (
            (Session(isolation="serializable"), "--isolation serializable"),
            (Session(init_sql=("SET work_mem = '8MB'",)), "--init-sql"),
            (Session(init_sql=("SET mine.own = 'x'",)), "--init-sql"),
        )
        for session, option in lost:
            with pytest.raises(NotInEffect, match="would not be in effect") as refused:
                try_session(looked, session, 10)
            assert refused.value.message.startswith(option)
            assert "ALTER ROLE ... SET" in str(refused.value.hint)
            assert "may still have it" not in refused.value.message
            assert set_in_sessions(pooled) == set()
        reads = Session(init_sql=(READ_ONLY["postgresql"],))
        with pytest.raises(GuardError, match="keeps this load from changing data"):
            try_session(looked, reads, 10)
        assert set_in_sessions(pooled) == set()
        with pytest.raises(TargetError, match="no_such_thing"):
            both = ("SET work_mem = '8MB'", "SET no_such_thing = 1")
            try_session(looked, Session(init_sql=both), 10)
        assert set_in_sessions(pooled) == set()
        tracked = Session(init_sql=("SET TimeZone = 'Asia/Tokyo'",))
        (said,) = try_session(looked, tracked, 10)
        assert "in effect in each of" in str(said)
        (said,) = try_session(looked, Session(init_sql=("SELECT pg_advisory_lock(5)",)), 10)
        assert "it is not known whether" in str(said)


@pytest.mark.parametrize("pool", ["20", pytest.param("1", marks=pytest.mark.nightly)])
def test_a_pooler_of_sessions_keeps_what_is_set_and_may_have_room_for_one_alone(
    state: Path, postgresql: str, pool: str
) -> None:
    settings = {"pool_mode": "session", "default_pool_size": pool}
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings=settings)
    with start_sandbox(spec) as sandbox:
        assert sandbox.pooled is not None
        looked = look_at_server(sandbox.pooled)
        session = Session(isolation="serializable", init_sql=("SET work_mem = '8MB'",))
        (said,) = try_session(looked, session, 2)
        assert "in effect in each of" in str(said)


def test_a_pooler_of_statements_is_refused_what_cannot_be_tried_there(
    state: Path, postgresql: str
) -> None:
    spec = SandboxSpec(
        server=postgresql, pooler="pgbouncer", pooler_settings={"pool_mode": "statement"}
    )
    with start_sandbox(spec) as sandbox:
        assert sandbox.pooled is not None
        looked = look_at_server(sandbox.pooled)
        assert try_session(looked, Session(), 10) == []
        with pytest.raises(NotInEffect, match="cannot be tried in a transaction"):
            try_session(looked, Session(isolation="serializable"), 10)


@pytest.mark.parametrize("ignored", [False, True])
def test_options_of_a_login_are_refused_or_ignored_and_neither_in_silence(
    state: Path, postgresql: str, tmp_path: Path, ignored: bool
) -> None:
    settings = {"ignore_startup_parameters": "options"} if ignored else {}
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings=settings)
    with start_sandbox(spec) as sandbox:
        assert sandbox.pooled is not None
        called("prepare", *SMALL, "--target", sandbox.tcp.target.url, folder=tmp_path)
        run = ("run", "oltp_read_only", *SMALL, "--duration", "1s", "--warmup", "0s")
        asked = "&options=-c%20work_mem%3D8MB"
        through = sandbox.pooled.target.url + asked
        code = ExitCode.NOT_IN_EFFECT if ignored else ExitCode.TARGET
        told = called(*run, "--target", through, folder=tmp_path, code=code).stderr.splitlines()
        if ignored:
            assert "options '-c work_mem=8MB' is not in effect at" in told[-2]
        else:
            assert "refused the login: unsupported startup parameter" in told[-2]
            assert "it is a pooler, and takes no options" in told[-1]
        assert not list((tmp_path / "runs").glob("*"))
        called(*run, "--target", sandbox.tcp.target.url + asked, folder=tmp_path)


def test_a_pooler_that_keeps_no_prepared_statements_is_named_with_the_way_out(
    state: Path, postgresql: str, tmp_path: Path
) -> None:
    settings = {"pool_mode": "transaction", "max_prepared_statements": "0"}
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings=settings)
    with start_sandbox(spec) as sandbox:
        assert sandbox.pooled is not None
        called("prepare", *SMALL, "--target", sandbox.tcp.target.url, folder=tmp_path)
        short = ("--concurrency", "4", "--duration", "1s", "--warmup", "0s")
        run = ("run", "oltp_read_only", *SMALL, "--target", sandbox.pooled.target.url, *short)
        told = called(*run, folder=tmp_path, code=ExitCode.TARGET).stderr
        assert any(code in told for code in ("26000", "42P05"))
        assert "use --text" in told
        assert "max_prepared_statements above 0" in told
        called(*run, "--text", folder=tmp_path)


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


def test_a_pooler_that_knows_one_database_by_another_name_is_looked_behind(
    state: Path, postgresql: str
) -> None:
    """As most in the field: no other database, and a name that is not the server's."""
    settings = {"pool_mode": "transaction"}
    spec = SandboxSpec(server=postgresql, pooler="pgbouncer", pooler_settings=settings)
    with start_sandbox(spec) as sandbox:
        pooled, pooler = sandbox.pooled, sandbox.state.pooler
        assert pooled is not None and pooler is not None
        rules = Path(pooler.command[1])
        own = sandbox.tcp.target.database
        rules.write_text(rules.read_text().replace("* = ", f"shop = dbname={own} "))
        console = connect_to_console(pooled, DEFAULT_TIMEOUTS, "pgbouncer")
        console.run("RELOAD")
        console.close()
        target = pooled.target.model_copy(update={"database": "shop"})
        source = ServerSource(
            SourceName(role="server"), pooled.model_copy(update={"target": target})
        )
        seen = source.read()
        source.close()
    assert seen.counters["pg_stat_database.target.xact_commit"] > 0
    assert seen.gauges["pgbouncer.sv_active"] >= 0
