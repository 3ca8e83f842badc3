"""Identifies a sandbox's disk: a result measured in memory says nothing about durable commits."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from loadstone.model.frozen import Frozen
from loadstone.model.message import say, say_in
from loadstone.sandbox.errors import SandboxError

_IN_MEMORY = ("tmpfs", "ramfs")
_NEEDED_BYTES = 512 * 2**20
_MAKE_ROOM = say("make room, or set XDG_STATE_HOME to a folder on another disk")


class Disk(Frozen):
    """The file system under a folder."""

    filesystem: str
    device: str
    mount: Path
    free_bytes: int

    @property
    def in_memory(self) -> bool:
        """Whether the file system is in memory, where a flush costs nothing."""
        return self.filesystem in _IN_MEMORY

    @property
    def description(self) -> str:
        """For people: `ext4 on /dev/vda (/)`, with a warning where it is no real disk."""
        place = say(
            "{kind} on {device} ({mount})",
            kind=self.filesystem,
            device=self.device,
            mount=self.mount,
        )
        if self.in_memory:
            why = say("in memory, so flushes cost nothing and durable figures mean nothing")
        elif self.filesystem == "overlay":
            why = say("a container's layer, what lies beneath is not visible from here")
        else:
            return place
        return say_in("joined", "{first}: {second}", first=place, second=why)


def disk_of(folder: Path) -> Disk:
    """The file system that holds `folder`."""
    free = shutil.disk_usage(folder).free
    device = os.stat(folder).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    path = folder.resolve()
    best: tuple[int, str, str, Path] | None = None
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        numbers, mount = fields.split()[2], Path(fields.split()[4])
        if not path.is_relative_to(mount):
            continue
        filesystem, source = rest.split()[:2]
        rank = len(mount.parts) + (1000 if numbers == wanted else 0)
        if best is None or rank >= best[0]:
            best = (rank, filesystem, source, mount)
    if best is None:
        return Disk(filesystem="unknown", device="unknown", mount=path, free_bytes=free)
    return Disk(filesystem=best[1], device=best[2], mount=best[3], free_bytes=free)


def check_room(folder: Path) -> None:
    """Refuse to start where a data folder does not fit.

    Raises:
        SandboxError: says how much room there is, and what to do.
    """
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise SandboxError(
            say(
                "{free} MiB are free in {folder}, a sandbox needs {needed}",
                free=free // 2**20,
                folder=str(folder),
                needed=_NEEDED_BYTES // 2**20,
            ),
            _MAKE_ROOM,
        )


def disk_error(error: OSError, folder: Path) -> SandboxError:
    """The error for an operating system's refusal, with what to do."""
    hints = {
        errno.ENOSPC: _MAKE_ROOM,
        errno.EROFS: say("it is read-only: set XDG_STATE_HOME to a folder that you can write to"),
        errno.EACCES: say("set XDG_STATE_HOME to a folder that you can write to"),
    }
    return SandboxError(
        say(
            "cannot write {path}: {reason}",
            path=str(error.filename or folder),
            reason=error.strerror,
        ),
        hints.get(error.errno or 0, say("check the folder and its disk")),
    )
