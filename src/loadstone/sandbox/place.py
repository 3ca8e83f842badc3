"""Where one server of a sandbox lives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loadstone.model.error_codes import MYSQL

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """Where one server of a sandbox lives."""

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
        """Where the server has its temporary tables.

        MariaDB removes all `#sql` files from that folder when it starts: in one that servers share,
        `/tmp` say, those of the others that run.
        """
        return self.folder / "tmp"

    @property
    def error_log(self) -> Path:
        """What the server says about itself."""
        return self.folder / "error.log"
