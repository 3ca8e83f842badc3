"""The programs as they are started: directly, through a link, and until they are stopped."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox
from loadstone.sysbench import messages
from loadstone.sysbench.targets import places_of
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import for_all_tests
from sysbench.conftest import Program

OURS = [sys.executable, "-m", "loadstone.cli", "sysbench"]


def test_the_installed_program_may_have_the_name_of_the_other(tmp_path: Path) -> None:
    installed = Path(sys.executable).with_name("loadstone-sysbench")
    if not installed.exists():
        pytest.skip("the package is not installed")
    (tmp_path / "sysbench").symlink_to(installed)
    done = subprocess.run(
        [tmp_path / "sysbench", "--version"], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("sysbench 1.0.20\n", 0)


def test_the_installed_program_has_an_entry_point() -> None:
    (found,) = entry_points(group="console_scripts", name="loadstone-sysbench")
    assert found.value == "loadstone.cli:sysbench"


def test_hosts_and_ports_are_combined() -> None:
    given = Values(for_all_tests(), {"mysql_host": "a,b", "mysql_port": "1,2"})
    called = [place.called for place in places_of(given, "1.0")]
    assert called == [
        "host 'a', port 1",
        "host 'a', port 2",
        "host 'b', port 1",
        "host 'b', port 2",
    ]


def test_sockets_win_over_hosts_and_localhost_is_one() -> None:
    given = Values(for_all_tests(), {"mysql_host": "a", "mysql_socket": "/x,/y"})
    assert [place.called for place in places_of(given, "1.0")] == ["socket '/x'", "socket '/y'"]
    (place,) = places_of(Values(for_all_tests(), {}), "1.0")
    assert place.called == "host 'localhost', port 3306"
    assert place.endpoint.target.socket is not None


@pytest.mark.parametrize(
    ("switch", "mode"),
    [("off", "disabled"), ("on", "required"), ("VERIFY_CA", "verify-ca"), ("0", "disabled")],
)
def test_tls_is_a_switch_or_a_mode(switch: str, mode: str) -> None:
    given = Values(for_all_tests(), {"mysql_ssl": switch, "mysql_host": "a"})
    (place,) = places_of(given, "1.0")
    assert place.endpoint.target.tls.mode == mode


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({}, ()),
        ({"mysql_compression": "off"}, ()),
        ({"mysql_compression": "on"}, ("zlib", "off")),
        ({"mysql_compression": "", "mysql_compression_algorithms": "zstd,zlib"}, ("zstd", "zlib")),
    ],
)
def test_compression_is_a_switch_and_a_list(
    options: dict[str, str], kinds: tuple[str, ...]
) -> None:
    (place,) = places_of(Values(for_all_tests(), {"mysql_host": "a", **options}), "1.0")
    assert place.endpoint.target.compression == kinds


@pytest.mark.server
def test_ctrl_c_ends_a_run_with_130_and_no_report(
    server: Sandbox, connection: tuple[str, ...], ours_here: Program
) -> None:
    rows = ("--table-size=100", "oltp_point_select")
    ours_here(*connection, *rows, "cleanup")
    assert ours_here(*connection, *rows, "prepare").returncode == 0
    running = subprocess.Popen(
        [*OURS, *connection, *rows, "--time=60", "--report-interval=1", "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert running.stdout is not None
    said = iter(running.stdout.readline, "")
    assert any(line.startswith("[ 1s ] thds: 1 tps:") for line in said)
    running.send_signal(signal.SIGINT)
    rest, error = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "SQL statistics" not in rest
    assert error == "loadstone: interrupted\n"


@pytest.mark.server
def test_what_1_1_has(server: Sandbox, connection: tuple[str, ...], ours_here: Program) -> None:
    rows = ("--table-size=100", "oltp_point_select")
    ours_here(*connection, *rows, "cleanup")
    ours_here(*connection, *rows, "prepare")
    newer = ("--compat=1.1", "--warmup-time=1", "--rand-type=zipfian", "--report-interval=1")
    done = ours_here(*connection, *rows, *newer, "--time=1", "run")
    assert done.returncode == 0, done.stdout
    assert "Warmup time: 1s" in done.stdout
    elapsed = re.search(r"^    time elapsed: {24}(\d+\.\d+)s?$", done.stdout, re.MULTILINE)
    assert elapsed, done.stdout
    assert float(elapsed[1]) >= 1.0
    assert "events/s (eps):" in done.stdout
    assert "[ 1s ] thds: 1 tps:" in done.stdout
    assert float(elapsed[1]) >= 2.0 or "[ 2s ]" not in done.stdout


@pytest.mark.server
def test_a_shutdown_by_force_says_so_and_has_exit_code_2(
    server: Sandbox, connection: tuple[str, ...], ours_here: Program
) -> None:
    rows = ("--table-size=100", "oltp_point_select")
    ours_here(*connection, *rows, "cleanup")
    ours_here(*connection, *rows, "prepare")
    with server.connect() as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLES sbtest1 WRITE")
        done = ours_here(*connection, *rows, "--time=1", "--forced-shutdown=1", "run")
    assert done.returncode == 2
    assert f"FATAL: {messages.FORCED_SHUTDOWN}" in done.stdout
    assert "Number of unfinished transactions on forced shutdown: 1" in done.stdout


@pytest.mark.server
def test_threads_that_never_connect_have_their_time(ours_here: Program, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "deaf.sock"))
        deaf.listen()
        place = f"--mysql-socket={tmp_path / 'deaf.sock'}"
        done = ours_here(place, "--thread-init-timeout=1", "oltp_point_select", "run")
    assert done.returncode == 1
    assert "FATAL: Worker threads failed to initialize within 1 seconds!" in done.stdout
