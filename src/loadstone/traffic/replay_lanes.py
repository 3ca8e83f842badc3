"""Distributes a log over lanes: files that virtual users read while they replay them.

All lanes run at the same time. Sessions that do not overlap may share a lane one after the other;
each gets a new connection there, so no session meets another.
"""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.lab.tables.missing import Example
from loadstone.model.effect import TableName
from loadstone.model.message import say
from loadstone.runs.errors import StoreError
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.sendable import Sendable

_MOST_SCHEMAS = 100_000
"""The most sessions whose schema is remembered."""

_MOST_EXAMPLES = 2_000
"""The most combinations of tables for which a statement is kept."""

_TRIED_LANES = 64
"""The most free lanes that are looked at for a session."""

_BUFFER_BYTES = 64 << 10
"""Bytes of a lane that are buffered before they are written to its file."""

SHARED = say("sessions that had to give their connection to another and got a new one later")


@dataclass
class Dealt:
    """Facts about the log that was distributed."""

    lanes: int = 0
    sessions: int = 0
    statements: int = 0
    length_s: float = 0.0
    """The time from the first statement to the last."""

    schemas: Counter[str] = field(default_factory=Counter)
    """How many sessions were in each schema."""

    qualifiers: set[str] = field(default_factory=set)
    """Names before a dot in statements that write: schemas, tables or aliases."""

    examples: dict[tuple[str, tuple[TableName, ...]], Example] = field(default_factory=dict)
    """A statement for each session's schema and combination of tables."""

    made: set[str] = field(default_factory=set)
    """Names in statements that may make a table of such a name."""

    def examples_in(self, schema: str) -> list[Example]:
        """The examples with the schemas in which they are sent to a target in `schema`."""
        several = len(self.schemas) > 1
        return [
            one if several and one.schema else one._replace(schema=schema)
            for one in self.examples.values()
        ]


class _Lane:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts: list[bytes] = []
        self._size = 0
        self.until_us = 0
        """The time of its last record."""

    def add(self, kind: str, at_us: int, content: bytes) -> None:
        """Append a record in the form that replay.lua reads."""
        self._parts += [f"{kind} {at_us} {len(content)}\n".encode(), content, b"\n"]
        self._size += len(content) + 32
        self.until_us = at_us
        if self._size >= _BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        try:
            # Opened for each write: thousands of lanes must not hold thousands of descriptors open.
            with self._path.open("ab") as file:
                file.writelines(self._parts)
        except OSError as error:
            raise StoreError.from_os("write", self._path, error) from error
        self._parts.clear()
        self._size = 0


