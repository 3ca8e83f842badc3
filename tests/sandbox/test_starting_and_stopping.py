import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.families import connect
from loadstone.model.target import Tls
from loadstone.sandbox import (
    Sandbox,
    SandboxError,
    SandboxSpec,
    clear_leftovers,
    find_sandbox,
    kept_sandboxes,
    list_sandboxes,
    start_sandbox,
    starting,
)
from loadstone.sandbox.processes import mark_of, servers_of
from loadstone.servers.errors import TargetError

pytestmark = pytest.mark.server

OWNER = """
import sys
from loadstone.sandbox import SandboxSpec, start_sandbox
sandbox = start_sandbox(SandboxSpec(server=sys.argv[1]))
print(sandbox.pid, flush=True)
sys.stdin.read()
sandbox.stop()
"""


def owner(server: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def gone(pid: int, within_s: float = 60) -> bool:
    deadline = time.monotonic() + within_s
    while mark_of(pid) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_nothing_is_left_after_stop(server: str, state: Path) -> None:
    with start_sandbox(SandboxSpec(server=server)) as sandbox:
        assert sandbox.is_running()
        assert [each.name for each in list_sandboxes()] == [sandbox.name]
    assert mark_of(sandbox.pid) is None
    assert not sandbox.folder.exists()
    assert not sandbox.socket.parent.exists()
    assert list_sandboxes() == []
    sandbox.stop()


def test_a_killed_server_comes_back_with_its_data_at_its_place(server: str, state: Path) -> None:
    with start_sandbox(SandboxSpec(server=server)) as sandbox:
        with sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t (a INT PRIMARY KEY)")
            cursor.execute("INSERT INTO t VALUES (7)")
        place = (sandbox.port, sandbox.socket)
        sandbox.kill()
        assert not sandbox.is_running()
        for way, kind in ((sandbox.tcp, "unreachable"), (sandbox.local, "no_socket")):
            with pytest.raises(TargetError) as closed:
                connect(way)
            assert closed.value.kind == kind
        sandbox.start_again()
        assert place == (sandbox.port, sandbox.socket)
        with sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT a FROM t")
            assert cursor.fetchone() == (7,)


def test_the_port_of_a_halted_server_is_kept_for_it(server: str, state: Path) -> None:
    with start_sandbox(SandboxSpec(server=server)) as sandbox:
        sandbox.halt()
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", sandbox.port))
        sandbox.start_again()
        with connect(sandbox.tcp) as session, session.cursor() as cursor:
            assert cursor.execute("SELECT 1") == 1
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", sandbox.port))
        other.listen()


def test_a_server_ends_with_its_killed_owner_and_its_folder_with_the_next_start(
    server: str, state: Path
) -> None:
    with owner(server) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    assert gone(pid)
    assert list_sandboxes() == []
    assert len(clear_leftovers()) == 1
    assert [entry for entry in state.iterdir() if entry.is_dir()] == []


def test_an_owner_killed_while_it_starts_a_server_leaves_nothing_after_the_next_start(
    mariadb: str, state: Path
) -> None:
    for wait_s in (0.0, 0.1, 0.3):
        with owner(mariadb) as process:
            while not list(state.glob("*/state.json")):
                time.sleep(0.002)
            time.sleep(wait_s)
            process.kill()
        folders = [entry for entry in state.iterdir() if entry.is_dir()]
        clear_leftovers()
        assert [entry for entry in folders if entry.exists() or servers_of(entry / "data")] == []


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Handle Ctrl-C as in a terminal: a process started in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# The interrupt may come between the opening of a file and the `with` that closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_start_leaves_nothing(
    server: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The start goes on for the time that the interrupt may take to arrive.
    monkeypatch.setattr(starting, "answers", lambda state: False)

    def interrupt() -> None:
        while not list(state.glob("*/error.log")):
            time.sleep(0.002)
        signal.raise_signal(signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        start_sandbox(SandboxSpec(server=server))
    watcher.join()
    assert [entry for entry in state.iterdir() if entry.is_dir()] == []


def test_a_reused_process_id_is_never_killed(mariadb: str, state: Path) -> None:
    with start_sandbox(SandboxSpec(server=mariadb, owned=False)) as sandbox:
        with subprocess.Popen(["sleep", "3600"]) as bystander:
            record = json.loads((sandbox.folder / "state.json").read_text())
            sandbox.kill()
            record["server"]["pid"] = bystander.pid
            (sandbox.folder / "state.json").write_text(json.dumps(record))
            assert list_sandboxes() == []
            assert clear_leftovers() == []
            find_sandbox(sandbox.name, running=False).stop()
            assert not sandbox.folder.exists()
            assert bystander.poll() is None
            bystander.kill()


def test_one_whose_server_crashed_keeps_its_data_until_it_is_stopped(
    server: str, state: Path
) -> None:
    with start_sandbox(SandboxSpec(server=server, owned=False)) as sandbox:
        with sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t (a INT PRIMARY KEY)")
            cursor.execute("INSERT INTO t VALUES (7)")
        os.kill(sandbox.pid, signal.SIGKILL)
        assert gone(sandbox.pid)
        assert (list_sandboxes(), clear_leftovers()) == ([], [])
        assert [each.name for each in kept_sandboxes()] == [sandbox.name]
        with pytest.raises(SandboxError, match="does not run") as caught:
            find_sandbox(sandbox.name)
        assert f"sandbox restart {sandbox.name}" in str(caught.value.hint)
        again = find_sandbox(sandbox.name, running=False)
        again.restart()
        with again.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT a FROM t")
            assert cursor.fetchone() == (7,)
        before = again.pid
        again.restart()
        assert again.pid != before
        again.stop()


def test_two_starts_at_once_do_not_meet(mariadb: str, state: Path) -> None:
    owners = [owner(mariadb) for _ in range(2)]
    pids = [int(process.stdout.readline()) for process in owners if process.stdout is not None]
    running = list_sandboxes()
    assert sorted(each.pid for each in running) == sorted(pids)
    assert len({each.port for each in running}) == len({each.name for each in running}) == 2
    for process in owners:
        process.communicate("")
    assert list_sandboxes() == []


def test_one_that_stays_outlives_its_maker(mariadb: str, state: Path) -> None:
    program = OWNER.replace("argv[1])", "argv[1], owned=False)").split("sys.stdin")[0]
    done = subprocess.run(
        [sys.executable, "-c", program, mariadb], capture_output=True, text=True, check=True
    )
    (sandbox,) = list_sandboxes()
    assert sandbox.pid == int(done.stdout)
    sandbox.stop()
    assert list_sandboxes() == []


def test_an_unknown_variable_is_told_at_once_in_the_servers_words(server: str, state: Path) -> None:
    wrong = SandboxSpec(server=server, settings={"no_such_thing": "1"}, timeout_s=3600)
    with pytest.raises(SandboxError, match=r"unknown variable 'no[-_]such[-_]thing=1'") as caught:
        start_sandbox(wrong)
    assert "\n" not in caught.value.message
    assert "--set" in str(caught.value.hint)
    assert caught.value.exit_code == 6


@pytest.fixture(scope="module")
def odd(server: str, state_of_its_own: None) -> Iterator[Sandbox]:
    """A server with variables of its own, an empty password, and no TLS."""
    off = {"skip_ssl": "1"} if server == "mariadb" else {"tls_version": ""}
    settings = {
        "sync_binlog": "0",
        "innodb-io-capacity": "777",
        "max_connections": "50",
        "loose_no_such_thing": "1",
    }
    spec = SandboxSpec(server=server, password="", tls=False, settings=off | settings)
    with start_sandbox(spec) as sandbox:
        yield sandbox


def test_set_takes_any_variable_and_loose_ones_are_marked(odd: Sandbox) -> None:
    shown = odd.settings
    assert shown["sync_binlog"] == "0"
    assert shown["innodb_io_capacity"] == "777"
    assert shown["max_connections"] == "50"
    assert shown["loose_no_such_thing"] == "unknown to this server"


def test_a_server_without_tls_refuses_those_that_require_it(odd: Sandbox) -> None:
    with pytest.raises(TargetError) as caught:
        connect(odd.endpoint(tls=Tls(mode="required")))
    assert caught.value.kind == "tls_refused"


def test_an_empty_password_is_one_too(odd: Sandbox) -> None:
    assert odd.accounts[0].password.get_secret_value() == ""
    connect(odd.tcp).close()


def test_more_connections_than_files_are_refused_before_the_start(state: Path) -> None:
    with pytest.raises(SandboxError, match="open files"):
        start_sandbox(SandboxSpec(max_connections=2_000_000_000))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (SandboxSpec(server="/no/such/mysqld"), "/no/such/mysqld"),
        (SandboxSpec(server="/bin/true"), "--version"),
        (SandboxSpec(auth=("kerberos",)), "kerberos"),
        (SandboxSpec(semi_sync=True), "replica"),
        (SandboxSpec(name="Bad Name"), "Bad Name"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(spec: SandboxSpec, says: str, state: Path) -> None:
    with pytest.raises(SandboxError) as caught:
        start_sandbox(spec)
    assert says in caught.value.message
    assert "\n" not in caught.value.message


def test_a_name_is_given_once(state: Path) -> None:
    with start_sandbox(SandboxSpec(name="mine")) as sandbox:
        assert sandbox.name == "mine"
        with pytest.raises(SandboxError, match="mine already"):
            start_sandbox(SandboxSpec(name="mine"))


def test_a_state_folder_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(SandboxError, match="cannot keep sandboxes") as caught:
        list_sandboxes()
    assert "XDG_STATE_HOME" in str(caught.value.hint)


def test_a_folder_in_memory_says_that_it_is_no_disk() -> None:
    from loadstone.sandbox.disk import disk_of

    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("this machine has no /dev/shm")
    assert "in memory" in disk_of(memory).description
