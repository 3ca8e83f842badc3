"""What can go wrong between a run and its folder."""

from __future__ import annotations

import errno
from pathlib import Path

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode

_HINTS = {
    errno.EACCES: "choose a folder that you may write to with --out",
    errno.EPERM: "choose a folder that you may write to with --out",
    errno.EROFS: "the file system is read-only; choose another folder with --out",
    errno.ENOSPC: "free some space or choose another disk with --out; what was written is kept",
    errno.EDQUOT: "your quota is used up; choose another disk with --out; what was written is kept",
    errno.ENOTDIR: "a file is in the way; choose another folder with --out",
    errno.EEXIST: "a file is in the way; choose another folder with --out",
    errno.EMFILE: "raise the limit: ulimit -n 65536; what was written is kept",
    errno.ENFILE: "all files of this machine are open: end something; what was written is kept",
}


class StoreError(LoadstoneError):
    """A run folder cannot be written, or is not what it should be."""

    exit_code = ExitCode.STORE

    @classmethod
    def from_os(cls, doing: str, path: Path, error: OSError) -> StoreError:
        """The operating system's refusal, with what was tried on which path."""
        reason = (error.strerror or str(error)).lower()
        return cls(f"cannot {doing} {path}: {reason}", _HINTS.get(error.errno or 0))
