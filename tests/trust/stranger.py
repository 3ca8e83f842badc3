"""Another client in the schema: creates, renames and swaps tables between our statements."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pymysql

from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection
from trust.tally import COUNTS

_COM_QUERY = 3
_OURS = "loadstone ________________"
"""The LIKE pattern for the comment of our tables: their mark has 16 digits."""

_PATIENCE_S = 0.02
"""Statements that wait for our locks run in parallel to ours."""


def begins_statement(sent: bytes) -> bool:
    """Whether a packet is a statement of a client that speaks in the clear."""
    return len(sent) > 4 and sent[3] == 0 and sent[4] == _COM_QUERY


@dataclass
class Stranger:
    """Creates tables of its own, each known by its comment; `names`: those that we use as well."""

    server: Sandbox
    schema: str
    names: Sequence[str]
    columns: str
    chance: random.Random
    copied: Sequence[str] = ()
    """Those tables that are copied with LIKE, which copies the comment as well: not those in
    sysbench's layout, which count as sysbench's, no matter who made them."""
    owned: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """By comment, for copies by row: the definition without the name, and the sum of the rows."""
    acted: int = 0
    _aside: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)
    _one_deed: threading.Lock = field(default_factory=threading.Lock)
    """Deeds that wait for us run one after the other: none takes a table that another is using."""

    def makes_some(self, count: int) -> None:
        """Create tables under names that nobody else uses."""
        for _ in range(count):
            self._make(f"theirs{len(self.owned) + 1}")

    def acts(self) -> None:
        """Do one thing; if it has to wait for us, we continue in the meantime."""
        self._does(self.chance.choice(self._deeds()))

    def swaps_for_a_copy(self) -> None:
        """Do the swap that matters if a table of ours was not finished."""
        self._does(self._swap_for_a_copy)

    def _does(self, deed: Callable[[Connection], None]) -> None:
        self.acted += 1
        COUNTS["deeds of a stranger"] += 1
        thread = threading.Thread(target=self._act, args=(deed,))
        thread.start()
        thread.join(_PATIENCE_S)
        self._threads.append(thread)

    def ends(self) -> None:
        """Wait until all deeds are done, or were refused."""
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def found(self) -> dict[str, tuple[Any, ...]]:
        """Its tables as they are now, under any name."""
        with self.server.connect() as connection:
            found = {
                comment: _sum(connection, self.schema, name)
                for name, comment in _commented(connection, self.schema, "theirs%")
            }
            for name, _ in _commented(connection, self.schema, _OURS):
                for row in _rows_of_theirs(connection, self.schema, name):
                    found[f"copy {row}"] = _sum(connection, self.schema, name)
        return found

    def _deeds(self) -> list[Callable[[Connection], None]]:
        often = [self._swap, self._take, self._make_under_a_wanted_name, self._give_back]
        deeds: list[Callable[[Connection], None]] = [*often, *often, *often]
        # Making a copy waits for a second.
        return [*deeds, self._swap_for_a_copy] if self.copied else deeds

    def _act(self, deed: Callable[[Connection], None]) -> None:
        with self._one_deed, self.server.connect() as connection:
            try:
                deed(connection)
                COUNTS[f"deeds done: {deed.__name__.strip('_').replace('_', ' ')}"] += 1
            except pymysql.MySQLError as error:
                # The name is taken or gone: the deed had no effect.
                assert error.args[0] in (1017, 1050, 1051, 1146, 1205), error

    def _swap(self, connection: Connection) -> None:
        wanted, theirs = self.chance.choice(self.names), self._one_of_theirs(connection)
        self._aside += 1
        _do(connection, f"RENAME TABLE {self._at(wanted)} TO {self._at(f'aside{self._aside}')},"
                        f" {self._at(theirs)} TO {self._at(wanted)}")  # fmt: skip

    def _take(self, connection: Connection) -> None:
        theirs = self._one_of_theirs(connection)
        wanted = self.chance.choice(self.names)
        _do(connection, f"RENAME TABLE {self._at(theirs)} TO {self._at(wanted)}")

    def _make_under_a_wanted_name(self, connection: Connection) -> None:
        self._make(self.chance.choice(self.names))

    def _give_back(self, connection: Connection) -> None:
        theirs = self._one_of_theirs(connection)
        self._aside += 1
        _do(connection, f"RENAME TABLE {self._at(theirs)} TO {self._at(f'other{self._aside}')}")

    def _swap_for_a_copy(self, connection: Connection) -> None:
        """Swap in a copy, created a second later: nothing else tells it from a finished table."""
        wanted = self.chance.choice(self.copied)
        self._aside += 1
        copy, number = f"copy{self._aside}", 1_000 + self._aside
        if not self._is_ours_and_older(connection, wanted):
            return
        _do(connection, f"CREATE TABLE {self._at(copy)} LIKE {self._at(wanted)}")
        self.owned[f"copy {number}"] = ()
        _do(connection, f"INSERT INTO {self._at(copy)} VALUES ({number}, 7, 'dear', 'dear')")
        self.owned[f"copy {number}"] = _sum(connection, self.schema, copy)
        _do(connection, f"RENAME TABLE {self._at(wanted)} TO {self._at(f'aside{self._aside}')},"
                        f" {self._at(copy)} TO {self._at(wanted)}")  # fmt: skip

    def _is_ours_and_older(self, connection: Connection, name: str) -> bool:
        """Wait until the table is older than a second; `False`: there is no such table of ours."""
        while True:
            found = _asked(
                connection,
                "SELECT create_time < NOW() - INTERVAL 1 SECOND FROM information_schema.tables"
                f" WHERE table_schema = '{self.schema}' AND table_name = '{name}'"
                f" AND table_comment LIKE '{_OURS}'",
            )
            if not found or found[0][0]:
                return bool(found) and not _rows_of_theirs(connection, self.schema, name)
            time.sleep(0.1)

    def _make(self, name: str) -> None:
        comment = f"theirs {len(self.owned) + 1}"
        with self.server.connect() as connection:
            _do(connection, f"CREATE TABLE {self._at(name)} ({self.columns}) COMMENT '{comment}'")
            # Noted before it has rows, so that a delete of them is noticed as well.
            row = f"({len(self.owned) + 1}, 7, 'dear', 'dear')"
            self.owned[comment] = ()
            _do(connection, f"INSERT INTO {self._at(name)} VALUES {row}")
            self.owned[comment] = _sum(connection, self.schema, name)

    def _one_of_theirs(self, connection: Connection) -> str:
        found = _asked(
            connection,
            "SELECT table_name FROM information_schema.tables"
            f" WHERE table_schema = '{self.schema}' AND table_comment LIKE 'theirs%'",
        )
        return str(self.chance.choice(sorted(name for (name,) in found)))

    def _at(self, name: str) -> str:
        return f"`{self.schema}`.`{name}`"


def ours_in(connection: Connection, schema: str) -> dict[str, str]:
    """The current names of our tables, by their marks, without another client's copies."""
    return {
        comment: name
        for name, comment in _commented(connection, schema, _OURS)
        if not _rows_of_theirs(connection, schema, name)
    }


def _commented(connection: Connection, schema: str, like: str) -> list[tuple[str, str]]:
    return [
        (str(name), str(comment))
        for name, comment in _asked(
            connection,
            "SELECT table_name, table_comment FROM information_schema.tables"
            f" WHERE table_schema = '{schema}' AND table_comment LIKE '{like}'",
        )
    ]


def _rows_of_theirs(connection: Connection, schema: str, name: str) -> list[int]:
    """The keys of the other client's rows; none in a table that is ours, or was dropped."""
    try:
        found = _asked(connection, f"SELECT id FROM `{schema}`.`{name}` WHERE c = 'dear'")
    except pymysql.MySQLError as error:
        assert error.args[0] == 1146, error
        return []
    return [int(row) for (row,) in found]


def _do(connection: Connection, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.commit()


def _asked(connection: Connection, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _sum(connection: Connection, schema: str, name: str) -> tuple[Any, ...]:
    place = f"`{schema}`.`{name}`"
    ((_, definition),) = _asked(connection, f"SHOW CREATE TABLE {place}")
    ((_, checksum),) = _asked(connection, f"CHECKSUM TABLE {place} EXTENDED")
    return definition.replace(f"`{name}`", "", 1), checksum
