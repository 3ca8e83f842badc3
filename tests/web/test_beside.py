"""`--live` and `--metrics`: child processes of real runs against a null server."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest

from loadstone.model.exit_codes import ExitCode
from loadstone.web.__main__ import STAY_S
from loadstone.web.address import MARK, Address, AddressError, found, listen, marked, parsed

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from loadstone import engine
from loadstone.cli.commands.run import run
from loadstone.model.null_server import NullServerSettings
from ports import free_port

PATIENCE_S = 90.0
"""A machine may be busy with other tests; what takes longer hangs."""

Found = TypeVar("Found")

EXPERIMENT = """\
duration = "600s"
warmup = "0s"
ladder = [4]
repeats = 2

[target]
url = "mysql://u@127.0.0.1:{port}/sbtest?tls=disabled"

[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 100

[factor.statements.prepared]

[factor.statements.text]
client = {{ prepared = false }}
"""


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server that answers everything at once."""
    server = engine.null_server(NullServerSettings(host="127.0.0.1", port=0))
    yield server.port
    server.stop()


@dataclass
class Run:
    """A run in its own process."""

    process: subprocess.Popen[str]
    runs: Path
    link: str

    @property
    def live(self) -> str:
        """The page's address."""
        return self.link.partition("?")[0]

    def request(self, path: str, body: bytes | None = None) -> urllib.request.Request:
        """Send a request as a script does."""
        (token,) = parse_qs(urlsplit(self.link).query)["token"]
        headers = {"Authorization": f"Bearer {token}", "X-Loadstone": "1"}
        return urllib.request.Request(f"{self.live}{path}", body, headers)

    def line(self) -> dict[str, str]:
        """The page's line about the run, once it goes on."""
        return until(
            lambda: next((one for one in self._lines() if one["state"] == "running"), None)
        )

    def _lines(self) -> list[dict[str, str]]:
        with urllib.request.urlopen(self.request("api/runs"), timeout=PATIENCE_S) as answer:
            found: list[dict[str, str]] = json.load(answer)["runs"]
            return found


def until(look: Callable[[], Found | None]) -> Found:
    """Retry until there is a result."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            return found
        time.sleep(0.05)
    raise AssertionError("nothing came in time")


@pytest.fixture
def start_any(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts a command with its live page."""
    started: list[subprocess.Popen[str]] = []

    def run(*words: str) -> Run:
        process = subprocess.Popen(
            [sys.executable, "-m", "loadstone.cli", *words, "--live", "--out", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")},
        )
        started.append(process)
        return Run(process, tmp_path, _url(process.stderr))

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def start(start_any: Callable[..., Run], port: int) -> Callable[..., Run]:
    """Starts a run with its live page."""
    target = f"mysql://u@127.0.0.1:{port}/sbtest"
    return partial(start_any, "run", "oltp_point_select", "--target", target, "--warmup", "0s")


def _url(stderr: IO[str] | None) -> str:
    """The page's link, as the run prints it; the rest of the output is discarded."""
    assert stderr is not None
    said = ""
    for line in stderr:
        said += line
        if address := re.match(r"live  (http\S+)", line):
            threading.Thread(target=stderr.read, daemon=True).start()
            return address[1]
    raise AssertionError(f"no address was said: {said}")


def is_open(url: str) -> bool:
    """Whether somebody listens there, who may be slow to answer."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S):
            return True
    except (urllib.error.HTTPError, TimeoutError):
        return True
    except OSError:
        return False


def ask(run: Run, name: str, wish: str, body: dict[str, float]) -> None:
    request = run.request(f"api/runs/{name}/{wish}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert answer.status == 202


@pytest.mark.slow
def test_a_real_run_is_changed_and_stopped_from_its_page(start: Callable[..., Run]) -> None:
    run = start("--concurrency", "8", "--duration", "600s", "--think-time", "5ms")
    name = run.line()["name"]
    journal = run.runs / name / "journal.jsonl"
    until(lambda: '"phase":"window"' in journal.read_text() or None)
    ask(run, name, "users", {"step": 1, "users": 2})
    until(lambda: '"kind":"changed"' in journal.read_text() or None)
    ask(run, name, "stop", {})
    run.process.wait(PATIENCE_S)
    assert run.process.returncode == ExitCode.INTERRUPTED
    result = json.loads((run.runs / name / "result.json").read_text())
    assert result["run"]["state"] == "stopped"
    (step,) = result["steps"]
    assert [(one["what"], one["value"]) for one in step["changes"]] == [("users", 2)]
    assert any("stopped on request" in note for note in step["notes"])
    # Without viewers the page ends with its run.
    until(lambda: None if is_open(run.live) else True)
    until(lambda: None if (run.runs / MARK).exists() else True)


@pytest.mark.slow
def test_an_experiment_has_its_page_and_keeps_its_levels(
    start_any: Callable[..., Run], port: int, tmp_path: Path
) -> None:
    file = tmp_path / "statements.toml"
    file.write_text(EXPERIMENT.format(port=port))
    run = start_any("experiment", str(file))
    name = run.line()["name"]
    journal = run.runs / name / "journal.jsonl"
    until(lambda: '"phase":"window"' in journal.read_text() or None)
    ask(run, name, "users", {"step": 1, "users": 2})
    until(lambda: "not changed" in journal.read_text() or None)
    ask(run, name, "stop", {})
    run.process.wait(PATIENCE_S)
    assert run.process.returncode == ExitCode.INTERRUPTED
    (step,) = json.loads((run.runs / name / "result.json").read_text())["steps"]
    assert step["changes"] == []
    assert any(
        "a search or an experiment chooses its levels itself" in note for note in step["notes"]
    )


@pytest.mark.slow
def test_metrics_go_with_a_run_and_its_page_when_nobody_looks_any_more(
    start: Callable[..., Run],
) -> None:
    metrics = free_port()
    run = start(
        *("--concurrency", "2", "--duration", "600s", "--think-time", "5ms"),
        *("--metrics", f":{metrics}"),
    )
    name, url = run.line()["name"], f"http://127.0.0.1:{metrics}/metrics"

    def scraped() -> str | None:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                text: str = answer.read().decode()
        except OSError:
            return None
        return text if re.search(r"loadstone_events_total\S* [1-9]", text) else None

    assert f'run="{name}"' in until(scraped)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", metrics), PATIENCE_S)
    watched = run.request(f"api/events?run={name}")
    with urllib.request.urlopen(watched, timeout=PATIENCE_S) as stream:
        run.process.send_signal(signal.SIGINT)
        run.process.wait(PATIENCE_S)
        assert run.process.returncode == ExitCode.INTERRUPTED
        until(lambda: None if is_open(url) else True)
        time.sleep(STAY_S + 1)
        assert is_open(run.live)
        assert stream.status == 200
    until(lambda: None if is_open(run.live) else True)


def test_a_second_run_finds_the_page_of_the_first(tmp_path: Path) -> None:
    assert found(tmp_path) is None
    address = Address("127.0.0.1", 4321)
    with marked(tmp_path, address, "a-token"):
        assert found(tmp_path) == "http://127.0.0.1:4321/?token=a-token"
        assert (tmp_path / MARK).stat().st_mode & 0o777 == 0o600
    assert found(tmp_path) is None
    with marked(tmp_path, address, None):
        assert found(tmp_path) == "http://127.0.0.1:4321/?token=…"


def test_a_token_is_not_written_where_others_read(tmp_path: Path) -> None:
    """Another user has created the file before, and keeps reading it."""
    (tmp_path / MARK).touch()
    (tmp_path / MARK).chmod(0o644)
    with marked(tmp_path, Address("127.0.0.1", 4321), "a-token"):
        assert (tmp_path / MARK).read_bytes() == b""
        assert found(tmp_path) is None


def test_metrics_without_a_host_are_on_loopback_alone() -> None:
    """Metrics need no token: a user who wants them read from elsewhere gives the address."""
    (metrics,) = (each for each in run.params if each.name == "metrics")
    assert metrics.type.convert(":9109", None, None) == Address("127.0.0.1", 9109)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        (":9109", ("here", 9109)),
        ("9109", ("here", 9109)),
        ("db1", ("db1", 1)),
        ("[::1]:5", ("::1", 5)),
        ("::1", ("::1", 1)),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, expected: tuple[str, int]) -> None:
    address = parsed(text, "here", 1)
    assert (address.host, address.port) == expected


@pytest.mark.parametrize("text", ["db1:x", "db1:70000", "[::1", "http://db1/", "a b", "[x]:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parsed(text, "here", 1)


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    bound, address = listen(Address("127.0.0.1", 0))
    with bound, pytest.raises(AddressError, match="address already in use") as refused:
        listen(address)
    assert refused.value.hint is not None
