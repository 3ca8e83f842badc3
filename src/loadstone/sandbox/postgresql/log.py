"""Reads a server's messages: in its log, and in what its programs say."""

from __future__ import annotations

import re

from loadstone.model.message import say

# PgBouncer's have no colon.
_ERROR = re.compile(r"\b(?:(?:ERROR|FATAL|PANIC):?|initdb: error:)\s+(.*)")


def error_of(log: str) -> str | None:
    """The first error of a log, without its time and process."""
    found = _ERROR.search(log)
    return None if found is None else found[1].strip()


def is_port_taken(log: str) -> bool:
    """Whether the server ended because its port was already in use."""
    return "Address already in use" in log


def hint_of(reason: str) -> str | None:
    """What to do about an error; `None` if there is no advice."""
    if "unrecognized configuration parameter" in reason:
        return say("check --set; the view pg_settings has the names of all parameters")
    if "No space left" in reason:
        return say("make room, or set XDG_STATE_HOME to a folder on another disk")
    if "could not map anonymous shared memory" in reason:
        return say("give it a smaller shared_buffers or max_connections")
    return None
