"""A login for administration, as all families give it: a part of Python's PEP 249."""

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
    """Statements, and what they gave."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """A row for each column, its name first; `None`: the statement has no rows."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Let go of what was not fetched."""

    def execute(self, statement: str, values: Any = None, /) -> int:
        """Carry a statement out; the number of its rows."""

    def executemany(self, statement: str, values: Iterable[Any], /) -> int | None:
        """The same with each of these values."""

    def fetchone(self) -> Any:
        """The next row; `None`: there is none."""

    def fetchall(self) -> Sequence[Any]:
        """All that are left."""


class Connection(Protocol):
    """One login. What its statements say is its family's; others hand it on."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Say goodbye."""

    def cursor(self) -> Cursor:
        """A new one."""

    def begin(self) -> None:
        """Begin a transaction."""

    def commit(self) -> None:
        """End it, and keep what it did."""

    def rollback(self) -> None:
        """End it, and undo what it did."""

    def close(self) -> None:
        """Say goodbye."""
