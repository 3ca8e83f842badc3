"""Shared memory of servers that get killed: nobody else frees it before the machine's next boot."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Sequence
from pathlib import Path

from loadstone.sandbox.processes import ProcessMark

# proc_pid_maps(5): a segment of shm_open(3) has its file, one of shmget(2) has its id as inode.
_POSIX = re.compile(r" (/dev/shm/PostgreSQL\.\d+)$", re.MULTILINE)
_SYSV = re.compile(r" (\d+) +/SYSV[0-9a-f]{8} \(deleted\)$", re.MULTILINE)

_IPC_RMID = 0


class SharedMemory:
    """The segments that these processes use now."""

    def __init__(self, servers: Sequence[ProcessMark]) -> None:
        self._files: set[Path] = set()
        self._ids: set[int] = set()
        for server in servers:
            with contextlib.suppress(OSError):  # it has ended
                maps = Path(f"/proc/{server.pid}/maps").read_text(errors="replace")
                self._files.update(map(Path, _POSIX.findall(maps)))
                self._ids.update(map(int, _SYSV.findall(maps)))

    def free(self) -> None:
        """Free what the processes left when they ended; a server that ended by itself left none."""
        for path in self._files:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        for number in self._ids:
            ctypes.CDLL(None).shmctl(number, _IPC_RMID, None)
