"""Which server answers. An address may lead to another one tomorrow: a tunnel, a failover."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say

Answer = Literal["same", "restarted", "other"]

_NAMES = ("datadir", "hostname", "server_id")
"""What distinguishes MariaDB's servers, together with when they were started."""


class Identity(Frozen):
    """A server as it was seen at one time; what it did not say is `None`."""

    server_uuid: str | None = None
    """MySQL's, which stays through restarts. MariaDB has none."""
    datadir: str | None = None
    hostname: str | None = None
    server_id: str | None = None
    started_s: int | None = None
    """When it was started, in seconds since 1970 by its own clock."""
    seen_s: int | None = None
    """When it was asked, by the same clock."""


def compared(before: Identity, now: Identity, changed: Collection[str] = ()) -> Answer:
    """Whether it is the server of before, and whether that has been restarted since.

    `changed`: variables that may have been set in between, and so say nothing.
    """
    if differences(before, now, changed):
        return "other"
    if None in (before.started_s, now.started_s) or before.started_s == now.started_s:
        return "same"
    return "restarted"


def differences(before: Identity, now: Identity, changed: Collection[str] = ()) -> list[Message]:
    """What shows that it is another server: `hostname is db2, not db1`."""
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
    """Whether it already ran when the one of before was seen, and is not that one.

    Copies of a server have all names in common with it.
    """
    if before.started_s is None or before.seen_s is None or now.started_s is None:
        return False
    # In the very second of that a restart is the likelier.
    return now.started_s != before.started_s and now.started_s < before.seen_s
