"""A connection for administration, as all families provide it: a subset of Python's PEP 249."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self


@dataclass(frozen=True)
class Timeouts:
    """How long to wait for a connection, and for one statement."""

    connect_s: float = 10
    statement_s: float = 60


DEFAULT_TIMEOUTS = Timeouts()


class Cursor(Protocol):
    """Executes statements and returns their rows."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """An entry per column, its name first; `None` if the statement returns no rows."""

    def __enter__(self) -> Self:
        """Return the cursor itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Discard the rows that were not fetched."""

    def execute(self, statement: str, values: Any = None, /) -> int:
        """Execute a statement; returns the number of its rows."""

    def executemany(self, statement: str, values: Iterable[Any], /) -> int | None:
        """Execute a statement with each of these values."""

    def fetchone(self) -> Any:
        """The next row; `None` if there is none."""

    def fetchall(self) -> Sequence[Any]:
        """All remaining rows."""


class Connection(Protocol):
    """One login. Only its family knows its SQL; other code just passes it on."""

    def __enter__(self) -> Self:
        """Return the connection itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Close the connection."""

    def cursor(self) -> Cursor:
        """Create a cursor."""

    def begin(self) -> None:
        """Start a transaction."""

    def commit(self) -> None:
        """Commit the transaction."""

    def rollback(self) -> None:
        """Roll the transaction back."""

    def close(self) -> None:
        """Close the connection."""
