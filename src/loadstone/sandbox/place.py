"""The files of one server of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loadstone.model.error_codes import MYSQL

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """The files and the address of one server of a sandbox."""

    folder: Path
    socket: Path
    port: int
    address: str = LOOPBACK
    family: str = MYSQL

    @property
    def datadir(self) -> Path:
        """The server's data folder."""
        return self.folder / "data"

    @property
    def temporary(self) -> Path:
        """The folder for the server's temporary tables.

        MariaDB removes all `#sql` files from that folder when it starts: in a shared one such as
        `/tmp`, also those of other servers that run.
        """
        return self.folder / "tmp"

    @property
    def error_log(self) -> Path:
        """The server's error log."""
        return self.folder / "error.log"
