"""Follows a journal that is still being written: complete lines only, each once."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from loadstone import engine
from loadstone.model.message import say
from loadstone.runs import safe_open
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import Entry, Held, check_rest, parse

MOST_AT_ONCE = 1024 * 1024
"""Bytes per read: a long journal is read in pieces."""

LAST_BYTES = 256 * 1024
"""Bytes in which the last line is looked for; a cluster's seconds take about 100 kB."""


@dataclass(frozen=True)
class Written:
    """A line of a journal, and the byte after it, up to which the journal has been read."""

    entry: Entry
    to_byte: int


class Tail:
    """A reader's position in a journal."""

    def __init__(self, journal: Path, seconds_from: int = 0) -> None:
        """Start at the journal's first byte.

        `seconds_from`: seconds that were written before this byte are passed over; they are most
        of a journal, and hardly any of the rest.
        """
        self._journal = journal
        self._held = Held(journal)
        self._seconds_from = seconds_from
        self.at_byte = 0

    def read(self, most: int = MOST_AT_ONCE) -> list[Written]:
        """The lines added since the last call, about `most` bytes of them at most.

        Raises:
            StoreError: the file cannot be read, has become shorter, or has a line that is not an
                entry.
        """
        try:
            with safe_open.opened(self._journal) as file:
                if file.seek(0, 2) < self.at_byte:
                    raise StoreError(
                        say(
                            "{journal} is shorter than it was: it was replaced",
                            journal=self._journal,
                        )
                    )
                found = self._passing_over(file, most)
                if found and self.at_byte < self._seconds_from:
                    return found
                return [*found, *self._all(file, most)]
        except OSError as error:
            raise StoreError.from_os("read", self._journal, error) from error

    def _passing_over(self, file: BinaryIO, most: int) -> list[Written]:
        """The next lines before `seconds_from` that are not of a second."""
        if self.at_byte >= self._seconds_from:
            return []
        lines, read_on = engine.other_lines(file, self.at_byte, self._seconds_from, most)
        found = [self._written(line, byte) for byte, line in lines]
        self.at_byte = read_on
        return found

    def _all(self, file: BinaryIO, most: int) -> list[Written]:
        file.seek(self.at_byte)
        # The last line may be longer than the rest of the piece.
        piece = file.read(most) + file.readline(safe_open.LONGEST_LINE)
        found = []
        for line in BytesIO(piece):
            if not line.endswith(b"\n"):
                check_rest(line, f"{self._journal}:+{self.at_byte}")
                break
            found.append(self._written(line, self.at_byte))
            self.at_byte += len(line)
        return found

    def _written(self, line: bytes, byte: int) -> Written:
        entry = parse(line, f"{self._journal}:+{byte}", byte)
        self._held.add(entry, len(line))
        return Written(entry, byte + len(line))


def last_entry(journal: Path) -> Entry | None:
    """The last complete line; `None` if there is none near the end that can be read."""
    try:
        with safe_open.opened(journal) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LAST_BYTES))
            lines = file.read(LAST_BYTES).split(b"\n")
    except OSError:
        return None
    # Behind the last line end there is nothing, or a line that is still being written.
    whole = lines[1:-1] if size > LAST_BYTES else lines[:-1]
    try:
        return parse(whole[-1], str(journal), size) if whole else None
    except StoreError:
        return None
