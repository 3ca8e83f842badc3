"""What works on each release that people run: a test is a row of docs/servers.md."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from accounted import unexplained
from called import called
from engine.driving import a_plan, described, drive
from loadstone.families import connect
from loadstone.lab.tables.tpcc_consistency import CONDITIONS, verdicts
from loadstone.model.records import Connected
from loadstone.model.target import Endpoint, Tls
from servers.conftest import OLDEST, WORKLOADS, Cell, Release

pytestmark = [
    pytest.mark.server, pytest.mark.slow, pytest.mark.nightly, pytest.mark.servers,
    pytest.mark.timeout(600),
]  # fmt: skip

TABLES = ("--tables", "2", "--table-size", "5000")
SHORT = ("--concurrency", "4", "--duration", "2s", "--warmup", "500ms")


def connected_at(endpoint: Endpoint) -> Connected:
    """What the engine says of its login; there are no tables yet."""
    connected = drive(a_plan(described(endpoint))).connected
    assert connected is not None
    return connected


def transports(release: Release, method: str) -> tuple[Tls, ...]:
    """Without and with TLS; servers with yaSSL take sha256_password's password within TLS alone."""
    in_clear = Tls(mode="disabled")
    needs_tls = method == "sha256_password" and release.name in OLDEST
    return (release.tls,) if needs_tls else (in_clear, release.tls)


def test_logs_in(release: Release, cell: Cell) -> None:
    """An account of each method, over TCP and TLS, without and with the server's cache."""
    methods = [account.method for account in release.sandbox.accounts[1:]]
    for method in methods:
        for tls in transports(release, method):
            endpoint = release.sandbox.endpoint(method, tls=tls)
            for _ in ("the password itself", "its hash where the server keeps a cache"):
                connected_at(endpoint)
            connect(endpoint).close()
    cell(", ".join(methods))


def test_TLS(release: Release, cell: Cell) -> None:
    connected = connected_at(release.sandbox.endpoint(tls=release.tls))
    assert connected.tls is not None
    named = f" (`--tls-version {','.join(release.tls.versions)}`)" if release.tls.versions else ""
    cell(connected.tls.replace("TLS_", "").replace("_WITH_", " ") + named)


def test_preferred_TLS(release: Release, cell: Cell) -> None:
    """What a user gets who says nothing about TLS."""
    tls = release.tls.model_copy(update={"mode": "preferred", "versions": ()})
    connected = connected_at(release.sandbox.endpoint(tls=tls))
    assert (connected.why_in_clear is None) == bool(connected.encrypted_users)
    cell("encrypted" if connected.encrypted_users else "in clear, and why")


def test_prepare(release: Release, cell: Cell) -> None:
    release.loadstone("prepare", *TABLES)
    with release.sandbox.connect() as connection, connection.cursor() as cursor:
        for number in (1, 2):
            cursor.execute(f"SELECT COUNT(*), MAX(id) FROM sbtest{number}")
            assert cursor.fetchone() == (5000, 5000)
    cell("yes")


def test_workloads(release: Release, cell: Cell) -> None:
    for workload in WORKLOADS:
        (step,) = release.driven(workload, *TABLES, *SHORT).steps
        assert step.state == "finished", (workload, step.error)
        assert step.tally_balances, workload
        assert not step.errors.keys() - {"1213", "1205", "1020"}, (workload, step.errors)
    cell(f"all {len(WORKLOADS)}")


def test_TPC_C(release: Release, cell: Cell) -> None:
    release.loadstone("prepare", "tpcc", "--warehouses", "1")
    release.driven("tpcc", "--warehouses", "1", *SHORT)
    numbers = [condition.number for condition in CONDITIONS]
    assert all(one.holds for one in verdicts(release.sandbox.tcp, numbers))
    cell(f"consistent by all {len(numbers)} conditions")


def test_account(release: Release, cell: Cell) -> None:
    (step,) = release.driven(
        "oltp_read_write", *TABLES, "--concurrency", "4", "--duration", "5s"
    ).steps
    assert step.server is not None
    assert step.server.questions_per_s
    assert step.account is not None
    assert unexplained(step.account) <= 0.02
    assert step.account.unnamed < 0.1
    cell(f"by {step.account.view}, {100 * step.account.unnamed:.1f} % unnamed")


def test_diagnosed_and_proven(release: Release, cell: Cell) -> None:
    """A general log, which the diagnosis names and an experiment takes away and puts back."""
    with logged(release):
        said = called(*proof_of_the_log(release, "log"), folder=release.folder, code=None)
        assert "general-log" in said.stdout, said.stderr
        assert log_is_on(release)
    verdict = next(
        word for word in ("proven", "refuted", "not enough evidence") if word in said.stdout
    )
    assert verdict != "refuted", said.stdout
    cell(verdict)


def test_restored(release: Release, cell: Cell) -> None:
    """The proof is killed while the log is off; `loadstone restore` switches it on again."""
    with logged(release):
        words = proof_of_the_log(release, "killed")
        with subprocess.Popen(
            [sys.executable, "-m", "loadstone.cli", *words],
            cwd=release.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as proving:
            until = time.monotonic() + 120
            try:
                while log_is_on(release):
                    assert proving.poll() is None, "it ended before it changed anything"
                    assert time.monotonic() < until
                    time.sleep(0.05)
            finally:
                proving.kill()
        assert not log_is_on(release)
        called("restore", folder=release.folder)
        assert log_is_on(release)
    cell("yes")


@contextmanager
def logged(release: Release) -> Iterator[None]:
    """The server logs each statement into a table, for which all sessions wait in turn."""
    try:
        execute(release, "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON")
        yield
    finally:
        execute(release, "SET GLOBAL general_log = OFF", "TRUNCATE mysql.general_log")


def execute(release: Release, *statements: str) -> None:
    with release.sandbox.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def log_is_on(release: Release) -> bool:
    with release.sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.general_log")
        return bool(cursor.fetchone() == (1,))


def proof_of_the_log(release: Release, name: str) -> tuple[str, ...]:
    """The command that proves what the log costs in a run of that name, which is driven first."""
    load = ("oltp_point_select", *TABLES, "--concurrency", "8", "--duration", "3s")
    release.driven(*load, name=name)
    run = str(release.folder_of(name))
    return ("diagnose", run, "--prove", "--prove-only", "general-log", "--prove-time", "120s")
