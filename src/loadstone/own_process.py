"""What Loadstone sets for a process that is its own: the command line's, and a generator's.

Never in a process that imports the package, such as a notebook's.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from typing import Final

_LARGE: Final = 128 * 1024
"""Bytes. glibc starts with this limit."""

_KEPT: Final = 1024 * 1024
"""Bytes that a thread's arena keeps free at its end. Records of TLS come and go there, and each
page given back costs a page fault later."""

_LIMITS: Final = {-3: _LARGE, -1: _KEPT}
"""By M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h."""


def prepare() -> None:
    """Set both, before any threads are started."""
    leave_no_core()
    keep_large_blocks_apart()


def leave_no_core() -> None:
    """Disable core dumps, which would write passwords to the disk.

    A server of a sandbox with `core_file` set raises its own limit again.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def keep_large_blocks_apart() -> None:
    """From now on blocks of 128 KiB and more go back to the system when they are freed.

    So does the free end of a thread's arena once it exceeds a megabyte. glibc raises both limits
    when a larger block is freed; then memory grew with each storm of reconnects
    (docs/decisions/0024). Another C library keeps its own ways.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for limit, size in _LIMITS.items():
            mallopt(limit, size)
