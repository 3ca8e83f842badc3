"""Errors between a run and its folder."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Literal

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Message, say

Doing = Literal[
    "clear", "make", "make a folder in", "make the folder", "read", "write", "write to the folder"
]
"""The operation that failed."""

_HINTS = {
    errno.EACCES: say("choose a folder that you may write to with --out"),
    errno.EPERM: say("choose a folder that you may write to with --out"),
    errno.EROFS: say("the file system is read-only; choose another folder with --out"),
    errno.ENOSPC: say(
        "free some space or choose another disk with --out; what was written is kept"
    ),
    errno.EDQUOT: say(
        "your quota is used up; choose another disk with --out; what was written is kept"
    ),
    errno.ENOTDIR: say("a file is in the way; choose another folder with --out"),
    errno.EEXIST: say("a file is in the way; choose another folder with --out"),
    errno.EMFILE: say("raise the limit: ulimit -n 65536; what was written is kept"),
    errno.ENFILE: say(
        "this machine has no free file descriptors: end something; what was written is kept"
    ),
}


class StoreError(LoadstoneError):
    """A run folder cannot be written, or is not as it should be."""

    exit_code = ExitCode.STORE

    @classmethod
    def from_os(cls, doing: Doing, path: Path, error: OSError) -> StoreError:
        """Wrap an error of the operating system, with the operation and the path."""
        reason = error.strerror or str(error)
        why = reason if isinstance(reason, Message) else reason.lower()
        return cls(_cannot(doing, path, why), _HINTS.get(error.errno or 0))


def _cannot(doing: Doing, path: Path, why: str) -> Message:
    match doing:
        case "read":
            return say("cannot read {path}: {why}", path=path, why=why)
        case "write":
            return say("cannot write {path}: {why}", path=path, why=why)
        case "write to the folder":
            return say("cannot write to the folder {path}: {why}", path=path, why=why)
        case "make":
            return say("cannot make {path}: {why}", path=path, why=why)
        case "make the folder":
            return say("cannot make the folder {path}: {why}", path=path, why=why)
        case "make a folder in":
            return say("cannot make a folder in {path}: {why}", path=path, why=why)
        case "clear":
            return say("cannot clear {path}: {why}", path=path, why=why)
