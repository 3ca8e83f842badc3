"""The process of a target on this machine: the right one, or none."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from loadstone.model.target import Target
from loadstone.mysql.facts import describe_server
from loadstone.observe import locate
from loadstone.observe.locate import accepting_process, find_server_process
from loadstone.runs import safe_open
from loadstone.sandbox import Sandbox
from observe.other_tools import ended, wait_for_port
from pooled import KINDS, Pool

pytestmark = pytest.mark.server

ELSEWHERE = Target(host="192.0.2.1", port=3306)  # an address of nobody


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    """The pool's."""
    with pool.schema(request.param) as running:
        yield running


def about(sandbox: Sandbox) -> tuple[dict[str, str], float]:
    """The server's variables, and when it started by its own account."""
    with sandbox.connect() as connection:
        facts = describe_server(connection, sandbox.tcp.target)
    assert facts.started_s is not None
    return dict(facts.variables), facts.started_s


def found(target: Target, variables: dict[str, str], started_s: float | None) -> int | None:
    process = find_server_process(target, variables, started_s)
    return None if process is None else process.pid


def test_by_the_socket(sandbox: Sandbox) -> None:
    assert found(Target(socket=sandbox.socket), {}, None) == sandbox.pid


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_by_the_port(sandbox: Sandbox, host: str) -> None:
    assert found(Target(host=host, port=sandbox.port), {}, None) == sandbox.pid


def test_by_the_pid_file_when_all_the_rest_fits(sandbox: Sandbox) -> None:
    variables, started_s = about(sandbox)
    assert found(ELSEWHERE, variables, started_s) == sandbox.pid


def test_not_by_the_pid_file_when_something_does_not_fit(sandbox: Sandbox, tmp_path: Path) -> None:
    variables, started_s = about(sandbox)
    assert found(ELSEWHERE, variables, None) is None
    assert found(ELSEWHERE, variables, started_s - 60) is None
    assert found(ELSEWHERE, {**variables, "hostname": "somewhere-else"}, started_s) is None
    assert found(ELSEWHERE, {**variables, "pid_file": str(tmp_path / "none")}, started_s) is None
    (tmp_path / "ours").write_text(str(os.getpid()))
    assert found(ELSEWHERE, {**variables, "pid_file": str(tmp_path / "ours")}, started_s) is None
    (tmp_path / "odd").write_text("99999999999999999999999")
    assert found(ELSEWHERE, {**variables, "pid_file": str(tmp_path / "odd")}, started_s) is None


def test_a_relative_pid_file_is_in_the_data_folder(sandbox: Sandbox) -> None:
    variables, started_s = about(sandbox)
    name = os.path.relpath(
        os.path.join(variables["datadir"], variables["pid_file"]), variables["datadir"]
    )
    assert found(ELSEWHERE, {**variables, "pid_file": name}, started_s) == sandbox.pid


@pytest.mark.parametrize("kind", ["fifo", "device", "link", "folder", "endless"])
def test_a_pid_file_that_a_server_chose_to_do_harm_is_no_pid_file(
    sandbox: Sandbox, tmp_path: Path, kind: str
) -> None:
    """The pid file names a file that never ends, or that somebody else wrote."""
    variables, started_s = about(sandbox)
    file = tmp_path / "pid"
    match kind:
        case "fifo":
            os.mkfifo(file)
        case "device":
            file = Path("/dev/zero")
        case "link":
            file.symlink_to(os.path.join(variables["datadir"], variables["pid_file"]))
        case "folder":
            file.mkdir()
        case _:
            with open(file, "wb") as endless:
                endless.truncate(1 << 40)
    claimed = {**variables, "pid_file": str(file)}
    assert within_seconds(lambda: found(ELSEWHERE, claimed, started_s)) is None
    assert (
        within_seconds(lambda: found(ELSEWHERE, {**claimed, "pid_file": "a\0b"}, started_s)) is None
    )


def test_no_file_is_opened_for_a_server_of_another_host(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, started_s = about(sandbox)
    opened: list[Path] = []

    def noted(path: Path) -> BinaryIO:
        opened.append(path)
        return safe_open.opened(path)

    monkeypatch.setattr(locate, "opened", noted)
    assert found(ELSEWHERE, {**variables, "hostname": "somewhere-else"}, started_s) is None
    assert found(ELSEWHERE, variables, None) is None
    assert opened == []
    assert found(ELSEWHERE, variables, started_s) == sandbox.pid
    assert len(opened) == 1


def within_seconds(asked: Callable[[], int | None]) -> int | None:
    """The result, within some seconds: a call that would wait for ever fails instead of hanging."""
    given: list[int | None] = []
    thread = threading.Thread(target=lambda: given.append(asked()), daemon=True)
    thread.start()
    thread.join(20)
    assert given, "it waits for ever"
    return given[0]


FORWARD = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    listener.accept()[0].close()
"""


def test_a_forwarder_is_no_server() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with ended(subprocess.Popen([sys.executable, "-c", FORWARD, str(port)])) as process:
        wait_for_port(port, process)
        target = Target(host="127.0.0.1", port=port)
        assert found(target, {}, None) is None
        assert accepting_process(target) == process.pid


def test_nobody_is_nobody(tmp_path: Path) -> None:
    assert found(Target(socket=tmp_path / "none.sock"), {}, 5.0) is None
    assert found(Target(host="127.0.0.1", port=1), {}, 5.0) is None
    assert found(Target(host="no-such-host.invalid", port=3306), {}, 5.0) is None
