"""The program as a person starts it, against a real throwaway server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.sandbox import Sandbox, SandboxSpec, find_server, start_sandbox
from loadstone.sandbox.errors import SandboxError
from loadstone.store import folder, frame
from loadstone.store.replay import replay
from loadstone.target.connect import connect

SCHEMA = Path(folder.__file__).with_name("result.schema.json")
SHORT = ("--duration", "2s", "--warmup", "1s", "--shards", "1")

pytestmark = pytest.mark.server


def has_server() -> bool:
    try:
        find_server(None)
    except SandboxError:
        return False
    return True


if not has_server():
    pytest.skip("no database server here", allow_module_level=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    with start_sandbox(SandboxSpec()) as sandbox:
        yield sandbox


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path


def environment(server: Sandbox | None, home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    kept |= {"HOME": str(home / "home"), "COLUMNS": "100"}
    if server:
        kept["LOADSTONE_PASSWORD"] = server.tcp.credentials.reveal()
    return kept


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "loadstone.cli", *arguments]


def loadstone(
    *arguments: str, server: Sandbox | None, home: Path, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        cwd=home,
        env=environment(server, home),
        timeout=100,
    )
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done


def url(server: Sandbox, schema: str) -> str:
    return server.tcp.target.model_copy(update={"database": schema}).url


def prepared(server: Sandbox, home: Path, schema: str, *more: str) -> str:
    where = url(server, schema)
    sizes = ("--tables", "2", "--table-size", "1000")
    loadstone("prepare", *more, "--target", where, *sizes, server=server, home=home)
    return where


def only_run(home: Path) -> Path:
    (run,) = (home / "runs").iterdir()
    return run


def test_prepare_run_and_cleanup(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "whole")
    arguments = ("--target", where, "--concurrency", "1,4", *SHORT)
    said = loadstone("run", "oltp_read_write", *arguments, server=server, home=home).stdout
    assert "oltp_read_write, 2 tables × 1,000 rows, prepared statements" in said
    result = folder.load(only_run(home))
    jsonschema.validate(
        json.loads((only_run(home) / "result.json").read_text()), json.loads(SCHEMA.read_text())
    )
    assert [step.state for step in result.steps] == ["finished"] * 2
    for step in result.steps:
        assert step.tally_balances is True
        assert step.seconds == pytest.approx(2, abs=0.2)
        assert step.reads == pytest.approx(14 * step.events, rel=0.05, abs=40)
        assert not [note for note in step.notes if "latency.hlog" in note]
    gone = loadstone("cleanup", "--target", where, server=server, home=home).stdout
    assert "sbtest1, sbtest2" in gone
    missing = loadstone(
        "run", "oltp_read_write", "--target", where, server=server, home=home, code=3
    ).stderr
    assert "has no table sbtest1" in missing
    assert f"hint:  loadstone prepare --target {where}" in missing


def test_json_on_stdout_and_nothing_else(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "as_json")
    arguments = ("--target", where, "--json", *SHORT)
    done = loadstone("run", "oltp_point_select", *arguments, server=server, home=home)
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["steps"][0]["qps"] == pytest.approx(document["steps"][0]["tps"])
    assert done.stderr == ""


def test_result_and_frame_are_made_of_the_journal(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "journal")
    arguments = ("--target", where, *SHORT)
    loadstone("run", "oltp_read_write", *arguments, server=server, home=home)
    run = only_run(home)
    assert folder.to_json(replay(run)) == (run / "result.json").read_bytes()
    table = frame.read(run / "load.parquet")
    (step,) = folder.load(run).steps
    inside = table.filter(table["phase"] == "window")
    assert inside["events"].sum() == step.events


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_the_run_and_ends_with_130(
    server: Sandbox, home: Path, number: signal.Signals
) -> None:
    where = prepared(server, home, f"interrupted{int(number)}")
    arguments = ("--target", where, "--duration", "60s", "--warmup", "0s", "--concurrency", "2,4")
    running = subprocess.Popen(
        command("run", "oltp_read_write", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=environment(server, home),
    )
    wait_for_samples(home, 2)
    began = time.monotonic()
    running.send_signal(number)
    out, err = running.communicate(timeout=20)
    assert time.monotonic() - began < 7
    assert running.returncode == 130, err
    assert "stopped on request" in out
    result = folder.load(only_run(home))
    assert result.run.state == "stopped"
    assert result.steps[0].events > 0


def test_a_killed_run_shows_everything_up_to_the_last_second(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "killed")
    arguments = ("--target", where, "--duration", "60s", "--warmup", "0s", "--concurrency", "2")
    running = subprocess.Popen(
        command("run", "oltp_read_write", *arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=home,
        env=environment(server, home),
    )
    wait_for_samples(home, 3)
    live = loadstone("runs", "list", server=server, home=home).stdout
    assert " running " in live
    running.kill()
    running.wait()
    said = loadstone("runs", "show", "last", server=server, home=home).stdout
    assert "interrupted at 20" in said
    assert "step 1 not finished" in said
    (step,) = folder.load(only_run(home)).steps
    assert step.seconds >= 3
    assert step.tps is not None
    assert step.tps > 0
    known = {"load": "phase", "server": "questions", "host": "context_switches"}
    for table, column in known.items():
        words = ("runs", "export", "last", "--table", table)
        header, *rows = loadstone(*words, server=server, home=home).stdout.splitlines()
        assert column in header.split(",")
        assert len(rows) >= 3, table


def wait_for_samples(home: Path, seconds: int) -> None:
    """Until the journal has so many of them."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        journals = list(home.glob("runs/*/journal.jsonl"))
        if journals and journals[0].read_text().count('"kind":"sample"') >= seconds:
            return
        time.sleep(0.1)
    raise AssertionError("no samples came")


def test_without_a_target_a_throwaway_server_is_used_and_gone(home: Path) -> None:
    arguments = ("--tables", "1", "--table-size", "100", "--hot-rows", "2", *SHORT)
    done = loadstone("run", "hot_row", *arguments, server=None, home=home)
    assert "a throwaway" in done.stdout
    facts = json.loads((only_run(home) / "environment.json").read_text())
    assert facts["sandbox"]["settings"]["sync_binlog"] == "1"
    assert not Path(facts["sandbox"]["datadir"]).exists()
    assert facts["targets"][0]["variables"]["innodb_flush_log_at_trx_commit"] == "1"


def test_a_sandbox_that_stays_needs_no_password_typed(home: Path) -> None:
    def here(*arguments: str) -> str:
        return loadstone(*arguments, server=None, home=home).stdout

    started = json.loads(here("sandbox", "start", "--name", "stays", "--json"))
    try:
        where = f"mysql://loadstone@127.0.0.1:{started['port']}/sbtest"
        here("prepare", "--target", where, "--tables", "1", "--table-size", "100")
        here("run", "oltp_point_select", "--target", where, *SHORT)
    finally:
        here("sandbox", "stop", "stays")
    facts = json.loads((only_run(home) / "environment.json").read_text())
    assert facts["sandbox"]["name"] == "stays"
    disk = facts["generator"]["disks"]["sandbox"]
    assert disk["path"].startswith(str(home))
    # Under a changed root no line of the mounts holds the folder.
    assert bool(disk["file_system"]) == bool(disk["mount"])


def test_tls_is_asked_of_the_server(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "encrypted")
    for mode, encrypted in (("required", 2), ("disabled", 0)):
        arguments = ("--target", where, "--tls", mode, "--concurrency", "2", "--json", *SHORT)
        done = loadstone("run", "oltp_point_select", *arguments, server=server, home=home)
        step = json.loads(done.stdout)["steps"][0]
        assert step["encrypted_users"] == encrypted
        assert (step["tls"] is not None) == bool(encrypted)


def test_compression_is_agreed_on_or_told(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "compressed")
    for asked, compressed in (("zlib", 2), ("zstd,off" if on_mariadb(server) else "off", 0)):
        arguments = ("--compression", asked, "--concurrency", "2", "--json", *SHORT)
        done = loadstone(
            "run", "oltp_point_select", "--target", where, *arguments, server=server, home=home
        )
        result = json.loads(done.stdout)
        assert result["run"]["plan"]["targets"][0]["compression"] == asked.split(",")
        step = result["steps"][0]
        assert (step["compressed_users"], step["compression"]) == (
            (compressed, "zlib") if compressed else (0, None)
        )
        latest = max(home.glob("runs/*/environment.json"), key=lambda path: path.stat().st_mtime)
        agreed = json.loads(latest.read_text())["agreed"]
        assert (agreed["users"], agreed["compressed_users"]) == (2, compressed)
        assert agreed["compression"] == step["compression"]
    if on_mariadb(server):
        refused = loadstone(
            "run", "oltp_point_select", "--target", f"{where}?compression=zstd",
            server=server, home=home, code=3,
        )  # fmt: skip
        assert "compression: zstd is asked for, and the server offers zlib (2066)" in refused.stderr
        assert "hint:  take --compression off" in refused.stderr


