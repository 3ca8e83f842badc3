"""A host over ssh: a real sshd in its own network namespace, with a real server on it."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Target
from loadstone.observe import ssh
from loadstone.observe.local import LocalHost
from loadstone.observe.locate import find_server_process
from loadstone.observe.remote_shell import Destination, RemoteShell
from loadstone.observe.source import SourceError
from loadstone.observe.source_spec import PlaceError
from loadstone.observe.ssh import SshHost, texts_of
from loadstone.sandbox.network import Namespace
from observe.namespace import HERE, THERE, a_server_in, another_host, cut, receive
from observe.other_tools import SERVER_HOST, agree, ended, environment, program, writing

CONFIG = """\
Port 2222
ListenAddress {there}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/client.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
"""
NOBODY = {"port": "9"}  # /proc shows servers of this side, too: none of them is meant
PASSWD = "root:x:0:0:root:/root:/bin/sh\nsshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n"
SHADOW = "root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n"
# In its own mount namespace: sshd wants an account, an unlocked root and a folder in /run. It is
# /etc that is mounted over, not a file: a file's mount would go when somebody replaces the file.
START = """
mount --bind {folder}/etc /etc && mount -t tmpfs none /run && mkdir /run/sshd &&
exec {sshd} -D -e -f {folder}/config
"""


def is_sshd(process: psutil.Process) -> bool:
    try:
        return process.name() == "sshd"
    except psutil.NoSuchProcess:
        return False


@dataclass
class Remote:
    namespace: Namespace
    folder: Path
    sshd: subprocess.Popen[bytes]

    @property
    def options(self) -> list[str]:
        pairs = ["-o", f"UserKnownHostsFile={self.folder}/known", "-o", "StrictHostKeyChecking=yes"]
        return ["-F", "none", "-i", f"{self.folder}/client", *pairs]

    def sessions(self) -> list[psutil.Process]:
        """The processes of sshd that serve a connection."""
        children = psutil.Process(self.sshd.pid).children(recursive=True)
        return [child for child in children if is_sshd(child)]


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    if os.geteuid() != 0:
        pytest.skip("not evaluated: only root may make a network namespace")
    sshd, keygen = program("sshd"), program("ssh-keygen")
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("host", "client"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    host_key = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[{THERE}]:2222 {host_key}")
    (folder / "config").write_text(CONFIG.format(folder=folder, there=THERE))
    (folder / "etc").mkdir()
    (folder / "etc/passwd").write_text(PASSWD)
    (folder / "etc/shadow").write_text(SHADOW)
    shutil.copy("/etc/ld.so.cache", folder / "etc")
    with ExitStack() as stack:
        namespace = stack.enter_context(another_host())
        script = START.format(folder=folder, sshd=sshd)
        log = stack.enter_context((folder / "log").open("wb"))
        process = stack.enter_context(
            ended(
                subprocess.Popen(
                    [*namespace.launcher_of_a_host, "unshare", "--mount", "/bin/sh", "-c", script],
                    env=environment(),
                    stderr=log,
                )
            )
        )
        found = Remote(namespace, folder, process)
        _wait(found)
        yield found
        for child in found.sessions():
            child.kill()


def _wait(remote: Remote) -> None:
    deadline = time.monotonic() + 60
    while b"Server listening" not in (remote.folder / "log").read_bytes():
        if remote.sshd.poll() is not None or time.monotonic() > deadline:
            pytest.skip(f"not evaluated: sshd {(remote.folder / 'log').read_text()!r}")
        time.sleep(0.05)


@contextmanager
def source(
    remote: Remote, *, variables: dict[str, str] | None = None, at: str = f"root@{THERE}:2222"
) -> Iterator[SshHost]:
    made = SshHost(SERVER_HOST, at, variables, peer=HERE, options=remote.options)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.slow
def test_the_same_figures_as_from_here_over_the_same_seconds(
    remote: Remote, tmp_path: Path
) -> None:
    near = LocalHost(SERVER_HOST, datadir=tmp_path)
    disk = near.read().facts.get("data_disk")
    work = ["sh", "-c", "while :; do :; done"]
    with source(remote) as far, ended(subprocess.Popen(work)), writing(tmp_path):
        far.read()
        begin = agree(near, far, disk)
        near.close()
    shared = {name for name in begin.before.counters if not name.startswith("nic.")}
    assert shared <= begin.theirs.counters.keys()
    assert begin.theirs.gauges["memory.total_bytes"] == begin.before.gauges["memory.total_bytes"]
    assert begin.theirs.facts["cores_online"] == begin.before.facts["cores_online"]


def test_interfaces_are_those_over_there(remote: Remote) -> None:
    with source(remote, variables=NOBODY) as far:
        before = far.read()
        sent = 4 << 20
        receive(remote.namespace, sent)
        after = far.read()
    nics = {name.split(".")[1] for name in after.counters if name.startswith("nic.")}
    assert nics == {"lo", remote.namespace.inner}
    name = f"nic.{remote.namespace.inner}.bytes_in"
    grown = after.counters[name] - before.counters[name]
    assert sent <= grown < sent * 1.05 + 50_000
    assert after.facts["traffic_nic"] == remote.namespace.inner
    at = f"root@{THERE}:2222"
    by_its_own = SshHost(SERVER_HOST, at, NOBODY, peer=THERE, options=remote.options)
    assert by_its_own.read().facts["traffic_nic"] == remote.namespace.inner
    by_its_own.close()


def test_no_agent_is_handed_on(tmp_path: Path) -> None:
    (config := tmp_path / "config").write_text("Host *\n ForwardAgent yes\n ForwardX11 yes\n")
    command = RemoteShell(Destination("db1"), ["-F", str(config)])._command
    said = subprocess.run(
        [command[0], "-G", *command[1:-1]], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"forwardagent no", "forwardx11 no", "clearallforwardings yes"} <= set(said)


@pytest.mark.server
@pytest.mark.parametrize("server", ["mariadb", pytest.param("mysql", marks=pytest.mark.mysql)])
def test_the_servers_process_is_found_by_its_pid_file(
    remote: Remote, server: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = tmp_path_factory.mktemp("state")
    with a_server_in(remote.namespace, server, state) as (sandbox, variables):
        with source(remote, variables=variables) as far:
            reading = far.read()
            assert reading.facts["process.pid"] == str(sandbox.pid)
            assert reading.counters["process.cpu_user_s"] > 0
            assert reading.gauges["process.threads"] > 1
        # It is found by its port, too, if the process has the program's name, not its loader's.
        no_file = {**variables, "pid_file": "/none"}
        by_port = str(sandbox.pid) if server == "mariadb" else None
        with source(remote, variables=no_file) as far:
            assert far.read().facts.get("process.pid") == by_port
        # The server names the file: a file that is not plain is not read, and blocks nobody.
        os.mkfifo(fifo := state / "fifo")
        with source(remote, variables={**variables, "pid_file": str(fifo)}) as far:
            assert far.read().facts.get("process.pid") == by_port
        with source(remote, variables={**no_file, "port": "9"}) as far:
            assert "process.pid" not in far.read().facts
        with source(remote, variables=variables) as far:
            reading = far.read()
            near = LocalHost(SERVER_HOST, sandbox.pid, sandbox.datadir, peer=THERE)
            here = near.read()
            # Its surroundings are read there as here, including the libc of its process; only there
            # is the speed of an interface known.
            theirs, ours = far.surroundings().known, near.surroundings().known
            near.close()
            assert theirs.pop("nic_speed").endswith("of a virtual interface")
            assert theirs == ours
            assert "libc" in ours
        assert here.facts["traffic_nic"] == remote.namespace.inner
        assert reading.facts.get("data_disk") == here.facts.get("data_disk")
        # Seen from this side of the namespace, its interfaces are those of the other side.
        nics = {name.split(".")[1] for name in here.counters if name.startswith("nic.")}
        assert nics == {"lo", remote.namespace.inner}
        # Nothing listens on this side; the pid file, the host's name and the start show that.
        started_s = psutil.Process(sandbox.pid).create_time() - psutil.boot_time()
        found = find_server_process(Target(host=THERE, port=sandbox.port), variables, started_s)
        assert found is not None
        assert found.pid == sandbox.pid


@pytest.mark.server
def test_a_server_that_comes_back_elsewhere_is_an_interruption(
    remote: Remote, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "_SEARCH_AGAIN_S", 0.0)
    with (
        a_server_in(remote.namespace, "mariadb", tmp_path_factory.mktemp("state")) as (
            sandbox,
            variables,
        ),
        source(remote, variables={**variables, "port": "9"}) as far,
    ):
        first = far.read()
        sandbox.kill()
        gone = far.read()
        assert "process.pid" not in gone.facts
        assert gone.counters.keys() >= {"cpu.user_s", f"nic.{remote.namespace.inner}.bytes_in"}
        sandbox.start_again()  # on this side
        with pytest.raises(SourceError, match="another namespace"):
            far.read()
        again = far.read()
        assert again.facts["process.pid"] not in (first.facts["process.pid"], None)
        assert "nic.eth0.bytes_in" in again.counters or "nic.lo.bytes_in" in again.counters


def test_a_session_that_is_cut_is_one_line_and_the_next_reading_connects_anew(
    remote: Remote,
) -> None:
    with source(remote) as far:
        far.read()
        for session in remote.sessions():
            session.kill()
        time.sleep(0.2)
        with pytest.raises(SourceError) as caught:
            far.read()
        assert THERE in caught.value.message
        assert "\n" not in caught.value.message
        assert far.read().counters["context_switches"] > 0


@pytest.mark.slow
def test_a_line_that_is_dead_does_not_hang(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    with source(remote) as far:
        far.read()
        with cut(remote.namespace), monkeypatch.context() as patch:
            patch.setattr(ssh, "_ANSWER_S", 1.0)
            began = time.monotonic()
            with pytest.raises(SourceError):
                far.read()
            assert time.monotonic() - began < 40
            began = time.monotonic()
            with pytest.raises(SourceError):
                far.read()
            assert time.monotonic() - began < 60
        assert far.read().counters


def test_a_close_leaves_no_process(remote: Remote) -> None:
    with source(remote) as far:
        far.read()
        children = [child.name() for child in psutil.Process().children()]
        assert "ssh" in children
    assert "ssh" not in [child.name() for child in psutil.Process().children()]
    deadline = time.monotonic() + 60
    while remote.sessions():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_host_that_refuses(remote: Remote) -> None:
    with (
        source(remote, at=f"root@{THERE}:2223") as far,
        pytest.raises(SourceError, match="Connection refused"),
    ):
        far.read()


def test_a_key_that_is_not_known(remote: Remote, tmp_path: Path) -> None:
    options = [*remote.options]
    options[options.index(f"UserKnownHostsFile={remote.folder}/known")] = (
        f"UserKnownHostsFile={tmp_path / 'none'}"
    )
    far = SshHost(SERVER_HOST, f"root@{THERE}:2222", options=options)
    with pytest.raises(SourceError, match="Host key verification failed") as caught:
        far.read()
    assert caught.value.hint is not None
    assert "by hand" in caught.value.hint


def test_a_login_that_is_refused(remote: Remote) -> None:
    with (
        source(remote, at=f"nobody@{THERE}:2222") as far,
        pytest.raises(SourceError, match="Permission denied"),
    ):
        far.read()


def test_no_ssh_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    far = SshHost(SERVER_HOST, "root@db1")
    with pytest.raises(SourceError, match="cannot be started"):
        far.read()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("db1", "db1", None),
        ("root@db1:22", "root@db1", 22),
        ("a@b@db1", "a@b@db1", None),
        ("u@[2001:db8::1]:2222", "u@2001:db8::1", 2222),
        ("u@2001:db8::1", "u@2001:db8::1", None),
    ],
)
def test_a_destination(text: str, host: str, port: int | None) -> None:
    assert Destination.parse(text) == Destination(host, port)


@pytest.mark.parametrize(
    "text", ["", "-oProxyCommand=x", "root@-x", "db1:0", "db1:x", "a b", "root@", "[::1]x", "a\nb"]
)
def test_what_is_no_destination(text: str) -> None:
    with pytest.raises(PlaceError) as caught:
        Destination.parse(text)
    assert caught.value.exit_code == ExitCode.USAGE


def test_lines_are_sorted_by_file_also_where_names_have_colons() -> None:
    odd = "/sys/fs/cgroup/a:b/cpu.max"
    said = f"/proc/stat:cpu 1\n/proc/stat:x:y\n{odd}:max 5\n\nnoise\n"
    assert texts_of(said, ["/proc/stat", odd]) == {"/proc/stat": "cpu 1\nx:y\n", odd: "max 5\n"}