class Dealer:
    """Distributes a log over lanes."""

    def __init__(
        self, folder: Path, stats: ReadStats, sendable: Sendable, *, most: int, writes: bool
    ) -> None:
        self.dealt = Dealt()
        self._folder = folder
        self._heard = stats
        self._sendable = sendable
        self._most = most
        self._writes = writes
        self._lanes: list[_Lane] = []
        self._free: list[int] = []
        self._taken: OrderedDict[int, int] = OrderedDict()
        """Lanes by session; the session that has been idle longest comes first."""

        self._schemas: dict[int, str] = {}
        self._from_s: float | None = None

    def deal(self, entries: Iterable[Entry], encoding: str) -> Dealt:
        """Distribute all entries.

        Raises:
            LogRefused: the log's reader cannot read it.
            StoreError: a lane cannot be written.
        """
        for entry in entries:
            self._take(entry, encoding)
        for lane in self._lanes:
            lane.flush()
        self.dealt.lanes = len(self._lanes)
        return self.dealt

    def _take(self, entry: Entry, encoding: str) -> None:
        match entry.command:
            case "connect":
                self._leave(entry)
                self._enter(entry)
            case "quit":
                self._leave(entry)
                self._schemas.pop(entry.session, None)
            case "schema":
                self._enter(entry)
                self.dealt.schemas[entry.text] += 1
                if entry.session in self._taken:
                    lane = self._lane(entry)
                    lane.add("U", self._at_us(entry), entry.text.encode(encoding, _KEPT))
            case "statement":
                if self._is_sent(entry):
                    self._send(entry, encoding)

    def _enter(self, entry: Entry) -> None:
        self._schemas[entry.session] = entry.text
        if len(self._schemas) > _MOST_SCHEMAS:
            # The log may not show the end of a session; memory must not grow with the log.
            self._schemas.pop(next(iter(self._schemas)))

    def _send(self, entry: Entry, encoding: str) -> None:
        lane = self._lane(entry, encoding)
        lane.add("S", self._at_us(entry), entry.text.encode(encoding, _KEPT))
        self.dealt.statements += 1
        self._keep_example(entry)

    def _keep_example(self, entry: Entry) -> None:
        """Keep a statement that shows whether its tables are there."""
        self.dealt.made |= self._sendable.names_made(entry.text)
        schema = self._schemas.get(entry.session, "")
        tables = tuple(self._sendable.tables_in(entry.text))
        if tables and len(self.dealt.examples) < _MOST_EXAMPLES:
            example = Example(schema, tables, entry.text)
            self.dealt.examples.setdefault((schema, tables), example)

    def _at_us(self, entry: Entry) -> int:
        if self._from_s is None:
            self._from_s = entry.at_s
        at_s = max(entry.at_s - self._from_s, 0.0)
        self.dealt.length_s = max(self.dealt.length_s, at_s)
        return round(at_s * 1e6)

    def _lane(self, entry: Entry, encoding: str = "utf-8") -> _Lane:
        """The session's lane. A new session gets a free, a new or another session's lane."""
        session = entry.session
        if session in self._taken:
            self._taken.move_to_end(session)
            return self._lanes[self._taken[session]]
        if (free := self._free_at(self._at_us(entry))) is not None:
            number = free
        elif len(self._lanes) < self._most:
            number = len(self._lanes)
            self._lanes.append(_Lane(self._folder / f"{number}.lane"))
        else:
            _, number = self._taken.popitem(last=False)
            self._heard.noted[SHARED] += 1
        self._taken[session] = number
        self.dealt.sessions += 1
        schema = self._schemas.get(session, "")
        if schema:
            self.dealt.schemas[schema] += 1
        lane = self._lanes[number]
        lane.add("C", self._at_us(entry), schema.encode(encoding, _KEPT))
        return lane

    def _free_at(self, at_us: int) -> int | None:
        """A free lane whose last session was gone by then; any if there cannot be another.

        A log has statements in the order of their ends: one that took long started before sessions
        that are gone where it is read.
        """
        fits = (one for one in self._free[-_TRIED_LANES:] if self._lanes[one].until_us <= at_us)
        number = next(fits, None)
        if number is None and self._free and len(self._lanes) >= self._most:
            number = self._free[-1]
        if number is not None:
            self._free.remove(number)
        return number

    def _leave(self, entry: Entry) -> None:
        number = self._taken.pop(entry.session, None)
        if number is not None:
            self._lanes[number].add("Q", self._at_us(entry), b"")
            self._free.append(number)

    def _is_sent(self, entry: Entry) -> bool:
        found = self._sendable.judged(entry.text, writes=self._writes)
        if found.left_out:
            self._heard.leave_out(entry.line, found.left_out)
        self.dealt.qualifiers |= found.qualifiers
        return found.left_out is None


_KEPT = "surrogateescape"
"""Bytes that are not text in the log's encoding are passed on unchanged."""


def told_by(folder: Path, lanes: int) -> tuple[Counter[str], Counter[int], int]:
    """Read the users' reports: figures, lateness by bucket, and the number of missing reports.

    Figures whose names end with `_max_us` are the maximum over all users, others the sum.
    """
    figures: Counter[str] = Counter()
    late: Counter[int] = Counter()
    silent = 0
    for number in range(lanes):
        path = folder / f"{number}.told"
        if not os.path.exists(path):
            silent += 1
            continue
        for line in path.read_text(encoding="ascii").splitlines():
            name, *numbers = line.split()
            if name == "late":
                late[int(numbers[0])] += int(numbers[1])
            elif name.endswith("_max_us"):
                figures[name] = max(figures[name], int(numbers[0]))
            else:
                figures[name] += int(numbers[0])
    return figures, late, silent
