"""What the sockets of the load generator show: answers that it has not read yet, round trips."""

from __future__ import annotations

import array
import contextlib
import fcntl
import math
import os
import random
import socket
import struct
import termios
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, TypeVar

from loadstone.model.target import Target

_Item = TypeVar("_Item")

_TRIPS = struct.Struct("=68xI76xI")
"""The smoothed and the least round trip in struct tcp_info, in microseconds (linux/tcp.h)."""

SOCKETS_SEEN = 64
"""How many sockets a look asks; of more, a random sample."""

_FILES_SEEN = 512
"""Of how many open files it is found out where they lead, 8 us for each; of more, a random sample.
"""

_LISTED_FOR_S = 2.0
"""How long a list of sockets holds: users may open others."""


class Trips(NamedTuple):
    """Round trips of some connections in seconds, as their kernel measures them (TCP_INFO, tcp(7)).

    A segment is acknowledged together with the answer, or 40 ms later: `usual` has up to 40 ms of
    the time that a server, or a proxy, took for the answer.
    """

    usual: float
    """The mean of the smoothed ones."""
    least: float
    """The least that was seen: that of a connection's first packets, if others queue later."""


@dataclass
class Answers:
    """The sockets of this process that lead to one server.

    The users' connections belong to the engine, which shares the process; what administrates is
    asked as well, but hardly ever has an answer that waits. Generators on other machines are not
    seen.
    """

    target: Target
    _sockets: Sequence[int] = ()
    _for_each: float = 1.0
    """How many there are for each one that is known."""
    _listed_s: float = -_LISTED_FOR_S
    _least_s: float = math.inf

    def unread(self) -> float:
        """How many users have an answer that waits to be read."""
        now_s = time.monotonic()
        if now_s - self._listed_s >= _LISTED_FOR_S:
            self._list()
            self._listed_s = now_s
        asked = _some_of(self._sockets, SOCKETS_SEEN)
        sockets = self._for_each * len(self._sockets)
        return sockets * sum(map(_waits, asked)) / len(asked) if asked else 0.0

    def trips(self) -> Trips | None:
        """Round trips of some users' connections; `None`: they have none, or no socket is known."""
        asked = _some_of(self._sockets, SOCKETS_SEEN)
        found = [trip for handle in asked if (trip := _trips_of(handle))]
        if not found:
            return None
        # The kernel forgets it after some minutes (tcp_min_rtt_wlen).
        self._least_s = min(self._least_s, *(one.least for one in found))
        return Trips(fmean(one.usual for one in found), self._least_s)

    def _list(self) -> None:
        """Find the sockets, or those among a sample of all open files."""
        files = os.listdir("/proc/self/fd")
        seen = _some_of(files, _FILES_SEEN)
        self._sockets = _sockets_to(_addresses(self.target), seen)
        self._for_each = len(files) / len(seen)


def _waits(handle: int) -> bool:
    """Whether bytes wait to be read: FIONREAD, tcp(7) and unix(7)."""
    size = array.array("i", [0])
    try:
        fcntl.ioctl(handle, termios.FIONREAD, size)
    except OSError:  # it was closed since
        return False
    return size[0] > 0


def _some_of(these: Sequence[_Item], most: int) -> Sequence[_Item]:
    """All of them, or as many at random."""
    return these if len(these) <= most else random.sample(these, most)


def _sockets_to(addresses: Collection[object], files: Sequence[str]) -> list[int]:
    """Those of this process's open files that are sockets to one of these addresses."""
    found = []
    for name in files:
        with contextlib.suppress(OSError):  # it was closed since, or is not connected
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                if _peer_of(int(name)) in addresses:
                    found.append(int(name))
    return found


def _trips_of(handle: int) -> Trips | None:
    """Those of one connection; `None`: it is none by TCP, or was closed since."""
    with contextlib.suppress(OSError):
        with _lent(handle) as one:
            told = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TRIPS.size)
        if len(told) == _TRIPS.size:
            usual_us, least_us = _TRIPS.unpack(told)
            return Trips(usual_us / 1e6, least_us / 1e6)
    return None


def _peer_of(handle: int) -> object:
    """The other end of somebody else's socket, which stays open and is not copied."""
    with _lent(handle) as one:
        peer = one.getpeername()
    return peer[:2] if isinstance(peer, tuple) else os.path.realpath(peer)


@contextlib.contextmanager
def _lent(handle: int) -> Iterator[socket.socket]:
    """Somebody else's socket, which stays open and is not copied; raises `OSError`."""
    one = socket.socket(fileno=handle)
    try:
        yield one
    finally:
        one.detach()


def _addresses(target: Target) -> set[object]:
    if target.socket is not None:
        return {os.path.realpath(target.socket)}
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(target.host, target.tcp_port, type=socket.SOCK_STREAM)
        return {place[:2] for *_, place in found}
    return set()
