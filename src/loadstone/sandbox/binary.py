"""A server program that was found on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loadstone.model.error_codes import MYSQL


@dataclass(frozen=True)
class ServerBinary:
    """A server program that answered `--version`, with what it needs to run from its place."""

    program: Path
    flavour: str
    """The server's maker, within its family."""
    version: str
    launcher: tuple[str, ...] = ()
    """Arguments before the program: an unpacked server runs through its own loader."""
    options: tuple[str, ...] = ()
    """Server options that its place requires."""
    family: str = MYSQL

    @property
    def release(self) -> tuple[int, int, int]:
        """The version as three numbers, for comparison; those that it does not have are zero."""
        major, minor, patch, *_ = (*map(int, self.version.split(".")), 0, 0)
        return major, minor, patch
