"""Somebody else at work in the schema: makes, renames and swaps tables between our statements."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pymysql

from loadstone.sandbox import Sandbox
from trust.tally import COUNTS

_COM_QUERY = 3
_PATIENCE_S = 0.02
"""What waits for our locks goes on beside us."""


def begins_statement(sent: bytes) -> bool:
    """Whether a packet is a statement of a client that speaks in the clear."""
    return len(sent) > 4 and sent[3] == 0 and sent[4] == _COM_QUERY


@dataclass
class Stranger:
    """Tables of their own, each known by its comment; `names`: those that we want as well."""

    server: Sandbox
    schema: str
    names: Sequence[str]
    columns: str
    chance: random.Random
    owned: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """By comment: the definition without the name, and the sum of the rows."""
    acted: int = 0
    _aside: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)
    _one_deed: threading.Lock = field(default_factory=threading.Lock)
    """Deeds that wait for us come in their order: one takes no table from under another's hands."""

    def makes_some(self, count: int) -> None:
        """Tables under names that nobody wants."""
        for _ in range(count):
            self._make(f"theirs{len(self.owned) + 1}")

    def acts(self) -> None:
        """Does one thing; where it has to wait for us, we go on meanwhile."""
        self.acted += 1
        COUNTS["deeds of a stranger"] += 1
        thread = threading.Thread(target=self._act, args=(self.chance.choice(self._deeds()),))
        thread.start()
        thread.join(_PATIENCE_S)
        self._threads.append(thread)

    def ends(self) -> None:
        """All that was begun is done, or was refused."""
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def found(self) -> dict[str, tuple[Any, ...]]:
        """What is there of them now, whatever it is called."""
        with self.server.connect() as connection:
            return {
                comment: _sum(connection, self.schema, name)
                for name, comment in _asked(
                    connection,
                    "SELECT table_name, table_comment FROM information_schema.tables"
                    f" WHERE table_schema = '{self.schema}' AND table_comment LIKE 'theirs%'",
                )
            }

    def _deeds(self) -> list[Callable[[pymysql.Connection[Any]], None]]:
        return [self._swap, self._take, self._make_under_a_wanted_name, self._give_back]

    def _act(self, deed: Callable[[pymysql.Connection[Any]], None]) -> None:
        with self._one_deed, self.server.connect() as connection:
            try:
                deed(connection)
            except pymysql.MySQLError as error:
                # The name is taken or gone: nothing of it was done.
                assert error.args[0] in (1017, 1050, 1051, 1146, 1205), error

    def _swap(self, connection: pymysql.Connection[Any]) -> None:
        wanted, theirs = self.chance.choice(self.names), self._one_of_theirs(connection)
        self._aside += 1
        _do(connection, f"RENAME TABLE {self._at(wanted)} TO {self._at(f'aside{self._aside}')},"
                        f" {self._at(theirs)} TO {self._at(wanted)}")  # fmt: skip

    def _take(self, connection: pymysql.Connection[Any]) -> None:
        theirs = self._one_of_theirs(connection)
        wanted = self.chance.choice(self.names)
        _do(connection, f"RENAME TABLE {self._at(theirs)} TO {self._at(wanted)}")

    def _make_under_a_wanted_name(self, connection: pymysql.Connection[Any]) -> None:
        self._make(self.chance.choice(self.names))

    def _give_back(self, connection: pymysql.Connection[Any]) -> None:
        theirs = self._one_of_theirs(connection)
        self._aside += 1
        _do(connection, f"RENAME TABLE {self._at(theirs)} TO {self._at(f'other{self._aside}')}")

    def _make(self, name: str) -> None:
        comment = f"theirs {len(self.owned) + 1}"
        with self.server.connect() as connection:
            _do(connection, f"CREATE TABLE {self._at(name)} ({self.columns}) COMMENT '{comment}'")
            # Noted before it has rows: whoever deletes them is caught as well.
            row = f"({len(self.owned) + 1}, 7, 'dear', 'dear')"
            self.owned[comment] = ()
            _do(connection, f"INSERT INTO {self._at(name)} VALUES {row}")
            self.owned[comment] = _sum(connection, self.schema, name)

    def _one_of_theirs(self, connection: pymysql.Connection[Any]) -> str:
        found = _asked(
            connection,
            "SELECT table_name FROM information_schema.tables"
            f" WHERE table_schema = '{self.schema}' AND table_comment LIKE 'theirs%'",
        )
        return str(self.chance.choice(sorted(name for (name,) in found)))

    def _at(self, name: str) -> str:
        return f"`{self.schema}`.`{name}`"


def _do(connection: pymysql.Connection[Any], statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.commit()


def _asked(connection: pymysql.Connection[Any], statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _sum(connection: pymysql.Connection[Any], schema: str, name: str) -> tuple[Any, ...]:
    place = f"`{schema}`.`{name}`"
    ((_, definition),) = _asked(connection, f"SHOW CREATE TABLE {place}")
    ((_, checksum),) = _asked(connection, f"CHECKSUM TABLE {place} EXTENDED")
    return definition.replace(f"`{name}`", "", 1), checksum
