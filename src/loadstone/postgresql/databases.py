"""The connections of one login: PostgreSQL's are each to one database, ours may look at several.

The first connection, the home, stays open as long as the whole, for it holds the named locks.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self, cast

from loadstone.postgresql.administration import Administration, Rows
from loadstone.postgresql.pooling import is_pooled, shares_sessions
from loadstone.servers.connection import Connection


class Databases:
    """A connection for administration: statements go to its current database."""

    def __init__(self, home: Administration, name: str, reach: Callable[[str], Administration]):
        """Start at home, in the database of that name; `reach` logs in to another one."""
        self.home = home
        self._reach = reach
        self._settings: list[str] = []
        self._name = name
        self._open = {name: home}
        self._current = home
        self._shares: bool | None = None

    def at(self, database: str) -> Administration:
        """The connection to a database; raises pg8000's errors and `TargetError` of a login."""
        if database not in self._open:
            self._open[database] = opened = self._reach(database)
            for statement in self._settings:
                opened.run(statement)
        return self._open[database]

    def set_everywhere(self, statement: str) -> None:
        """Execute a `SET` on all connections, and on those to come, unless others get them."""
        if self.shares_sessions():
            return
        for each in self._open.values():
            each.run(statement)
        self._settings.append(statement)

    def shares_sessions(self) -> bool:
        """Whether a pooler gives the sessions of these connections to other clients as well.

        Looked for once; raises pg8000's errors, and `TargetError` of another login.
        """
        if self._shares is None:
            self._shares = is_pooled(self.home) and shares_sessions(
                self.home, lambda: self._reach(self._name)
            )
        return self._shares

    @property
    def asked(self) -> tuple[float, str] | None:
        """The monotonic time and the text of a statement that is not answered yet."""
        return next((each.asked for each in tuple(self._open.values()) if each.asked), None)

    def elsewhere(self, database: str) -> Administration:
        """A connection to any other database, from which this one can be made or dropped."""
        return next(
            (open_ for name, open_ in self._open.items() if name != database), None
        ) or self.at(MAINTENANCE)

    def leave(self, database: str) -> None:
        """Close the connection to a database, unless it is the home."""
        left = self._open.get(database)
        if left is not None and left is not self.home:
            self._current = self.home if self._current is left else self._current
            self._open.pop(database).close()

    def use(self, database: str) -> None:
        """Make a database the current one."""
        self._current = self.at(database)

    @property
    def current(self) -> Administration:
        """The connection to the current database."""
        return self._current

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def cursor(self) -> Rows:
        """Create a cursor."""
        return self._current.cursor()

    def begin(self) -> None:
        """Start a transaction."""
        self._current.run("BEGIN")

    def commit(self) -> None:
        """Commit the transaction."""
        self._current.run("COMMIT")

    def rollback(self) -> None:
        """Roll the transaction back."""
        self._current.run("ROLLBACK")

    def close(self) -> None:
        """Close all connections."""
        for each in self._open.values():
            each.close()


MAINTENANCE = "postgres"
"""The database that servers have for connections without one of their own."""


def of(connection: Connection) -> Databases:
    """The connection in its own type: every connection of this family has it."""
    return cast("Databases", connection)
