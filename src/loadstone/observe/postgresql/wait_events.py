"""What a session waits for, by the names that PostgreSQL gives to waits.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-TABLE
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.observe.sessions import Says

ROW_LOCKS = ("transactionid", "tuple", "spectoken")
"""Locks that a session waits for to change or lock a row: the end of the transaction that changed
it, or its turn among those that wait for that."""

_OF_A_PLACE = ("extend",)
"""A table's file grows by one session at a time: a latch in all but the name."""

_LOG = "wal"
_AURORAS_COMMIT = "xactsync"
"""Amazon Aurora: a commit waits until its storage has the log.

Source: https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/apg-waits.xactsync.html
"""

_READS = ("read", "prefetch")
_ASYNCHRONOUS = "aio"
"""From 18 on sessions have pages read for them (IO:AioIoCompletion and its like), and none written.
"""

_IPC: Mapping[str, Says] = {
    "syncrep": "replica",
    # Somebody else reads the page, or a process of the server does so for all.
    "bufferio": "disk read",
    # A session that ends its transaction does so for others that wait to do the same.
    "procarraygroupupdate": "latch",
    "cloggroupupdate": "latch",
    "xactgroupupdate": "latch",
}
_LATCHES: Mapping[str, Says] = {
    # Its holder writes and syncs the log for all that wait.
    "walwrite": "commit",
    # As of IPC from 14 on.
    "bufferio": "disk read",
}
_TIMEOUTS: Mapping[str, Says] = {
    "commitdelay": "commit delay",
    "pgsleep": "paused",
    "spindelay": "latch",
}


def said_by(state: str, kind: str, wait: str) -> Says:
    """Where a session says that it is.

    Args:
        state: as `active`; empty if the server does not keep it.
        kind: the wait_event_type; empty if it does not wait.
        wait: the wait_event, whose spelling differs between versions.
    """
    name = wait.lower()
    match kind:
        case "":
            return "waits for the client" if state.startswith("idle") else "works"
        case "Client":
            return "sends" if name == "clientwrite" else "waits for the client"
        case "Lock":
            return _heavyweight(name)
        case "LWLock":
            return _LATCHES.get(name, "latch")
        case "BufferPin" | "Buffer":
            return "latch"
        case "IO":
            return _of_files(name)
        case "IPC":
            return _IPC.get(name, "other")
        case "Timeout":
            return _TIMEOUTS.get(name, "other")
        case _:
            return "other"


def _heavyweight(name: str) -> Says:
    if name in ROW_LOCKS:
        return "row lock"
    return "latch" if name in _OF_A_PLACE else "table lock"


def _of_files(name: str) -> Says:
    if name.startswith(_LOG) or name == _AURORAS_COMMIT:
        return "log sync"
    is_read = name.endswith(_READS) or name.startswith(_ASYNCHRONOUS)
    return "disk read" if is_read else "disk write"
