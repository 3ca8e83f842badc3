"""The addresses and ports that connections leave from: what cannot be is stated in advance."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.lab.machine.outgoing import (
    OutgoingError,
    check_address,
    check_ports,
    outgoing_ports,
)
from loadstone.model.target import Target

TCP = Target(host="db1")
SOCKET = Target(socket=Path("/run/mysqld.sock"))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A machine with 100 ports for outgoing connections."""
    folder = tmp_path / "sys/net/ipv4"
    folder.mkdir(parents=True)
    (folder / "ip_local_port_range").write_text("40000\t40099\n")
    return tmp_path


def test_ports_are_those_of_the_kernels_range(proc: Path, tmp_path: Path) -> None:
    assert outgoing_ports(proc) == 100
    assert outgoing_ports(tmp_path / "nothing") is None
    here = outgoing_ports()
    assert here is None or here > 0


@pytest.mark.parametrize(
    ("connections", "targets", "sources"),
    [
        (100, [TCP], ()),
        (200, [TCP], ("127.0.0.2", "127.0.0.3")),
        (200, [TCP, Target(host="db2")], ()),
        (10_000, [SOCKET], ()),
    ],
)
def test_what_there_are_ports_for_is_let_through(
    proc: Path, connections: int, targets: list[Target], sources: tuple[str, ...]
) -> None:
    check_ports(connections, targets, sources, proc)


def test_too_many_connections_are_told_with_what_would_do(proc: Path) -> None:
    with pytest.raises(OutgoingError, match="301 connections to db1:3306") as caught:
        check_ports(301, [TCP], ("127.0.0.2",), proc)
    assert "ports for 100" in caught.value.message
    assert caught.value.hint is not None
    assert "name 4 addresses of this machine with --source-address" in caught.value.hint


def test_addresses_are_of_this_machine() -> None:
    check_address("127.0.0.2")
    with pytest.raises(OutgoingError, match="'db1' is not an IP address"):
        check_address("db1")
    with pytest.raises(OutgoingError, match=r"203\.0\.113\.1 is no address of this machine"):
        check_address("203.0.113.1")