def on_mariadb(server: Sandbox) -> bool:
    return server.flavour == "mariadb"


def test_a_wrong_password_is_one_line(server: Sandbox, home: Path) -> None:
    place = f"{server.tcp.target.host}:{server.port}"
    wrong = f"mysql://{server.tcp.target.user}:geheim@{place}/sbtest"
    said = loadstone(
        "run", "oltp_read_write", "--target", wrong, server=server, home=home, code=3
    ).stderr
    assert said.startswith(f"error: {place} refused user")
    assert "geheim" not in said


def test_more_users_than_the_server_takes_are_refused_at_once(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "crowded")
    with connect(server.local) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@max_connections")
        row = cursor.fetchone()
        assert row is not None
        cursor.execute("SET GLOBAL max_connections = 50")
        try:
            arguments = ("--target", where, "--concurrency", "1,64", *SHORT)
            said = loadstone(
                "run", "oltp_read_write", *arguments, server=server, home=home, code=3
            ).stderr
        finally:
            cursor.execute(f"SET GLOBAL max_connections = {row[0]}")
    assert "64 users do not fit" in said
    assert "has max_connections 50" in said


def test_tables_that_are_fewer_than_asked_are_said(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "fewer")
    arguments = ("--target", where, "--tables", "1", "--table-size", "500", *SHORT)
    said = loadstone("run", "oltp_point_select", *arguments, server=server, home=home).stdout
    assert "--tables 1, and schema fewer has 2 of them" in said
    assert "--table-size 500, and sbtest1 has 1000 rows" in said


