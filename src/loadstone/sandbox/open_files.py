"""Determines how many files a server may open on this machine."""

from __future__ import annotations

import resource


def reachable_files(wanted: int) -> int:
    """The hard limit, or what root can raise it to: tried on this process and restored."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] == resource.RLIM_INFINITY or before[1] >= wanted:
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[0], wanted))
    except (ValueError, OSError):
        return before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    return wanted
