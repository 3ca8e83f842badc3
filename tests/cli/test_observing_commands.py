"""watch, check, probe and ceilings as a person starts them, against a real throwaway server."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.test_run_real import command, environment, has_server, loadstone
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from loadstone.store import folder

pytestmark = pytest.mark.server

if not has_server():
    pytest.skip("no database server here", allow_module_level=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    with start_sandbox(SandboxSpec(settings={"sync_binlog": "0"})) as sandbox:
        yield sandbox


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path


def test_a_watch_is_kept_as_a_run(server: Sandbox, home: Path) -> None:
    url = server.tcp.target.url
    done = loadstone("watch", "--target", url, "--duration", "2s", server=server, home=home)
    assert done.stdout.startswith("watched for 2")
    assert "questions/s" in done.stderr
    (run,) = (home / "runs").iterdir()
    (step,) = folder.load(run).steps
    assert step.server is not None
    assert step.host is not None
    assert step.window is not None
    assert step.window.method == "watched"
    assert step.tps is None
    again = loadstone("runs", "show", "last", server=server, home=home)
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_a_watch_ends_with_ctrl_c_and_keeps_what_it_saw(server: Sandbox, home: Path) -> None:
    words = ["watch", "--target", server.tcp.target.url, "--duration", "60s", "--json"]
    watch = subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        cwd=home,
        env=environment(server, home),
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list(home.glob("runs/*/journal.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2.0)
    watch.send_signal(signal.SIGINT)
    out, _ = watch.communicate(timeout=30)
    document = json.loads(out)
    assert document["run"]["state"] == "stopped"
    assert document["steps"][0]["server"]["seconds"] > 0.5


def test_a_watch_of_nothing_is_refused(home: Path) -> None:
    done = loadstone("watch", server=None, home=home, code=2)
    assert "--target" in done.stderr
    assert not (home / "runs").exists()


def test_a_check_names_what_is_unfair_first(server: Sandbox, home: Path) -> None:
    done = loadstone("check", "--target", server.tcp.target.url, server=server, home=home)
    first, second, *_ = done.stdout.splitlines()
    assert "MariaDB" in first or "MySQL" in first
    assert second.startswith("unfair  sync_binlog = 0: ")
    assert "sync_binlog = 1" in done.stdout.split("[mysqld]")[1]


def test_a_check_for_machines(server: Sandbox, home: Path) -> None:
    words = ("check", "--json", "--target", server.tcp.target.url)
    document = json.loads(loadstone(*words, server=server, home=home).stdout)
    assert document["advice"][0]["variable"] == "sync_binlog"
    assert document["fragment"].startswith("[mysqld]\n")


def test_ceilings_of_a_run_and_of_what_is_not_there(server: Sandbox, home: Path) -> None:
    target = ("--target", server.tcp.target.url)
    loadstone("prepare", *target, "--tables", "1", "--table-size", "1000", server=server, home=home)
    short = ("--duration", "2s", "--warmup", "1s", "--concurrency", "1,4")
    loadstone("run", "oltp_point_select", *target, *short, server=server, home=home)
    text = loadstone("ceilings", server=server, home=home).stdout
    assert "server CPU" in text
    assert "concurrency" in text
    page = home / "c.html"
    loadstone("ceilings", "last", "-o", str(page), server=server, home=home)
    assert page.read_text().startswith("<!doctype html>")
    words = ("ceilings", "last", "--if", "line=1M", "--json")
    document = json.loads(loadstone(*words, server=server, home=home).stdout)
    lowest = document["steps"][-1]["ceilings"][0]
    assert lowest["resource"] == "network from the server"
    assert lowest["events_per_s"] < 10_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--if", "lines=1M"), "'lines=1M': write one of cores"),
        (("--if", "line"), "'line': write one of cores"),
        (("--if", "line=fast"), "'fast' is no number"),
        (("--if", "line=0"), "'0': more than nought"),
        (("--if", "line=nan"), "'nan' is no number"),
        (("--if", "line=1e300G"), "more than nought"),
    ],
)
def test_limits_that_are_none_are_refused(words: tuple[str, ...], said: str, home: Path) -> None:
    done = loadstone("ceilings", "last", *words, server=None, home=home, code=2)
    assert said in done.stderr


def test_ceilings_of_no_run(home: Path) -> None:
    done = loadstone("ceilings", server=None, home=home, code=8)
    assert "there are no runs in runs" in done.stderr


def test_a_probe_measures_and_leaves_nothing(home: Path) -> None:
    place = home / "disk"
    place.mkdir()
    words = command("probe", str(place), "--duration", "0.3s", "--json")
    kept = environment(None, home) | {"XDG_STATE_HOME": str(home / "state")}
    done = subprocess.run(words, capture_output=True, text=True, cwd=home, env=kept, timeout=100)
    if "direct" in done.stderr.lower():
        pytest.skip("not evaluated: this file system takes no O_DIRECT")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    for name in ("syncs_per_s", "write_iops", "read_iops", "write_bytes_per_s"):
        assert document[name] > 0, name
    assert list(place.iterdir()) == []
    assert list((home / "state" / "loadstone" / "disks").iterdir())


def test_a_probe_of_no_folder(home: Path) -> None:
    done = loadstone("probe", "nowhere", server=None, home=home, code=2)
    assert "nowhere" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--node-exporter", "nonsense"), "not an exporter's URL"),
        (("--host-ssh", "-oProxyCommand=x"), "no host to reach by ssh"),
        (("--no-observe", "--host-ssh", "db1"), "--no-observe reads nothing"),
    ],
)
def test_places_that_are_none_are_refused_before_anything_starts(
    words: tuple[str, ...], said: str, home: Path
) -> None:
    done = loadstone("run", "oltp_point_select", *words, server=None, home=home, code=2)
    assert said in done.stderr
    assert "throwaway" not in done.stderr
    assert not (home / "runs").exists()
