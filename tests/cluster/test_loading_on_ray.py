"""Tables of real servers, filled from two nodes of real Ray, and with one of them gone."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.nodes import OTHER, PATIENCE_S, Nodes, two_nodes
from loadstone.model.exit_codes import ExitCode
from loadstone.mysql import schemas
from loadstone.sandbox import Sandbox
from pooled import Pool
from postgres.server import Server, find_programs
from postgres.server import started as postgresql
from trust.summing import execute, rows_of

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(300),
    pytest.mark.server,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: make test-cluster"
    ),
]

RANGE = 25_000
SIZE = 3 * RANGE
TABLES = 2
WAITING = "Waiting for table metadata lock"


@pytest.fixture(scope="module")
def server(pool: Pool) -> Iterator[Sandbox]:
    """The pool's server; the schema of these tests is dropped at the end."""
    sandbox = pool.server()
    yield sandbox
    execute(sandbox, "DROP DATABASE IF EXISTS shop")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    yield from two_nodes(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(autouse=True)
def password(server: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())


def prepare(nodes: Nodes, server: Sandbox, *more: str, size: int = SIZE) -> subprocess.Popen[str]:
    target = server.tcp.target.model_copy(update={"database": "shop"})
    return nodes.loadstone(
        "prepare", "--target", target.url, "--tables", str(TABLES), "--table-size", str(size),
        "--parallel", "4", "--yes", *more,
    )  # fmt: skip


def finished(program: subprocess.Popen[str]) -> str:
    out, err = program.communicate(timeout=PATIENCE_S)
    assert program.returncode == 0, err
    return out


def wait_for_loaders(server: Sandbox, number: int) -> None:
    """Wait until this many loaders wait for the locked tables."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT COUNT(*) FROM information_schema.processlist"
                f" WHERE state = '{WAITING}' AND info LIKE 'LOAD DATA%'"
            )
            ((waiting,),) = cursor.fetchall()
        if waiting >= number:
            return
        assert time.monotonic() < deadline, f"{waiting} loaders wait"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def alone(nodes: Nodes, server: Sandbox) -> dict[str, Any]:
    """Rows that a single machine loads; its tables are left to the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
        finished(prepare(nodes, server))
    found = rows_of(server, "shop")
    assert len(found) == TABLES
    return found


def test_two_nodes_load_what_one_machine_loads(
    nodes: Nodes, server: Sandbox, alone: dict[str, Any]
) -> None:
    execute(server, "DROP DATABASE shop")
    said = finished(prepare(nodes, server, "--cluster", nodes.address))
    assert f"{TABLES} tables, {TABLES * SIZE:,} rows; {TABLES * SIZE:,} loaded" in said
    assert rows_of(server, "shop") == alone


@pytest.mark.nightly
def test_two_nodes_load_and_drive_postgresql(nodes: Nodes) -> None:
    if (programs := find_programs()) is None:
        pytest.skip("no PostgreSQL: tools/get-postgres fetches one")
    layout = ("--tables", str(TABLES), "--table-size", str(SIZE))
    with postgresql(programs) as server:

        def carried_out(command: str, *more: str, database: str = "together") -> str:
            target = f"postgresql://by_trust@127.0.0.1:{server.port}/{database}?tls=disabled"
            return finished(nodes.loadstone(*command.split(), "--target", target, *more))

        for database in ("alone", "together"):
            server.asked(f"CREATE DATABASE {database} OWNER by_trust")
        carried_out("prepare", *layout, database="alone")
        together = ("--cluster", nodes.address)
        said = carried_out("prepare", *layout, "--parallel", "4", *together)
        assert f"{TABLES * SIZE:,} loaded" in said
        assert sums_of(server, "together") == sums_of(server, "alone")
        time = ("--warmup", "0s", "--duration", "3s", "--json")
        levels = ("--concurrency", "4", "--generators", "2")
        said = carried_out("run oltp_read_write", *layout, *levels, *time, *together)
    (step,) = json.loads(said)["steps"]
    assert [part["users"] for part in step["generators"]] == [2, 2]
    assert step["tps"] > 0


def sums_of(server: Server, database: str) -> list[list[list[str]]]:
    """The number of rows and a sum over all columns, of each table."""
    sums = "count(*), sum(hashtextextended(t::text, 0))"
    tables = (f"sbtest{number + 1}" for number in range(TABLES))
    return [server.asked(f"SELECT {sums} FROM {table} t", database) for table in tables]


@pytest.mark.nightly
def test_a_node_that_dies_is_an_error_and_the_same_command_loads_what_is_missing(
    nodes: Nodes, server: Sandbox, alone: dict[str, Any]
) -> None:
    for name in alone:
        execute(server, f"DELETE FROM shop.{name} WHERE id > {RANGE}")
    # Loaders can look at the rows of tables that are locked so, and bring none.
    with server.connect() as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLES shop.sbtest1 READ, shop.sbtest2 READ")
        program = prepare(nodes, server, "--cluster", nodes.address)
        wait_for_loaders(server, 4)
        nodes.nodes.pop(OTHER).kill()
        assert program.stderr is not None
        assert any("was lost" in line for line in program.stderr)
        cursor.execute("UNLOCK TABLES")
    out, err = program.communicate(timeout=PATIENCE_S)
    assert (program.returncode, out) == (ExitCode.CLUSTER, ""), err
    assert f"generator 1 on {OTHER} was lost: " in err
    lost = re.search(r"; ([\d,]+) rows are missing, in (.*)", err)
    assert lost, err
    assert int(lost[1].replace(",", "")) == 2 * RANGE
    assert re.match(r"sbtest[12] where id BETWEEN \d+ AND \d+", lost[2])
    assert "the same command loads what is missing" in err
    assert "Traceback" not in err
    # A half-loaded table is listed as such, and `run` refuses it.
    with server.connect() as connection:
        listed = schemas.read_schema(connection, server.tcp.target, "shop").listed
    assert {line.state for line in listed} == {"loading"}
    said = finished(prepare(nodes, server, "--cluster", nodes.address))
    assert f"{2 * RANGE:,} loaded" in said
    assert rows_of(server, "shop") == alone
