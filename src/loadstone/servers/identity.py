"""Recognises servers. An address may lead to another one tomorrow: a tunnel, a failover."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say

Answer = Literal["same", "restarted", "other"]

_NAMES = ("datadir", "hostname", "server_id")
"""Variables that distinguish MariaDB servers, together with their start time."""


class Identity(Frozen):
    """A server as it was seen at one time; unknown values are `None`."""

    server_uuid: str | None = None
    """MySQL's UUID, which survives restarts. MariaDB has none."""
    datadir: str | None = None
    hostname: str | None = None
    server_id: str | None = None
    started_s: int | None = None
    """When it was started, in seconds since 1970 by its own clock."""
    seen_s: int | None = None
    """When this was read, by the same clock."""


def compared(before: Identity, now: Identity, changed: Collection[str] = ()) -> Answer:
    """Whether it is the same server as before, and whether it has been restarted since.

    `changed`: variables that may have been set in between, and are therefore ignored.
    """
    if differences(before, now, changed):
        return "other"
    if None in (before.started_s, now.started_s) or before.started_s == now.started_s:
        return "same"
    return "restarted"


def differences(before: Identity, now: Identity, changed: Collection[str] = ()) -> list[Message]:
    """The differences that show another server: `hostname is db2, not db1`."""
    if before.server_uuid or now.server_uuid:
        names: Iterator[str] = iter(("server_uuid",))
    else:
        names = (name for name in _NAMES if name not in changed)
    found = [
        say(
            "{variable} is {value}, not {before}",
            variable=name,
            value=getattr(now, name),
            before=getattr(before, name),
        )
        for name in names
        if getattr(now, name) != getattr(before, name)
    ]
    if not found and _ran_beside(before, now):
        found = [say("it was started before, and at another time")]
    return found


def _ran_beside(before: Identity, now: Identity) -> bool:
    """Whether it was already running when the earlier server was seen, and is not that one.

    Copies of a server have the same names, so they can only be recognised by this.
    """
    if before.started_s is None or before.seen_s is None or now.started_s is None:
        return False
    # If it was started in the same second, a restart is more likely.
    return now.started_s != before.started_s and now.started_s < before.seen_s
