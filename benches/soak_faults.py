"""The faults of a soak: what happens to the server under load, and to the line that leads there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from loadstone.model.experiment import NetworkLimit
from loadstone.sandbox import Sandbox
from loadstone.sandbox.network import Namespace, limit_line
from loadstone.servers.connection import Cursor

_DOWN_S = 2.0
_STOPPED_S = 8.0
_LOWERED_S = 8.0
_SLOW_S = 10.0
_CUT_S = 5.0
# 1094: a session that has ended by itself in the meantime.
_KILL_SOME = """
BEGIN NOT ATOMIC
    DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;
    FOR one IN (
        SELECT id FROM information_schema.processlist
        WHERE host LIKE '%:%' AND command <> 'Daemon' ORDER BY RAND({seed}) LIMIT {number}
    ) DO
        KILL CONNECTION one.id;
    END FOR;
END
"""
_SLOW = NetworkLimit(bits_per_s=2_000_000)


@dataclass(frozen=True)
class Ground:
    """Where faults are injected."""

    server: Sandbox
    line: Namespace | None
    """`None`: the server is on this machine's own network, which is left alone."""
    users: int
    chance: random.Random


Fault = Callable[[Ground], None]
"""Injects it, and removes it again."""


def _server_killed(ground: Ground) -> None:
    ground.server.kill()
    time.sleep(_DOWN_S)
    ground.server.start_again()


def _server_stopped(ground: Ground) -> None:
    os.kill(ground.server.pid, signal.SIGSTOP)
    try:
        time.sleep(_STOPPED_S)
    finally:
        os.kill(ground.server.pid, signal.SIGCONT)


def _sessions_killed(ground: Ground) -> None:
    """Kill half of the sessions."""
    with ground.server.connect() as connection, connection.cursor() as cursor:
        _kill(cursor, ground, ground.users // 2)


def _connections_lowered(ground: Ground) -> None:
    """Kill all sessions, of which half may reconnect."""
    with ground.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.max_connections")
        ((before,),) = cursor.fetchall()
        cursor.execute(f"SET GLOBAL max_connections = {max(ground.users // 2, 10)}")
        try:
            _kill(cursor, ground, ground.users)
            time.sleep(_LOWERED_S)
        finally:
            cursor.execute(f"SET GLOBAL max_connections = {before}")


def _network_slowed(ground: Ground) -> None:
    assert ground.line
    limit_line(ground.line, _SLOW)
    try:
        time.sleep(_SLOW_S)
    finally:
        limit_line(ground.line, None)


def _network_cut(ground: Ground) -> None:
    assert ground.line
    _set_line(ground.line, "down")
    try:
        time.sleep(_CUT_S)
    finally:
        _set_line(ground.line, "up")


FAULTS: dict[str, Fault] = {
    "server killed": _server_killed,
    "server stopped": _server_stopped,
    "sessions killed": _sessions_killed,
    "max_connections lowered": _connections_lowered,
}
LINE_FAULTS: dict[str, Fault] = {
    "network slowed": _network_slowed,
    "network cut": _network_cut,
}
"""Only if the server has a network of its own."""


def in_rounds(names: list[str], chance: random.Random) -> Iterator[str]:
    """Endless rounds: each fault equally often, in random order."""
    while True:
        yield from chance.sample(names, len(names))


def _kill(cursor: Cursor, ground: Ground, number: int) -> None:
    """Kill this many sessions that came over the network, as all of the load's do.

    In one statement: while they reconnect in a storm, thousands of statements would take minutes.
    """
    seed = ground.chance.randrange(1_000_000)
    cursor.execute(_KILL_SOME.format(seed=seed, number=number))


def _set_line(line: Namespace, state: str) -> None:
    words = ["ip", "-n", line.name, "link", "set", line.inner, state]
    subprocess.run(words, check=True, capture_output=True)
