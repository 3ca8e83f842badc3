"""Which process on this machine is the server that a target means.

A wrong process would be worse than none: each way ends with a look at the program that runs.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from loadstone.model.target import Target
from loadstone.observe.latest import count
from loadstone.observe.listeners import listening_owners
from loadstone.observe.process import has_ended, started_ticks
from loadstone.observe.programs import is_loader, is_server
from loadstone.observe.routes import address_of, local_addresses
from loadstone.runs.safe_open import opened

_SOCKET_S = 2.0
_UPTIME_TOLERANCE_S = 5.0
_LONGEST_NOTE = 32
"""Bytes of a pid file: a number, and the end of its line."""


@dataclass(frozen=True)
class ServerProcess:
    """A server's process on this machine."""

    pid: int
    why: str
    """How it was found, for a person: `it owns the socket`."""


def find_server_process(
    target: Target, variables: Mapping[str, str], uptime_s: float | None
) -> ServerProcess | None:
    """Look for it; `None` where nothing proves which one it is.

    Args:
        target: a unix socket is asked who listens; so are this machine's own addresses.
        variables: the server's, as SHOW GLOBAL VARIABLES has them.
        uptime_s: the server's `Uptime` at about this moment.
    """
    if target.socket is not None:
        pid = _owner_of(target.socket)
        if pid is not None and _runs_a_server(pid):
            return ServerProcess(pid, "it owns the socket")
    else:
        pid = _listener(target.host, target.tcp_port)
        if pid is not None and _runs_a_server(pid):
            return ServerProcess(pid, "it listens on the port")
    # A server elsewhere names a file of its own host, and here that would be another one.
    if uptime_s is None or variables.get("hostname") != socket.gethostname():
        return None
    pid = _noted(variables)
    if pid is None:
        return None
    age_s = _age_s(pid)
    if age_s is None or abs(age_s - uptime_s) > _UPTIME_TOLERANCE_S or not _runs_a_server(pid):
        return None
    return ServerProcess(pid, "its pid file, host name and uptime say so")


def _owner_of(path: Path) -> int | None:
    """Who made the socket listen; 0 is a process that this namespace does not show."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_SOCKET_S)
        try:
            probe.connect(str(path))
            raw = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    return int(struct.unpack("3i", raw)[0]) or None


def forwarder(target: Target) -> str:
    """The program that takes a target's connections on this machine; empty: nobody shows.

    Where `find_server_process` finds no server, it leads to one, as a tunnel or a proxy does.
    """
    if target.socket is not None:
        pid = _owner_of(target.socket)
        return _name(pid) if pid is not None else ""
    owners = _listening(target.host, target.tcp_port)
    found = (_name(pid) for pid in _processes() if _holds(pid, owners))
    return next(filter(None, found), "")


def _name(pid: int) -> str:
    return _text(f"/proc/{pid}/comm").strip()


def _listener(host: str, port: int) -> int | None:
    """Who listens on that port of one of this machine's own addresses, if exactly one does.

    What another user's process has open is not shown to everybody, and whose a socket is, is: then
    a server of that user is it.
    """
    owners = _listening(host, port)
    servers = [pid for pid in _processes() if owners and _runs_a_server(pid)]
    holders = [pid for pid in servers if _holds(pid, owners)]
    if not holders:
        holders = [pid for pid in servers if _user_of_hidden(pid) in owners.values()]
    return holders[0] if len(holders) == 1 else None


def _listening(host: str, port: int) -> dict[str, str]:
    """The users whose sockets listen there, by inode; none on an address of another machine."""
    tables = [_text(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
    own = local_addresses(_text("/proc/net/fib_trie"), _text("/proc/net/if_inet6"))
    owners: dict[str, str] = {}
    for address in _addresses(host, port):
        if not (address.is_loopback or address in own):
            return {}
        owners |= listening_owners(tables, port, address)
    return owners


def _user_of_hidden(pid: int) -> str | None:
    """The number of the user whose process it is, where we may not look at what it has open."""
    try:
        os.listdir(f"/proc/{pid}/fd")
    except PermissionError:
        with contextlib.suppress(OSError):
            return str(os.stat(f"/proc/{pid}").st_uid)
    except OSError:
        pass
    return None


def _addresses(host: str, port: int) -> list[IPv4Address | IPv6Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    addresses = (address_of(str(place[0])) for *_, place in found)
    return [address for address in addresses if address is not None]


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _holds(pid: int, inodes: Iterable[str]) -> bool:
    """Whether the process has one of these sockets open, as far as we may look."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    folder = f"/proc/{pid}/fd"
    try:
        handles = os.listdir(folder)
    except OSError:
        return False
    for handle in handles:
        with contextlib.suppress(OSError):  # closed meanwhile
            if os.readlink(f"{folder}/{handle}") in wanted:
                return True
    return False


def _runs_a_server(pid: int) -> bool:
    """By the program's file, which a process cannot change; a loader's is in its first words."""
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:  # somebody else's: its name is what there is
        return is_server(_text(f"/proc/{pid}/comm").strip())
    if not is_loader(program):
        return is_server(program)
    words = _text(f"/proc/{pid}/cmdline").split("\0")
    return any(is_server(os.path.basename(word)) for word in words[:6])


def _noted(variables: Mapping[str, str]) -> int | None:
    """The process that the server's pid file names, where we may read it.

    The server chose the name: it may be a FIFO, which never ends, or a device.
    """
    name = variables.get("pid_file", "")
    if not name or "\0" in name:
        return None
    path = Path(variables.get("datadir", "").partition("\0")[0], name)
    try:
        with opened(path) as file:
            text = file.read(_LONGEST_NOTE).decode("utf-8", "replace")
    except OSError:
        return None
    number = count(text.strip())
    return int(number) if number else None


def _age_s(pid: int) -> float | None:
    text = _text(f"/proc/{pid}/stat")
    ticks = started_ticks(text)
    if ticks is None or has_ended(text):
        return None
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _text(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
