"""Observed runs against real servers: the counters are those of the load, and looking is cheap."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

import pymysql
from pydantic import SecretStr

from loadstone.model.observed import SourceName
from loadstone.model.result import Result, StepResult
from loadstone.model.target import Credentials, Endpoint
from loadstone.observe.counters import canonical
from loadstone.observe.server import ServerSource
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.store import folder, frame
from loadstone.target.connect import Connection, connect

SCHEMA_ON = {"performance_schema": "ON"}
SCHEMA_OFF = {"performance_schema": "OFF"}
KINDS = [
    pytest.param(("mariadb", SCHEMA_OFF), id="mariadb"),
    pytest.param(("mariadb", SCHEMA_ON), id="mariadb-performance-schema"),
    pytest.param(("mysql", SCHEMA_ON), id="mysql", marks=pytest.mark.mysql),
    pytest.param(("mysql", SCHEMA_OFF), id="mysql-no-performance-schema", marks=pytest.mark.mysql),
]

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    kind, settings = request.param
    try:
        find_server(kind)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    state = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with start_sandbox(SandboxSpec(server=kind, settings=settings)) as sandbox:
            loadstone(sandbox, state, "prepare", "--tables", "2", "--table-size", "1000")
            yield sandbox


def loadstone(server: Sandbox, home: Path, command: str, *options: str, over: str = "tcp") -> str:
    endpoint = server.tcp if over == "tcp" else server.local
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    kept |= {
        "HOME": str(home),
        "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
        "LOADSTONE_PASSWORD": endpoint.credentials.reveal(),
    }
    words = command.split()
    done = subprocess.run(
        [sys.executable, "-m", "loadstone.cli", *words, "--target", endpoint.target.url, *options],
        capture_output=True,
        text=True,
        cwd=home,
        env=kept,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stdout


def observed(server: Sandbox, home: Path, *options: str, over: str = "tcp") -> tuple[Path, Result]:
    short = ("--duration", "3s", "--warmup", "1s", "--concurrency", "4", "--on-error", "restart")
    loadstone(server, home, *options[:1], *short, *options[1:], over=over)
    run = next((home / "runs").iterdir())
    return run, folder.load(run)


def one(result: Result) -> StepResult:
    (step,) = result.steps
    return step


@pytest.mark.parametrize("over", ["tcp", "socket"])
def test_commits_and_rows_are_exactly_what_the_generator_did(
    server: Sandbox, tmp_path: Path, over: str
) -> None:
    _, result = observed(server, tmp_path, "run oltp_write_only", over=over)
    step = one(result)
    assert step.server is not None
    assert step.tally is not None
    totals, events = step.server.totals, step.tally.succeeded
    assert events > 50
    assert step.failed == 0
    # An event that was begun anew ends with a ROLLBACK and no COMMIT.
    assert totals["com_commit"] == events
    # One row inserted and one deleted by event; what was rolled back was done too.
    assert totals["rows_inserted"] >= events
    assert totals["rows_inserted"] - events <= 4 * step.restarts + 4
    # MySQL counts what was begun anew as well, where it had changed something before, and a few
    # transactions of its own.
    again = sum(step.errors.values()) + sum(step.errors_outside.values())
    assert totals["binlog_commits"] - events in range(0, again + 12)


def test_reads_are_counted_by_the_server_as_they_were_sent(server: Sandbox, tmp_path: Path) -> None:
    _, result = observed(server, tmp_path, "run oltp_point_select")
    step = one(result)
    assert step.server is not None
    assert step.tally is not None
    assert step.server.totals["com_select"] - step.tally.succeeded in range(0, 60), (
        "no more than the statements of the connection that asks"
    )
    sent = step.bytes_out / step.seconds
    assert step.server.rates["bytes_received"] == pytest.approx(sent, rel=0.03)
    assert step.server.rates["bytes_sent"] == pytest.approx(step.bytes_in / step.seconds, rel=0.03)


def test_syncs_are_those_that_strace_sees(server: Sandbox, tmp_path: Path) -> None:
    strace = _strace_of(server, tmp_path)
    if strace is None:
        pytest.skip("not evaluated: strace is not installed, or may not trace")
    try:
        _, result = observed(server, tmp_path, "run oltp_update_non_index")
    finally:
        strace.terminate()
        strace.wait(10)
    step = one(result)
    assert step.server is not None
    totals = step.server.totals
    seen = Counter(_file_of(line) for line in (tmp_path / "strace.out").read_text().splitlines())
    for name, files in (("log_syncs", REDO), ("binlog_syncs", ("binlog",))):
        if name not in totals:
            assert (name, server.flavour) == ("binlog_syncs", "mysql"), "performance_schema is off"
            continue
        traced = sum(count for file, count in seen.items() if file.startswith(files))
        assert totals[name] == pytest.approx(traced, rel=0.03, abs=10), name


REDO = ("ib_logfile", "#ib_redo")


def _file_of(line: str) -> str:
    """The name of the file that a line of `strace -y` is about; those resumed are counted once."""
    found = re.search(r"sync\(\d+<([^>]*)>", line)
    return Path(found[1]).name if found else ""


def _strace_of(server: Sandbox, place: Path) -> subprocess.Popen[bytes] | None:
    pid = _pid_of(server)
    try:
        strace = subprocess.Popen(
            ["strace", "-f", "-y", "-qq", "-e", "trace=fsync,fdatasync", "-p", str(pid), "-o"]
            + [str(place / "strace.out")],
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return None
    try:
        strace.wait(1.0)
    except subprocess.TimeoutExpired:
        return strace
    return None


def _pid_of(server: Sandbox) -> int:
    mark = server.state.server
    assert mark is not None
    return mark.pid


def test_the_host_of_a_sandbox_is_this_machine(server: Sandbox, tmp_path: Path) -> None:
    _, result = observed(server, tmp_path, "run oltp_read_write")
    step = one(result)
    assert step.host is not None
    assert step.host == step.generator_host
    assert step.host.cores == os.cpu_count()
    assert step.host.nic == "lo"
    assert step.host.disk is not None
    assert step.host.cores is not None
    used = (step.host.process_cpu_user or 0.0) + (step.host.process_cpu_sys or 0.0)
    assert 0.05 < used <= step.host.cores
    assert step.host.disk_write_iops
    busy = 1 - (step.host.cpu_idle or 0.0) - (step.host.cpu_iowait or 0.0)
    assert used / step.host.cores <= busy + 0.1


def test_looking_takes_less_than_a_hundredth_of_a_core(server: Sandbox, tmp_path: Path) -> None:
    before = _cpu_of(_pid_of(server))
    loadstone(server, tmp_path, "watch", "--duration", "6s")
    spent = _cpu_of(_pid_of(server)) - before
    (run,) = (tmp_path / "runs").iterdir()
    observing = one(folder.load(run)).observing
    assert observing is not None
    # A machine at work makes each dearer; the bench `observing` measures what is promised.
    assert observing.cpu_share < 0.03
    assert spent / 6 < 0.05


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_hot_spots_or_what_to_switch_on(server: Sandbox, tmp_path: Path) -> None:
    _, result = observed(server, tmp_path, "run oltp_read_write", "--text")
    spots = one(result).hot_spots
    assert spots is not None
    with connect(server.local) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@performance_schema")
        (on,) = cursor.fetchone() or (0,)
    if not int(on):
        assert "performance_schema=ON" in spots.not_evaluated["statements"]
        return
    texts = " ".join(spot.statement for spot in spots.statements).lower()
    assert "sbtest1" in texts or "sbtest2" in texts, spots.not_evaluated
    assert {spot.table.split(".")[-1] for spot in spots.tables} >= {"sbtest1", "sbtest2"}


def test_a_user_without_rights_sees_less_and_is_told_what_is_missing(server: Sandbox) -> None:
    with connect(server.local) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER IF NOT EXISTS plain@'%' IDENTIFIED BY 'plain-words'")
    login = Credentials(password=SecretStr("plain-words"))
    target = server.local.target.model_copy(update={"user": "plain"})
    source = ServerSource(SourceName(role="server"), Endpoint(target=target, credentials=login))
    try:
        reading = canonical(source.read())
    finally:
        source.close()
    assert reading.counters["questions"] > 0
    for part in ("innodb_metrics", "transactions", "connection_states"):
        assert "lacks the right" in reading.facts[f"not_evaluated.{part}"], part
    assert not any(name.startswith("state.") for name in reading.gauges)


def test_an_observer_that_is_cut_off_costs_no_second_of_load(
    server: Sandbox, tmp_path: Path
) -> None:
    words = ["--target", server.tcp.target.url, "--duration", "5s", "--warmup", "0s"]
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    kept |= {"HOME": str(tmp_path), "LOADSTONE_PASSWORD": server.tcp.credentials.reveal()}
    run = subprocess.Popen(
        [sys.executable, "-m", "loadstone.cli", "run", "oltp_point_select", *words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env=kept,
    )
    try:
        killed = _kill_the_one_that_asks(server)
        out, _ = run.communicate(timeout=60)
    finally:
        run.kill()
    document: dict[str, Any] = json.loads(out)
    (step,) = document["steps"]
    assert killed
    assert step["seconds"] == pytest.approx(5.0, abs=0.5)
    assert step["reconnects"] == 0
    assert any("server was lost" in note for note in step["notes"]), step["notes"]


def _kill_the_one_that_asks(server: Sandbox) -> bool:
    import time

    deadline = time.monotonic() + 20
    with connect(server.local) as connection, connection.cursor() as cursor:
        time.sleep(3.0)
        while time.monotonic() < deadline:
            cursor.execute(
                "SELECT ID FROM information_schema.processlist WHERE DB IS NULL"
                " AND COMMAND = 'Sleep' AND ID <> CONNECTION_ID()"
            )
            rows = cursor.fetchall()
            if rows:
                cursor.execute(f"KILL {int(rows[0][0])}")
                return True
            time.sleep(0.1)
    return False


def test_the_parquet_files_have_a_row_a_second(server: Sandbox, tmp_path: Path) -> None:
    run, result = observed(server, tmp_path, "run oltp_point_select")
    load = frame.read(run / "load.parquet")
    for name in ("server.parquet", "host.parquet"):
        table = frame.read(run / name)
        assert abs(table.height - load.height) <= 3
        seconds = table["second"].to_list()
        assert seconds == sorted(seconds)
        # In step with the load: all but the first and the last fall on whole seconds.
        assert all(abs(at - round(at)) < 0.25 for at in seconds[1:-1]), seconds


def test_a_statement_at_work_is_timed_and_one_that_sleeps_is_not(server: Sandbox) -> None:
    texts = ("SELECT SLEEP(60)", "SELECT BENCHMARK(2000000000, SHA2('a', 256))")
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(server.connect()) for _ in texts]
        numbers = [_number_of(session) for session in sessions]
        for session, number, text in zip(sessions, numbers, texts, strict=True):
            asking = threading.Thread(target=_ask_until_killed, args=(session, text))
            asking.start()
            stack.callback(asking.join)
            stack.callback(_kill, server, number)
            time.sleep(1.5)
        source = ServerSource(SourceName(role="server"), server.tcp)
        before = _times(server, numbers)
        reading = canonical(source.read())
        after = _times(server, numbers)
        source.close()
    (slept, worked), (_, worked_after) = before, after
    assert slept > worked
    assert worked <= reading.gauges["longest_statement_s"] <= worked_after


def _number_of(session: Connection) -> int:
    with session.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        ((number,),) = cursor.fetchall()
    return int(number)


def _ask_until_killed(session: Connection, text: str) -> None:
    # MariaDB says that it was killed, MySQL's SLEEP only comes back.
    with contextlib.suppress(pymysql.MySQLError):
        session.cursor().execute(text)


def _kill(server: Sandbox, number: int) -> None:
    with server.connect() as session:
        session.cursor().execute(f"KILL QUERY {number}")


def _times(server: Sandbox, numbers: Sequence[int]) -> list[int]:
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("SELECT ID, TIME FROM information_schema.processlist")
        found = dict(cursor.fetchall())
    return [int(found[number]) for number in numbers]


def test_statements_inside_triggers_are_counted_apart(server: Sandbox) -> None:
    source = ServerSource(SourceName(role="server"), server.tcp)
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute(f"USE {server.state.database}")
        cursor.execute("CREATE TABLE pulled (id INT PRIMARY KEY)")
        cursor.execute(
            "CREATE TRIGGER pull BEFORE INSERT ON pulled FOR EACH ROW"
            " BEGIN SET @a = (SELECT 1); SET @b = (SELECT 2); SET @c = (SELECT 3); END"
        )
        before = canonical(source.read()).counters
        for number in range(100):
            cursor.execute("INSERT INTO pulled VALUES (%s)", (number,))
        after = canonical(source.read()).counters
        cursor.execute("DROP TABLE pulled")
    source.close()
    sent, every = (after[name] - before[name] for name in ("questions", "queries"))
    assert 100 <= sent < 150
    assert 300 <= every - sent < 350
