"""The program: its command line, its end, and the formats of its log."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from null_server.conftest import Starter

pytestmark = pytest.mark.timeout(600)  # the program may have to be built first


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('{"servce": {}}', "unknown field `servce`"),
        ('{"service": {"kind": "constant"}}', "missing field `us`"),
        ('{"service": {"kind": "exponential", "mean_us": -5}}', "service.mean_us -5"),
        ('{"errors": [{"errno": 1213, "message": "m"}]}', "either probability or every"),
        ("[", "EOF while parsing"),
    ],
)
def test_a_wrong_script_is_one_line(program: Path, tmp_path: Path, script: str, said: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(script)
    done = subprocess.run([program, "--script", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert said in done.stderr


def test_a_taken_port_is_one_line(start: Starter, program: Path) -> None:
    port = str(start().port)
    done = subprocess.run(
        [program, "--port", port], capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: cannot listen on 127.0.0.1:{port}: Address already in")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(start: Starter, number: signal.Signals) -> None:
    server = start()
    server.process.send_signal(number)
    assert server.process.wait(20) == 0
    assert server.log.exists() and not server.socket.exists()


def test_it_ends_when_its_time_is_up(start: Starter) -> None:
    server = start(None, "--duration", "200ms")
    assert server.process.wait(20) == 0


def test_it_ends_with_its_parent(program: Path) -> None:
    middle = (
        "import subprocess, sys;"
        f"child = subprocess.Popen([{str(program)!r}], stdout=subprocess.PIPE, text=True);"
        "print(child.stdout.readline(), flush=True)"
    )
    said = subprocess.run(
        [sys.executable, "-c", middle], capture_output=True, text=True, check=True
    )
    process = int(json.loads(said.stdout)["pid"])
    give_up = time.monotonic() + 20
    while _runs(process):
        assert time.monotonic() < give_up, "it outlives its parent"
        time.sleep(0.02)


def test_the_binary_log_holds_the_same_stamps(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "log.bin"
    server = start(None, "--log", str(path))
    server.ask("SELECT c FROM sbtest1 WHERE id=1")
    assert server.end() == 0
    content = path.read_bytes()
    assert content[:8] == b"NULLLOG1"
    records = list(struct.iter_unpack("<IBBHQQQ", content[32:]))
    kinds = [record[1] for record in records]
    assert kinds[:2] == [4, 5] and kinds[-1] in (1, 2)
    assert all(record[4] <= record[6] for record in records)


def test_a_log_that_is_full_counts_what_it_loses(start: Starter) -> None:
    server = start(None, "--log-records", "3")
    server.ask("SELECT c FROM sbtest1 WHERE id=1")
    assert server.status()["log_lost"] > 0
    assert len(server.stamps()) == 3


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A process that has ended but was not waited for is not running any more.
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