def test_a_load_is_taken_up_and_another_one_is_refused(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "again")
    again = loadstone(
        "prepare", "--target", where, "--tables", "2", "--table-size", "1000",
        server=server, home=home,
    ).stdout  # fmt: skip
    assert "2 tables, 2,000 rows" in again
    assert "0 loaded" in again
    refused = loadstone(
        "prepare", "--target", where, "--tables", "2", "--table-size", "100",
        server=server, home=home, code=7,
    ).stderr  # fmt: skip
    assert "error: table sbtest1 was made with 1000 rows" in refused


def test_a_load_that_was_stopped_goes_on(server: Sandbox, home: Path) -> None:
    arguments = ("--target", url(server, "stopped"), "--tables", "2", "--table-size", "500k")
    loading = subprocess.Popen(
        command("prepare", *arguments),
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=environment(server, home),
    )
    assert loading.stderr is not None
    while "rows/s" not in loading.stderr.readline():
        assert loading.poll() is None
    loading.send_signal(signal.SIGINT)
    _, err = loading.communicate(timeout=20)
    assert loading.returncode == 130, err
    assert "the same command goes on where it was left" in err
    said = loadstone("prepare", *arguments, server=server, home=home).stdout
    assert "2 tables, 1,000,000 rows" in said


def test_a_server_that_is_killed_is_an_outage_in_the_run(home: Path) -> None:
    with start_sandbox(SandboxSpec()) as own:
        where = prepared(own, home, "killed_server")
        running = subprocess.Popen(
            command(
                "run", "oltp_read_write", "--target", where, "--concurrency", "4",
                "--duration", "15s", "--warmup", "0s",
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home,
            env=environment(own, home),
        )  # fmt: skip
        wait_for_samples(home, 3)
        own.kill()
        time.sleep(1)
        own.start_again()
        out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert "outage from" in out
    (step,) = folder.load(only_run(home)).steps
    assert step.tally_balances is True
    assert step.reconnects >= 4
    assert step.outages[0].users == 4


def test_a_sale_has_three_tables_that_come_and_go_together(server: Sandbox, home: Path) -> None:
    where = prepared(server, home, "sale", "hot_row")
    arguments = ("--target", where, "--concurrency", "8", *SHORT)
    said = loadstone("run", "hot_row", *arguments, server=server, home=home).stdout
    assert "row lock" in said
    assert "loadstone recipes run flash-sale measures them" in " ".join(said.split())
    with connect(server.tcp, database="sale") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT (SELECT SUM(sold) FROM hot_row1), (SELECT COUNT(*) FROM hot_order1)")
        sold, ordered = cursor.fetchall()[0]
        assert int(sold) == ordered > 0
        cursor.execute("DROP TABLE hot_order2")
    missing = loadstone(
        "run", "hot_row", *arguments, server=server, home=home, code=3
    ).stderr  # fmt: skip
    assert "has no table hot_order2" in missing
    assert f"hint:  loadstone prepare hot_row --target {where}" in missing
    loadstone("run", "hot_row", "--sale=off", "--skip-trx", *arguments, server=server, home=home)
    # What was ordered is no obstacle to preparing again.
    prepared(server, home, "sale", "hot_row")
    gone = loadstone("cleanup", "--target", where, server=server, home=home).stdout
    assert all(
        f"{name}{number}" in gone
        for name in ("hot_row", "hot_product", "hot_order")
        for number in (1, 2)
    )
