"""The password file of PostgreSQL's clients, `~/.pgpass`, read as libpq reads it.

Source: https://www.postgresql.org/docs/current/libpq-pgpass.html
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.message import Message, say

_ANY = "*"
_FIELDS = 5


@dataclass(frozen=True)
class Wanted:
    """The login whose password is wanted."""

    hosts: Collection[str]
    """All names of the host: for the socket in a usual folder `localhost`, and that folder."""
    port: int
    database: str
    user: str

    def fits(self, fields: list[str]) -> bool:
        """Whether a line's first four fields match."""
        host, port, database, user = fields[:4]
        return (
            (host == _ANY or host in self.hosts)
            and port in (_ANY, str(self.port))
            and database in (_ANY, self.database)
            and user in (_ANY, self.user)
        )


def password_in(path: Path, wanted: Wanted) -> str | None:
    """The password of the first line that matches; `None`: there is none, or no such file.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None
    for fields in map(fields_of, text.splitlines()):
        if len(fields) == _FIELDS and wanted.fits(fields):
            return fields[-1]
    return None


def why_ignored(path: Path) -> Message | None:
    """Why libpq does not use the file; `None`: it does, or there is none.

    Raises:
        OSError: its rights cannot be seen.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(mode):
        return say("{path} is no file, and is not used", path=str(path))
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return say("{path} is not used, as others may read it: chmod 600 {path}", path=str(path))
    return None


def fields_of(line: str) -> list[str]:
    """The fields of a line; none of a comment. A backslash escapes `:` and itself."""
    if line.startswith("#"):
        return []
    return list(_split(line))


def _split(line: str) -> Iterator[str]:
    field, escaped = "", False
    for sign in line:
        if escaped or sign not in "\\:":
            field += sign
            escaped = False
        elif sign == "\\":
            escaped = True
        else:
            yield field
            field = ""
    yield field
