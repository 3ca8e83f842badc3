"""A server in its own network namespace, and the line that leads there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.families import connect
from loadstone.model.experiment import NetworkLimit
from loadstone.sandbox import SandboxError, SandboxSpec, network, start_sandbox
from loadstone.sandbox.network import (
    Namespace,
    Passed,
    limit_line,
    namespace,
    passed,
    queues,
    why_not,
)

MEGABIT = 1_000_000
FEW = NetworkLimit(bits_per_s=40 * MEGABIT)

RECEIVE = """
import socket, sys
with socket.create_server((sys.argv[1], 4711)) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    got = 0
    while piece := peer.recv(1 << 16):
        got += len(piece)
    peer.sendall(bytes(got))
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)
"""


MAKE = """
import sys
from loadstone.sandbox.network import make_namespace
print(make_namespace().name, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def line() -> Iterator[Namespace]:
    if os.geteuid() != 0:
        pytest.skip("not evaluated: only root makes network namespaces")
    refused = why_not(FEW)
    if refused:
        pytest.skip(f"not evaluated: {refused[1]}")
    with namespace() as made:
        yield made


def both_ways_s(line: Namespace, size: int) -> tuple[float, float]:
    """The time in which this many bytes get there, and as many come back."""
    import socket

    words = [*line.launcher, sys.executable, "-c", RECEIVE, line.there]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"ready\n"
        with socket.create_connection((line.there, 4711), 10) as client:
            assert client.getsockname()[0] == line.here
            began = time.monotonic()
            client.sendall(bytes(size))
            client.shutdown(socket.SHUT_WR)
            first = client.recv(1)
            there_s = time.monotonic() - began
            got = len(first)
            while piece := client.recv(1 << 16):
                got += len(piece)
            assert got == size
            return there_s, time.monotonic() - began - there_s


def test_a_rate_holds_in_both_directions(line: Namespace) -> None:
    assert passed(line) == Passed(bytes_sent=0, held_back=0), "nothing is limited yet"
    limit_line(line, FEW)
    # More than a queue lets pass at once: 64 KiB. When the first byte is read is the reader's time.
    assert sum(both_ways_s(line, 2_000_000)) > 0.6, "2 MB at 40 Mbit/s take 0.4 s each way"
    seen = passed(line)
    assert seen.bytes_sent > 2_000_000 and seen.held_back > 0
    limit_line(line, None)
    assert not any("tbf" in said for said in queues_of(line))


def queues_of(line: Namespace) -> list[str]:
    """The queues at both ends, as the kernel shows them."""
    return [
        subprocess.run(
            [*tc, "qdisc", "show", "dev", interface], capture_output=True, text=True, check=True
        ).stdout
        for tc, interface in line.ends
    ]


def test_another_rate_takes_the_place_of_the_one_before(line: Namespace) -> None:
    for mbit in (10, 20):
        limit_line(line, NetworkLimit(bits_per_s=mbit * MEGABIT))
        said = queues_of(line)
        assert [f"rate {mbit}Mbit" in each for each in said] == [True, True], said
    limit_line(line, None)


def test_what_a_killed_one_left_is_cleared_by_the_next(line: Namespace) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MAKE],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        left = Path("/run/netns", child.stdout.readline().strip())
        # Nobody removes it while its owner lives; later the next test's may be removed by any
        # other.
        assert left.exists()
        child.kill()
    with namespace():
        assert not left.exists()
        assert Path("/run/netns", line.name).exists(), "ours is at work"


def test_namespaces_of_one_process_have_addresses_of_their_own(line: Namespace) -> None:
    with namespace() as other:
        assert {other.here, other.there}.isdisjoint({line.here, line.there})
    assert not Path("/run/netns", other.name).exists()
    asked = other.here, other.there
    with namespace(asked) as known:
        assert (known.here, known.there) == asked
    assert not Path("/sys/class/net", other.outer).exists()


@pytest.mark.slow
@pytest.mark.server
def test_a_server_lives_in_there_and_is_reached_by_both_ways(
    server: str, state: Path, line: Namespace
) -> None:
    with start_sandbox(SandboxSpec(server=server, namespace=line)) as sandbox:
        # Not loopback: the password goes only to this certificate, even if it is sent itself.
        assert sandbox.tcp.target.tls.fingerprint is not None
        for again in (False, True):
            if again:
                sandbox.halt()
                sandbox.start_again()
            assert sandbox.tcp.target.host == line.there
            for endpoint in (sandbox.tcp, sandbox.local):
                with connect(endpoint) as connection, connection.cursor() as cursor:
                    cursor.execute("SELECT 1")
            own = os.readlink(f"/proc/{sandbox.pid}/ns/net")
            assert own != os.readlink("/proc/self/ns/net")


def test_queues_in_the_words_of_tc() -> None:
    both = queues(NetworkLimit(bits_per_s=10**9, delay_s=0.0005))
    assert [" ".join(words) for words in both] == [
        "root handle 1: netem delay 500us limit 100000",
        "parent 1:1 handle 10: tbf rate 1000000000bit burst 500000b latency 200ms",
    ]
    (slow,) = queues(NetworkLimit(bits_per_s=8000))
    assert slow[:1] == ("root",) and "65536b" in slow, "no packet would be small enough else"


def test_a_queue_that_the_kernel_has_not_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str) -> str:
        if "netem" in words:
            raise SandboxError("tc: Error: Specified qdisc kind is unknown.", None)
        return ""

    monkeypatch.setattr(network, "_run", run)
    monkeypatch.setattr("shutil.which", lambda name: f"/sbin/{name}")
    assert why_not(FEW) is None
    refused = why_not(NetworkLimit(bits_per_s=MEGABIT, delay_s=0.001))
    assert refused is not None
    assert refused[0] == "delay_s" and "qdisc kind is unknown" in refused[1]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert why_not(FEW) == (None, "not installed: iproute2, util-linux")
