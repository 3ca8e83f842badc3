"""`loadstone null-server` as a person starts it, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest

from called import called

PATIENCE_S = 90.0
"""A machine may be busy with other tests; what takes longer hangs."""

LOADSTONE = [sys.executable, "-m", "loadstone.cli"]
Open = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def open_server(tmp_path: Path) -> Iterator[Open]:
    """Starts the command with options; ends servers that are still running after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*LOADSTONE, "null-server", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def place(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The line of JSON that the command prints first."""
    assert process.stdout is not None
    said: dict[str, Any] = json.loads(process.stdout.readline())
    return said


def ask(port: int, statement: str) -> tuple[tuple[object, ...], ...]:
    with (
        pymysql.connect(
            host="127.0.0.1", port=port, user="u", password="any", ssl_disabled=True
        ) as session,
        session.cursor() as cursor,
    ):
        cursor.execute(statement)
        rows: tuple[tuple[object, ...], ...] = cursor.fetchall()
        return rows


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_its_counters(open_server: Open, number: signal.Signals) -> None:
    process = open_server("--json", "--tables", "3", "--range-rows", "7")
    said = place(process)
    assert said["target"] == f"mysql://u@127.0.0.1:{said['port']}/sbtest"
    assert (said["pid"], said["tls"], said["socket"]) == (process.pid, False, None)
    rows = ask(said["port"], "SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 9")
    assert len(rows) == 7
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    counted = json.loads(out)
    assert (counted["queries"], counted["answered"], counted["open_max"]) == (1, 1, 1)


@pytest.mark.slow
def test_the_line_to_copy_works_and_the_table_follows(open_server: Open, tmp_path: Path) -> None:
    process = open_server("--tls", "--script", '{"service": {"kind": "constant", "us": 1000}}')
    assert process.stdout is not None
    listening, command = process.stdout.readline(), process.stdout.readline()
    assert re.fullmatch(r"listening on 127\.0\.0\.1:\d+, until Ctrl-C\n", listening)
    words = shlex.split(command)
    assert words[0] == "loadstone" and words[-2:] == ["--tls", "required"]
    times = ("--concurrency", "4", "--duration", "1s", "--warmup", "0s", "--json")
    done = called(*words[1:], *times, folder=tmp_path)
    (step,) = json.loads(done.stdout)["steps"]
    assert (step["concurrency"], step["errors"]) == (4, {})
    assert 0 < step["tps"] < 4000
    process.terminate()
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    figures = dict(re.findall(r"^(.+?) {2,}(\S.*?)\s*$", out, re.MULTILINE))
    assert figures["statements"] == figures["answered"] != "0"
    # Four users, and the connections that looked at the server before.
    assert int(figures["encrypted"]) == int(figures["connections"]) > 4


def test_it_speaks_postgresqls_protocol_if_asked_to(open_server: Open, tmp_path: Path) -> None:
    process = open_server("--json", "--protocol", "postgresql")
    said = place(process)
    assert said["target"] == f"postgresql://u@127.0.0.1:{said['port']}/sbtest"
    brief = ("--concurrency", "4", "--duration", "1s", "--warmup", "0s")
    called("run", "oltp_insert", "--target", said["target"], *brief, folder=tmp_path)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    counted = json.loads(out)
    assert counted["answered"] == counted["executes"] + counted["queries"] > 0


def test_it_ends_when_its_time_is_up_and_leaves_its_log(open_server: Open, tmp_path: Path) -> None:
    process = open_server("--duration", "300ms", "--log", "a.csv", "--socket", "null.sock")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert " and null.sock, for 0.3 s or until Ctrl-C" in out
    assert (tmp_path / "a.csv").read_text().startswith("connection,kind,")
    assert not (tmp_path / "null.sock").exists()


BAD = [
    ("--script nowhere.json", 2, "invalid value for '--script': cannot read nowhere.json: no such"),
    ("--script .", 2, "invalid value for '--script': cannot read .: is a directory"),
    ("--script '{\"servce\": 1}'", 4, "script: unknown field `servce`"),
    ("--script '{'", 4, "script: EOF while parsing"),
    ("--tls-cert cert.pem", 2, "invalid value for '--tls-cert': file 'cert.pem' does not exist"),
    ("--tls-cert empty", 2, "--tls-cert and --tls-key need each other"),
    ("--tls-cert empty --tls-key empty", 4, "tls.cert empty: it holds no certificate"),
    ("--tls --tls-key empty --tls-cert empty", 2, "--tls creates its own certificate"),
    ("--auth ed25519", 2, "invalid value for '--auth'"),
    ("--port 70000", 2, "invalid value for '--port'"),
    ("--port 1x", 2, "invalid value for '--port'"),
    ("--duration soon", 2, "invalid value for '--duration': 'soon' is not a time"),
    ("--tables 0", 2, "invalid value for '--tables'"),
    ("--range-rows 1000000", 2, "invalid value for '--range-rows'"),
    ("--log-records 10", 2, "--log-records needs --log"),
    ("--host ''", 2, "invalid value for '--host'"),
    ("--host nobody.invalid", 6, "cannot listen on nobody.invalid:0"),
    ("--host 192.0.2.1", 6, "cannot listen on 192.0.2.1:0: cannot assign requested address"),
    ("--log /nowhere/a.csv", 6, "cannot write the log /nowhere/a.csv: no such file or directory"),
    ("--socket /nowhere/a.sock", 6, "cannot listen on /nowhere/a.sock: no such file or directory"),
    (f"--socket {'x' * 200}", 6, "cannot listen on xxx"),
    ("--socket empty", 6, "cannot listen on empty: address already in use"),
    ("--prot 1", 2, "no such option '--prot'"),
    ("--protocol oracle", 2, "invalid value for '--protocol': 'oracle'"),
    (
        "--protocol postgresql --auth caching_sha2_password",
        2,
        "--auth is of MySQL's protocol",
    ),
    ("now", 2, "got unexpected extra argument (now)"),
]


@pytest.mark.parametrize(("line", "code", "begins"), BAD, ids=[case[0] for case in BAD])
def test_bad_input_is_one_line_with_its_own_number(
    tmp_path: Path, line: str, code: int, begins: str
) -> None:
    (tmp_path / "empty").touch()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    words = ("null-server", "--duration", "5s", *shlex.split(line))
    try:
        done = called(*words, folder=tmp_path, code=code)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    errors = [each for each in done.stderr.splitlines() if each.startswith("error: ")]
    assert (done.stdout, errors) == ("", done.stderr.splitlines()[:1])
    assert errors[0].lower().startswith(f"error: {begins}".lower())
    assert len(done.stderr.splitlines()) <= 2


def test_a_taken_port_is_told(open_server: Open) -> None:
    port = place(open_server("--json"))["port"]
    second = open_server("--port", str(port))
    _, err = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 6
    assert err.startswith(f"error: cannot listen on 127.0.0.1:{port}: Address already in use")


def test_a_reader_that_has_gone_is_no_bug() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*LOADSTONE, "null-server", "--duration", "1s"], stdout=writing, stderr=subprocess.PIPE,
        text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    os.close(writing)
    assert "bug" not in done.stderr


def test_it_answers_soon_after_it_is_asked_to_begin(open_server: Open) -> None:
    """Judged by CPU time: waiting for a core is the machine's affair."""
    used = psutil.Process(place(open_server("--json"))["pid"]).cpu_times()
    assert used.user + used.system < 2


def test_the_command_raises_its_limit_of_open_files(open_server: Open) -> None:
    said = place(open_server("--json"))
    soft, hard = resource.prlimit(said["pid"], resource.RLIMIT_NOFILE)
    assert soft == hard
