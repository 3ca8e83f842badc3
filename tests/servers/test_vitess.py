"""A real Vitess, as tools/get-vitess builds it, before a throwaway MySQL: sessions are not kept."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pymysql
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.model.finding import Diagnosis
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from pooled import QUICK, need
from servers.test_dolt import OF_THE_MACHINE

pytestmark = [
    pytest.mark.server, pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600),
]  # fmt: skip

VTCOMBO = Path(__file__).parents[2] / ".cache" / "vitess" / "vtcombo"
STARTS_S = 120
SETTINGS = {**QUICK, "gtid_mode": "ON", "enforce_gtid_consistency": "ON"}
TOPOLOGY = 'keyspaces:{name:"shop" shards:{name:"0"} replica_count:1 rdonly_count:-1} cells:"test"'
NOBODY = 65534
"""As root it refuses to start."""


@dataclass(frozen=True)
class Vitess:
    """A running Vitess, and a folder for the runs on it."""

    port: int
    folder: Path

    def loadstone(self, *words: str) -> CompletedProcess[str]:
        """Call the program with its keyspace `shop` as the target."""
        url = f"mysql://root@127.0.0.1:{self.port}/shop"
        # Its own connections to MySQL are those of another application.
        return called(*words, "--target", url, "--yes", folder=self.folder)

    def asked(self, statement: str) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        own = pymysql.connect(host="127.0.0.1", port=self.port, user="root", database="shop")
        with own, own.cursor() as cursor:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def vitess(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vitess]:
    """One shard with a primary, in a MySQL of its own."""
    if not VTCOMBO.exists():
        pytest.skip("not evaluated: no Vitess here; tools/get-vitess builds it")
    auth = ("caching_sha2_password",)
    with start_sandbox(SandboxSpec(server=need("mysql"), auth=auth, settings=SETTINGS)) as mysql:
        with mysql.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER vt@'%' IDENTIFIED WITH caching_sha2_password BY ''")
            cursor.execute("GRANT ALL ON *.* TO vt@'%' WITH GRANT OPTION")
            cursor.execute("CREATE DATABASE vt_shop_0")
        with _before(mysql) as port:
            yield Vitess(port, tmp_path_factory.mktemp("runs"))


@contextmanager
def _before(mysql: Sandbox) -> Iterator[int]:
    # Where others than root may read and write, which they may not in pytest's folders.
    home = Path(tempfile.mkdtemp(prefix="vitess-"))
    home.chmod(0o777)
    for folder in ("tmp", "own"):
        (home / folder).mkdir()
        (home / folder).chmod(0o777)
    program = shutil.copy(VTCOMBO, home / "vtcombo")
    web, rpc, port = _free_ports(3)
    roles = ("app", "dba", "allprivs", "appdebug", "filtered", "repl")
    users = [word for role in roles for word in (f"--db-{role}-user", "vt")]
    options = [
        "--bind-address", "127.0.0.1", "--port", str(web), "--grpc-port", str(rpc),
        "--proto-topo", TOPOLOGY, "--tablet-types-to-wait", "PRIMARY",
        "--mycnf-server-id", "1", "--dbddl-plugin", "vttest",
        "--db-host", "127.0.0.1", "--db-port", str(mysql.port), *users,
        "--mysql-auth-server-impl", "none", "--mysql-server-port", str(port),
        "--mysql-server-bind-address", "127.0.0.1",
    ]  # fmt: skip
    environment = {**os.environ, "HOME": str(home / "own"), "VTDATAROOT": str(home)}
    is_root = os.geteuid() == 0
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [program, *options], cwd=home / "own", env=environment, stdout=log, stderr=log,
            user=NOBODY if is_root else None, group=NOBODY if is_root else None,
        )  # fmt: skip
    try:
        _wait_for(port, server)
        yield port
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(home)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        for one in found:
            stack.enter_context(one)
        return [one.getsockname()[1] for one in found]


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert server.poll() is None and time.monotonic() < deadline, "Vitess did not start"
            time.sleep(0.1)
        else:
            return


def test_tables_are_made_driven_reported_and_removed(vitess: Vitess) -> None:
    vitess.loadstone("prepare", "--tables", "2", "--table-size", "1000")
    assert vitess.asked("SELECT COUNT(*) FROM sbtest2") == [(1000,)]

    words = ("--duration", "3s", "--warmup", "1s", "--tables", "2")
    vitess.loadstone("run", "oltp_point_select", *words, "--concurrency", "1,4", "--name", "reads")
    (run,) = vitess.folder.glob("runs/reads-*")
    reads = run_folder.load(run)
    assert [step.concurrency for step in reads.steps] == [1, 4]
    assert all(step.events and not step.failed for step in reads.steps)
    said = json.loads(called("diagnose", str(run), "--json", folder=vitess.folder).stdout)
    (ladder,) = (Diagnosis.model_validate(one) for one in said["ladders"])
    assert {one.cause for one in ladder.findings if one.group != "note"} <= OF_THE_MACHINE
    page = vitess.folder / "page.html"
    called("report", str(run), "-o", str(page), folder=vitess.folder)
    assert page.stat().st_size > 10_000

    for how in ((), ("--text",)):
        name = f"both{len(how)}"
        mixed = ("run", "oltp_read_write", *words, *how, "--concurrency", "4", "--name", name)
        vitess.loadstone(*mixed, "--no-observe")
        (run,) = vitess.folder.glob(f"runs/{name}-*")
        (step,) = run_folder.load(run).steps
        assert step.events and not step.failed and "1243" not in step.errors

    vitess.loadstone("cleanup")
    assert vitess.asked("SHOW TABLES LIKE 'sbtest%'") == []
