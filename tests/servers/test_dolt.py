"""A real Dolt, as tools/get-dolt builds it: a server that speaks MySQL's protocol and is none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pymysql
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.model.finding import Diagnosis
from loadstone.runs import run_folder

pytestmark = [
    pytest.mark.server, pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600),
]  # fmt: skip

DOLT = Path(__file__).parents[2] / ".cache" / "dolt" / "dolt"
STARTS_S = 60
OF_THE_MACHINE = {
    "cpu-bound", "client-bound", "noisy-neighbour", "steal", "few-users", "unexplained",
}  # fmt: skip
"""What may be said of a healthy server that is not known from within."""


@dataclass(frozen=True)
class Dolt:
    """A running server, and a folder for the runs on it."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        """Its schema `shop`, as its first user, who has no password."""
        return f"mysql://root@127.0.0.1:{self.port}/shop"

    def loadstone(self, *words: str, code: int | None = 0) -> CompletedProcess[str]:
        """Call the program with this server as its target."""
        return called(*words, "--target", self.url, folder=self.folder, code=code)

    def asked(self, statement: str) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        own = pymysql.connect(host="127.0.0.1", port=self.port, user="root", database="shop")
        with own, own.cursor() as cursor:
            cursor.execute(statement)
            own.commit()
            return [tuple(row) for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def dolt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dolt]:
    """A server with an empty schema."""
    if not DOLT.exists():
        pytest.skip("not evaluated: no Dolt here; tools/get-dolt builds it")
    home = tmp_path_factory.mktemp("dolt")
    shop = home / "shop"
    shop.mkdir()
    environment = {**os.environ, "HOME": str(home)}
    for words in (
        ("config", "--global", "--add", "metrics.disabled", "true"),
        ("config", "--global", "--add", "user.name", "tests"),
        ("config", "--global", "--add", "user.email", "tests@localhost"),
        ("init",),
    ):
        subprocess.run([DOLT, *words], cwd=shop, env=environment, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--host", "127.0.0.1", "--port", str(port), "--user", "root", "--loglevel", "fatal")
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [DOLT, "sql-server", *options, "--max-connections", "200"],
            cwd=shop, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        _wait_for(port, server)
        yield Dolt(port, tmp_path_factory.mktemp("runs"))
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert server.poll() is None and time.monotonic() < deadline, "Dolt did not start"
            time.sleep(0.1)
        else:
            return


def test_tables_are_made_driven_reported_and_removed(dolt: Dolt) -> None:
    dolt.loadstone("prepare", "--tables", "2", "--table-size", "1000")
    assert dolt.asked("SELECT COUNT(*) FROM sbtest2") == [(1000,)]
    ((_, created),) = dolt.asked("SHOW CREATE TABLE sbtest1")
    assert "loadstone " in str(created), created

    words = ("--concurrency", "1,4", "--duration", "3s", "--warmup", "1s", "--tables", "2")
    dolt.loadstone("run", "oltp_point_select", *words, "--name", "reads")
    (run,) = dolt.folder.glob("runs/reads-*")
    reads = run_folder.load(run)
    assert [step.concurrency for step in reads.steps] == [1, 4]
    assert all(step.events and not step.failed for step in reads.steps)
    said = json.loads(called("diagnose", str(run), "--json", folder=dolt.folder).stdout)
    (ladder,) = (Diagnosis.model_validate(one) for one in said["ladders"])
    assert {one.cause for one in ladder.findings if one.group != "note"} <= OF_THE_MACHINE

    page = dolt.folder / "page.html"
    called("report", str(run), "-o", str(page), folder=dolt.folder)
    assert page.stat().st_size > 10_000

    dolt.loadstone("cleanup")
    assert dolt.asked("SHOW TABLES LIKE 'sbtest%'") == []


def test_a_table_of_somebody_else_is_left_alone(dolt: Dolt) -> None:
    """Its columns are those of ours, and nothing says that it is."""
    dolt.loadstone("prepare", "--tables", "1", "--table-size", "10")
    dolt.asked("DROP TABLE sbtest1")
    dolt.asked(
        "CREATE TABLE sbtest1 (id int NOT NULL AUTO_INCREMENT PRIMARY KEY,"
        " k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '',"
        " pad char(60) NOT NULL DEFAULT '')"
    )
    dolt.asked("INSERT INTO sbtest1 (k) VALUES (42)")
    dolt.loadstone("cleanup", code=None)
    assert dolt.asked("SELECT k FROM sbtest1") == [(42,)]
