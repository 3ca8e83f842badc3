"""The null server speaks PostgreSQL: to the engine, and to the field's own client."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pg8000
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from engine.driving import Document, Outcome, a_plan, drive, events, workload
from loadstone import engine
from loadstone.engine.null import NullServer
from loadstone.model.null_server import NullServerSettings, NullServerTls
from loadstone.postgresql.errors import code_of
from loadstone.sandbox.certificates import make_certificates
from postgres.server import find_programs

Start = Callable[..., NullServer]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts null servers that speak PostgreSQL."""
    started: list[NullServer] = []

    def one(**settings: Any) -> NullServer:
        started.append(engine.null_server(NullServerSettings(protocol="postgresql", **settings)))
        return started[-1]

    yield one
    for server in started:
        server.stop()


def target(server: NullServer, tls: str = "disabled") -> Document:
    files = {"mode": tls, "ca": None, "cert": None, "key": None}
    return {
        "family": "postgresql", "host": "127.0.0.1", "port": server.port, "socket": None,
        "user": "u", "password": "p", "database": "sbtest", "tls": files, "server_public_key": None,
    }  # fmt: skip


def driven(server: NullServer, tls: str = "disabled", **changes: Any) -> Outcome:
    plan = a_plan(target(server, tls), users=4, stop=events(400), **changes)
    return drive(plan).finished()


@pytest.mark.parametrize("protocol", ["prepared", "text", "extended"])
@pytest.mark.parametrize("name", ["oltp_point_select", "oltp_read_write", "oltp_insert"])
def test_the_engine_and_the_server_count_alike(start: Start, name: str, protocol: str) -> None:
    server = start()
    step = driven(server, workload=workload(name), protocol=protocol)
    assert step.last.tally.succeeded == 400
    stats = server.stats()
    counts = step.total()
    statements = counts.reads + counts.writes + counts.other
    assert stats.executes + stats.queries == stats.answered == statements
    assert (stats.errors, stats.garbled) == (0, 0)


@pytest.mark.parametrize(("name", "statements"), [("oltp_read_write", 20), ("oltp_insert", 1)])
def test_what_is_sent_at_once_is_one_answer(start: Start, name: str, statements: int) -> None:
    server = start()
    step = driven(server, workload=workload(name), protocol="pipelined")
    stats = server.stats()
    assert stats.executes + stats.queries == stats.answered == 400
    assert step.latency()["flight"].count == 400
    counts = step.total()
    assert counts.reads + counts.writes + counts.other == 400 * statements


def test_a_connection_is_encrypted_after_the_servers_word(start: Start, tmp_path: Path) -> None:
    files = make_certificates(tmp_path / "tls")
    tls = NullServerTls(cert=files.cert("server"), key=files.key("server"))
    server = start(tls=tls)
    step = driven(server, tls="required")
    assert step.connected is not None
    assert step.connected.encrypted_users == 4
    assert server.stats().encrypted == 4
    refused = drive(a_plan(target(start(), "required"))).last
    assert refused.error is not None
    assert refused.error.kind == "tls_refused"


def test_scripted_errors_and_drops_are_met_as_a_servers_would_be(start: Start) -> None:
    server = start()
    rule = {"errno": 1213, "sql_state": "40P01", "message": "deadlock detected", "every": 50}
    server.set_script(json.dumps({"errors": [rule], "drops": [{"kind": "after", "answers": 500}]}))
    step = driven(server, workload=workload("oltp_read_write"))
    assert step.errors()["40P01"] > 0
    # Nobody knows whether an event was done whose connection is gone.
    lost, tally = step.total().reconnects, step.last.tally
    assert 0 < lost == tally.failed == 400 - tally.succeeded


def test_psql_understands_it(start: Start) -> None:
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL: tools/get-postgres fetches one")
    server = start()
    words = [str(programs / "psql"), "-XAt", "-h", "127.0.0.1", "-p", str(server.port)]
    said = subprocess.run(
        [*words, "-U", "u", "-d", "sbtest"],
        input="BEGIN;\nSELECT c FROM sbtest1 WHERE id=1;\nUPDATE sbtest1 SET k=1;\nCOMMIT;\n"
        "COPY sbtest1 FROM STDIN;\n1\t2\n3\t4\n\\.\n",
        text=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert (said.returncode, said.stderr) == (0, "")
    begun, row, updated, *rest = said.stdout.splitlines()
    assert (begun, len(row), updated, rest) == ("BEGIN", 119, "UPDATE 1", ["COMMIT", "COPY 2"])


def test_a_run_finds_its_tables_and_says_what_it_could_not_read(
    start: Start, tmp_path: Path
) -> None:
    url = f"postgresql://u@127.0.0.1:{start().port}/sbtest"
    words = ("--concurrency", "4", "--duration", "1s", "--warmup", "0s", "--out", "runs", "--json")
    said = called("run", "oltp_read_write", "--target", url, *words, folder=tmp_path)
    result = json.loads(said.stdout)
    (step,) = result["steps"]
    assert step["events"] > 0
    assert (step["errors"], step["reconnects"]) == ({}, 0)
    assert "the null server has no answer to" in str(step["notes"])


def test_pgbench_runs_scripts_on_it(start: Start, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("BEGIN;\nSELECT c FROM sbtest1 WHERE id = :client_id;\nEND;\n")
    port = str(start().port)
    words = ("-h", "127.0.0.1", "-p", port, "-U", "u", "-n", "-t", "10", "-f", "a.sql", "sbtest")
    said = called("pgbench", *words, folder=tmp_path)
    assert said.stdout.startswith("pgbench (")
    assert "server 17.0 (null))" in said.stdout.splitlines()[0]
    assert "number of transactions actually processed: 10/10" in said.stdout


def test_what_it_does_not_know_of_its_catalogs_is_refused(start: Start) -> None:
    with (
        contextlib.closing(pg8000.connect("u", port=start().port, database="sbtest")) as session,
        pytest.raises(pg8000.DatabaseError) as refused,
    ):
        session.cursor().execute("SELECT pg_try_advisory_lock(1)")
    assert code_of(refused.value) == "0A000"
