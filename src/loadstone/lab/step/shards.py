"""Divides a load among this machine's processors."""

from __future__ import annotations

import os

USERS_A_SHARD = 16
"""Users per shard, measured with `loadstone run`: with fewer, a second event loop costs more than
it saves."""


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
