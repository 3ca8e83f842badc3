"""Ten thousand connections, one thread, and no error on either side."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.sandbox.certificates import Certificates
from null_server.conftest import Starter
from null_server.driven import drive

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # the program may have to be built first

MANY, FEWEST = 10_000, 2000
MANY_ENCRYPTED = MANY if os.environ.get("LOADSTONE_NIGHTLY") == "1" else 3000
"""A handshake takes a core a millisecond and more: only `make nightly` has as many with TLS."""
# Files that a process has open in addition.
OTHERS = 300


@pytest.fixture
def room() -> Iterator[int]:
    """How many connections this machine lets a process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard - OTHERS < FEWEST:
        pytest.skip(f"ulimit -Hn is {hard}: {FEWEST} connections need more open files than that")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard - OTHERS
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("mode", "most"), [("disabled", MANY), ("required", MANY_ENCRYPTED)])
def test_thousands_of_users_see_no_error(
    start: Starter, certificates: Certificates, room: int, mode: str, most: int
) -> None:
    users = min(most, room)
    files = [str(certificates.cert("server")), str(certificates.key("server"))]
    server = start(None, "--tls-cert", files[0], "--tls-key", files[1], "--log-records", "1")
    connect = {"at_once": 64, "timeout_s": 60.0, "retries": 5, "backoff_s": 0.02}
    driven = drive(server, users=users, seconds=2, tls={"mode": mode}, connect=connect)
    assert (driven.end.reason, driven.end.error) == ("finished", None)
    assert driven.connected is not None
    assert (driven.connected.users, driven.connected.connect_failures) == (users, {})
    assert driven.connected.encrypted_users == (users if mode == "required" else 0)
    assert not driven.errors()
    assert all(sample.users == users for sample in driven.samples)
    assert driven.end.tally.failed == 0
    status = server.status()
    assert status["open_max"] == users
    assert driven.end.tally.succeeded == status["executes"] == status["answered"] >= users
    assert (status["garbled"], status["tls_failed"], status["errors"]) == (0, 0, 0)
    resident = memory(server.process.pid)
    assert resident < 512 << 20, f"{resident / users:.0f} bytes a connection"


def memory(process: int) -> int:
    """The largest resident size of a process, in bytes: VmHWM of proc_pid_status(5)."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
