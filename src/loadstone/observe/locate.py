"""Finds the process on this machine that is the server of a target.

A wrong process would be worse than none, so each way ends with a check of the program that runs.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from loadstone.families import family_of
from loadstone.model.target import Target
from loadstone.observe.latest import count
from loadstone.observe.listeners import listening_owners
from loadstone.observe.process import has_ended, parent, started_ticks
from loadstone.observe.programs import is_loader, is_server
from loadstone.observe.routes import address_of, local_addresses
from loadstone.observe.samplers import samplers_of
from loadstone.runs.safe_open import opened

_SOCKET_S = 2.0
_START_TOLERANCE_S = 5.0
_LONGEST_NOTE = 32
"""Bytes of a pid file: a number and the line's end."""


@dataclass(frozen=True)
class ServerProcess:
    """A server's process on this machine."""

    pid: int
    why: str
    """How it was found, for display: `it owns the socket`."""


def find_server_process(
    target: Target, variables: Mapping[str, str], started_s: float | None
) -> ServerProcess | None:
    """Find the server's process; `None` unless something proves which process it is.

    Args:
        target: its unix socket, or its port on this machine's own addresses, leads to the listener.
        variables: the server's, as SHOW GLOBAL VARIABLES has them.
        started_s: when it was started by its own account, in seconds of `CLOCK_BOOTTIME`.
    """
    if target.socket is not None:
        pid = _owner_of(target.socket)
        if pid is not None and _runs_a_server(pid):
            return ServerProcess(pid, "it owns the socket")
    else:
        pid = _listener(target.host, target.tcp_port)
        if pid is not None and _runs_a_server(pid):
            return ServerProcess(pid, "it listens on the port")
    if (pid := _behind(target, variables, started_s)) is not None:
        return ServerProcess(pid, "its data and its start say so")
    # A server on another host names a pid file of its own host; here that path would be another
    # file.
    if started_s is None or variables.get("hostname") != socket.gethostname():
        return None
    pid = _noted(variables)
    if pid is None:
        return None
    if not (_started_at(pid, started_s) and _runs_a_server(pid)):
        return None
    return ServerProcess(pid, "its pid file, host name and start say so")


def _behind(target: Target, variables: Mapping[str, str], started_s: float | None) -> int | None:
    """The server behind a pooler or a tunnel of this machine, by the data that it works in."""
    samplers = samplers_of(target)
    if started_s is None or not samplers.work_in_their_data:
        return None
    found = [
        pid
        for pid in _processes()
        if _runs_a_server(pid)
        and _started_at(pid, started_s)
        and samplers.is_data_of(Path(f"/proc/{pid}/cwd"), variables)
    ]
    # Processes of sessions work in the same folder.
    first = [pid for pid in found if parent(_text(f"/proc/{pid}/stat")) not in found]
    if len(first) > 1:  # copies of one server's data, all started just now
        said = family_of(target).data_folder(variables)
        first = [pid for pid in first if said and _works_in(pid, said)]
    return first[0] if len(first) == 1 else None


def _works_in(pid: int, folder: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(folder)
    except OSError:  # it has ended, or is another user's
        return False


def _started_at(pid: int, started_s: float) -> bool:
    seen_s = _started_s(pid)
    return seen_s is not None and abs(seen_s - started_s) <= _START_TOLERANCE_S


def data_folder(target: Target, variables: Mapping[str, str], pid: int | None) -> str | None:
    """The folder with a server's data as its process sees it; `None` if we cannot know.

    Some servers tell it only to some users, but their process works in it.
    """
    said = family_of(target).data_folder(variables)
    if said or pid is None or not samplers_of(target).work_in_their_data:
        return said
    with contextlib.suppress(OSError):  # another user's process
        return os.readlink(f"/proc/{pid}/cwd")
    return None


def _owner_of(path: Path) -> int | None:
    """The process that made the socket listen; 0 if this namespace does not show it."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_SOCKET_S)
        try:
            probe.connect(str(path))
            raw = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    return int(struct.unpack("3i", raw)[0]) or None


def forwarder(target: Target) -> str:
    """The program on this machine that accepts a target's connections; empty if none is visible.

    Where `find_server_process` finds no server, that program leads to one, as a tunnel or a proxy
    does.
    """
    pid = accepting_process(target)
    return _name(pid) if pid is not None else ""


def accepting_process(target: Target) -> int | None:
    """The process on this machine that accepts a target's connections; `None`: none is visible."""
    if target.socket is not None:
        return _owner_of(target.socket)
    owners = _listening(target.host, target.tcp_port)
    return next((pid for pid in _processes() if _holds(pid, owners) and _name(pid)), None)


def _name(pid: int) -> str:
    return _text(f"/proc/{pid}/comm").strip()


def _listener(host: str, port: int) -> int | None:
    """The process that listens on that port of this machine, if exactly one does.

    The open files of other users' processes are hidden, but the owner of a socket is not: then that
    user's server process is taken.
    """
    owners = _listening(host, port)
    servers = [pid for pid in _processes() if owners and _runs_a_server(pid)]
    holders = [pid for pid in servers if _holds(pid, owners)]
    if not holders:
        holders = [pid for pid in servers if _user_of_hidden(pid) in owners.values()]
        # A server with a process for each session: the one that started the others listens.
        holders = [pid for pid in holders if parent(_text(f"/proc/{pid}/stat")) not in holders]
    return holders[0] if len(holders) == 1 else None


def _listening(host: str, port: int) -> dict[str, str]:
    """The owners of the sockets that listen there, by inode; none for another machine's address."""
    tables = [_text(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
    own = local_addresses(_text("/proc/net/fib_trie"), _text("/proc/net/if_inet6"))
    owners: dict[str, str] = {}
    for address in _addresses(host, port):
        if not (address.is_loopback or address in own):
            return {}
        owners |= listening_owners(tables, port, address)
    return owners


def _user_of_hidden(pid: int) -> str | None:
    """The id of the process's user, if we may not see which files it has open."""
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
    """Whether the process has one of these sockets open, as far as we may see."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    folder = f"/proc/{pid}/fd"
    try:
        handles = os.listdir(folder)
    except OSError:
        return False
    for handle in handles:
        with contextlib.suppress(OSError):  # closed in the meantime
            if os.readlink(f"{folder}/{handle}") in wanted:
                return True
    return False


def _runs_a_server(pid: int) -> bool:
    """Check the program's file, which a process cannot change; for a loader, its arguments."""
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:  # another user's process: only its name is visible
        return is_server(_text(f"/proc/{pid}/comm").strip())
    if not is_loader(program):
        return is_server(program)
    words = _text(f"/proc/{pid}/cmdline").split("\0")
    return any(is_server(os.path.basename(word)) for word in words[:6])


def _noted(variables: Mapping[str, str]) -> int | None:
    """The process named in the server's pid file, if we may read it.

    The server chose the file's name: it may be a FIFO, whose read never ends, or a device.
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


def _started_s(pid: int) -> float | None:
    text = _text(f"/proc/{pid}/stat")
    ticks = started_ticks(text)
    if ticks is None or has_ended(text):
        return None
    return ticks / os.sysconf("SC_CLK_TCK")


def _text(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
