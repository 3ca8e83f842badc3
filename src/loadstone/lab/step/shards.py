"""How a load is cut over this machine's processors."""

from __future__ import annotations

import os

USERS_A_SHARD = 16
"""Measured with `loadstone run`: below it a second event loop costs more than it saves."""


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))
