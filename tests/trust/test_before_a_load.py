"""What is reported and asked before a load, or before tables go: the server's place and users."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import PATIENCE_S, Person, wait_until
from engine.between import Between
from engine.servers import execute, rows
from loadstone.families import connect
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Credentials, Endpoint
from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection
from trust.experiments import AS_TEXT, CHANGED, experiment
from trust.summing import sums_of

pytestmark = pytest.mark.server

SMALL = ("--tables", "2", "--table-size", "100")
SHORT = ("--concurrency", "2", "--duration", "300ms", "--warmup", "0s", "--no-observe")
APP = "of-the-application"


@contextlib.contextmanager
def application(server: Sandbox, connections: int = 2) -> Iterator[list[Connection]]:
    """Connections of another client, from this host."""
    execute(
        server,
        "DROP USER IF EXISTS app@'%'",
        f"CREATE USER app@'%' IDENTIFIED BY '{APP}'",
        "GRANT ALL ON *.* TO app@'%'",
    )
    target = server.tcp.target.model_copy(update={"user": "app"})
    credentials = Credentials(password=SecretStr(APP))
    endpoint = Endpoint(target=target, credentials=credentials, server_is_here=True)
    with contextlib.ExitStack() as stack:
        try:
            yield [
                stack.enter_context(connect(endpoint, database=None)) for _ in range(connections)
            ]
        finally:
            stack.close()
            # Connections that a server has not dropped yet would be seen by the next check.
            wait_until(lambda: "app" not in {row[1] for row in rows(server, "SHOW PROCESSLIST")})
            execute(server, "DROP USER app@'%'")


def schema_of(server: Sandbox) -> str:
    return server.tcp.target.database or ""


def test_what_leads_elsewhere_is_not_this_machine(
    person: Person, server: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.loadstone("prepare", *person.target, *SMALL)
    before = sums_of(server, schema_of(server))
    with Between(server.port) as between:
        tunnel = ("--target", person.url.replace(f":{server.port}", f":{between.port}"))
        # A tunnel that leads back here is recognised by the server's own variables.
        assert "refuses" not in person.loadstone("cleanup", *tunnel, "--dry-run").stderr
        monkeypatch.setattr(socket, "gethostname", lambda: "another-machine")
        for words in (("cleanup",), ("prepare", *SMALL)):
            said = person.loadstone(*words, *tunnel, code=ExitCode.GUARD).stderr
            assert f"would change the server at 127.0.0.1:{between.port}, where " in said
            assert "listens, which may lead to another machine" in said
            assert "--yes" in said
        assert sums_of(server, schema_of(server)) == before
        said = person.loadstone("cleanup", *tunnel, "--yes").stdout
        assert said.startswith("dropped from ") and "sbtest1, sbtest2" in said


def test_what_would_be_dropped_is_told_and_nothing_is(person: Person, server: Sandbox) -> None:
    schema = schema_of(server)
    person.loadstone("prepare", *person.target, *SMALL)
    execute(
        server,
        f"CREATE TABLE {schema}.sbtest9 (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0,"
        " c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id))",
    )
    before = sums_of(server, schema)
    done = person.loadstone("cleanup", *person.target, "--dry-run")
    assert done.stdout.startswith("would be dropped from ")
    assert done.stdout.rstrip().endswith(": sbtest1, sbtest2")
    assert (
        "left alone, made by `sysbench prepare`: sbtest9 (`sysbench ... cleanup` or"
        " --sysbench-tables drops them)" in done.stderr
    )
    execute(server, f"CREATE TABLE {schema}.customers (id INT)")
    done = person.loadstone("cleanup", *person.target, "--dry-run", "--sysbench-tables")
    assert done.stdout.rstrip().endswith(": sbtest1, sbtest2, sbtest9")
    assert "left alone: customers" in done.stderr
    assert "cleanup would refuse this now: " in done.stderr
    execute(server, f"DROP TABLE {schema}.customers")
    assert sums_of(server, schema) == before
    person.loadstone("cleanup", *person.target)
    assert set(sums_of(server, schema)) == {"sbtest9"}


def test_a_server_that_serves_others_wants_consent_once(person: Person, server: Sandbox) -> None:
    person.loadstone("prepare", *person.target, *SMALL)
    run = ("run", "oltp_read_only", *person.target, *SHORT)
    with application(server):
        said = person.loadstone(*run, code=ExitCode.GUARD).stderr
        assert f"{server.tcp.target.place} has connections of app@localhost (2)" in said
        assert "--yes (once; it is remembered for this server)" in said
        assert not list(person.folder.glob("runs/*")), "nothing was begun"
        note = f"note: {server.tcp.target.place} has connections of app"
        assert note in person.loadstone(*run, "--yes").stderr
        assert note in person.loadstone(*run).stderr
    assert "note: " + server.tcp.target.place not in person.loadstone(*run).stderr


def test_others_that_are_not_shown_are_counted(person: Person, server: Sandbox) -> None:
    person.loadstone("prepare", *person.target, *SMALL)
    schema = schema_of(server)
    with application(server):
        execute(
            server,
            "DROP USER IF EXISTS nearly@'%'",
            f"CREATE USER nearly@'%' IDENTIFIED BY '{APP}'",
            f"GRANT SELECT ON {schema}.* TO nearly@'%'",
        )
        known = f"mysql://nearly:{APP}@127.0.0.1:{server.port}/{schema}"
        words = ("run", "oltp_read_only", "--target", known, *SHORT)
        said = person.loadstone(*words, code=ExitCode.GUARD).stderr
        execute(server, "DROP USER nearly@'%'")
    assert "connections that this user may not see (PROCESS)" in said


def test_a_server_that_feeds_replicas_says_so(person: Person, server: Sandbox) -> None:
    person.loadstone("prepare", *person.target, *SMALL)
    with server.connect() as reader:
        with reader.cursor() as cursor:
            cursor.execute("SET @master_binlog_checksum = 'NONE', @source_binlog_checksum = 'NONE'")
        # COM_BINLOG_DUMP: from the first event on, as server 4711, of the first file.
        asked = (4).to_bytes(4, "little") + bytes(2) + (4711).to_bytes(4, "little")
        reader._execute_command(0x12, asked)  # type: ignore[attr-defined]
        words = ("run", "oltp_read_only", *person.target, *SHORT)
        said = person.loadstone(*words, code=ExitCode.GUARD).stderr
        assert f"{server.tcp.target.place} feeds 1 replica: a load may slow them down" in said


@pytest.mark.sysbench
def test_a_command_line_of_sysbench_is_warned_and_goes_on(person: Person, server: Sandbox) -> None:
    target = server.tcp.target
    words = (
        "--mysql-host=127.0.0.1", f"--mysql-port={server.port}", f"--mysql-user={target.user}",
        f"--mysql-password={server.tcp.credentials.reveal()}", f"--mysql-db={target.database}",
        "--tables=1", "--table-size=100", "--events=5",
    )  # fmt: skip
    warned = f"loadstone: warning: {target.place} has connections of app@localhost (2)"
    with application(server):
        for command in ("prepare", "run", "cleanup"):
            done = person.loadstone("sysbench", "oltp_read_only", *words, command)
            assert done.stderr.count(warned) == 1, command
            assert warned not in done.stdout
    assert sums_of(server, schema_of(server)) == {}


def test_what_somebody_made_since_a_run_was_stopped_is_not_dropped_unasked(
    person: Person, server: Sandbox
) -> None:
    schema = schema_of(server)
    (person.folder / "e.toml").write_text(experiment(person.url, AS_TEXT, "60s"))
    with person.starts("experiment", "e.toml", "--yes", "--no-observe") as running:
        wait_until(lambda: person.samples() >= 1, running)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE_S)
    # The program's own are stopped without asking.
    with person.starts("resume", "last", "--no-observe") as running:
        before = person.samples()
        wait_until(lambda: person.samples() > before, running)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE_S)
    person.loadstone("cleanup", *person.target)
    person.loadstone("prepare", *person.target, "--tables", "1", "--table-size", "50")
    execute(server, f"UPDATE {schema}.sbtest1 SET pad = 'precious' WHERE id = 7")
    kept = sums_of(server, schema)
    said = person.loadstone("resume", "last", "--no-observe", code=ExitCode.GUARD).stderr
    assert "has tables that would be dropped and made again: sbtest1" in said
    assert sums_of(server, schema) == kept


def test_what_an_experiment_changes_is_listed_before_also_for_whoever_reads_json(
    person: Person,
) -> None:
    (person.folder / "e.toml").write_text(experiment(person.url, CHANGED, "300ms"))
    said = person.loadstone("experiment", "e.toml", "--no-observe", "--json", "--yes")
    assert json.loads(said.stdout)["run"]["state"] == "finished"
    place = f"{person.server.tcp.target.place}, schema " if person.server else ""
    first, second, third = said.stderr.splitlines()[:3]
    assert first.startswith(place) and first.endswith(": makes sbtest1")
    assert second.endswith(": sets max_connect_errors = 200 (put back after each step)")
    assert third.endswith(": no restart, no network limit")
