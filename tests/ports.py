"""Ports that nobody else takes between being found and being opened."""

from __future__ import annotations

import itertools
import os
import socket

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_OF_A_WORKER = 500
_FIRST = 20_000 + (os.getppid() * 7 + _WORKER) % 20 * _OF_A_WORKER
"""Below the ports that the kernel assigns by itself (ip-sysctl.rst, ip_local_port_range): another
test's connection could take one of those at any time."""

_NEXT = itertools.count()


def free_port(host: str = "127.0.0.1") -> int:
    """A different port each time; each worker has its own range."""
    for number in _NEXT:
        port = _FIRST + number % _OF_A_WORKER
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                assert number < 10 * _OF_A_WORKER, "no port is free"
                continue
        return port
    raise AssertionError("numbers have no end")
