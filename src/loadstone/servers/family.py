"""What a family of servers answers: its module of this form is all that others know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from loadstone.model.message import Message
from loadstone.model.plan import Session
from loadstone.model.target import Endpoint, Target
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Connection, Timeouts
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import RowCount, ServerFacts, Value
from loadstone.servers.guard import CleanupDecision, ListedTable, SchemaState
from loadstone.servers.identity import Identity
from loadstone.servers.ledger import Entries
from loadstone.servers.locks import Holder
from loadstone.servers.statements import Access, Refusal


class Locks(Protocol):
    """Locks by names, held by a connection for as long as it lives.

    All raise `NoLocks` where the server keeps none, and `TargetError` where the connection is lost.
    """

    def take(
        self, connection: Connection, target: Target, name: str, wait_s: float | None = None
    ) -> Holder | None:
        """Take one; `None`: it is ours, else whose it is."""

    def announce(self, connection: Connection, target: Target, name: str) -> None:
        """Take one if it is free, without asking whether it was."""

    def holders(
        self, connection: Connection, target: Target, names: Sequence[str]
    ) -> tuple[Holder, ...]:
        """Who holds these, but for this connection."""

    def numbers_of_holders(
        self, connection: Connection, target: Target, names: Sequence[str]
    ) -> tuple[int, ...]:
        """The connections that hold these, but for this one."""

    def number_of_holder(self, connection: Connection, target: Target, name: str) -> int | None:
        """The connection that has one; `None`: nobody has it."""

    def is_ours(self, connection: Connection, target: Target, *names: str) -> bool:
        """Whether the connection is there, and has one of these."""

    def give_back(self, connection: Connection, name: str) -> None:
        """Let others have it; a connection that is gone has given it back."""


class Words(Protocol):
    """What people are told to type, or to look at."""

    @property
    def sessions(self) -> str:
        """Shows who does what."""

    @property
    def variables(self) -> str:
        """Shows how the server is set."""

    @property
    def counters(self) -> str:
        """Shows what the server counts."""

    @property
    def warnings(self) -> str:
        """Shows what the server made of the last statement."""

    @property
    def end_any(self) -> Message:
        """Ends a connection, whichever it is."""

    def end(self, connection: int) -> str:
        """Ends this one."""

    @property
    def see_lag(self) -> str:
        """Gives the right to see how far a replica is behind."""

    @property
    def statement_sums(self) -> str:
        """What sums statements up."""

    @property
    def prepared_limit(self) -> tuple[str, str] | None:
        """The variable that limits prepared statements, and its error's code; `None`: none does."""

    @property
    def own_file(self) -> str:
        """The file that people keep a password in."""

    @property
    def hints_by_code(self) -> Mapping[str, Message]:
        """What to do about an error that the engine met, where its code says more than its kind."""


class Family(Protocol):
    """One family. What talks to a server raises `TargetError`, where nothing else is said."""

    @property
    def Error(self) -> type[Exception]:
        """What a statement raises outside of `statement_errors`."""

    @property
    def locks(self) -> Locks:
        """Locks that the server keeps."""

    @property
    def words(self) -> Words:
        """What people are told of it."""

    # To log in.

    def resolve_endpoint(self, request: EndpointRequest, prompt: Callable[[str], str]) -> Endpoint:
        """The endpoint that a request means, with what its field's own files and variables say."""

    def connect(
        self,
        endpoint: Endpoint,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        *,
        database: str | None = "",
    ) -> Connection:
        """Log in."""

    def statement_errors(self, target: Target) -> AbstractContextManager[None]:
        """Turn what the server says to a statement into a `TargetError`."""

    def bound_lock_waits(self, connection: Connection) -> None:
        """Let no statement wait for a lock for longer than its own limit; raises `Error`."""

    def number_of(self, connection: Connection) -> int:
        """The server's number for a connection."""

    def too_many_connections(self, message: str, most: int, instead: str) -> TargetError:
        """It takes too few connections: says how it takes so many, or what to do instead."""

    def is_passed_on(self, connection: Connection, target: Target) -> bool:
        """Whether a proxy stands in between."""

    def session_statements(self, session: Session) -> Sequence[tuple[str, str, str]]:
        """What each connection of a load is told first: option, its value, statement."""

    def ledger_entries(
        self, connection: Connection, target: Target, book: int, most: int
    ) -> Entries:
        """The ledger's entries of a book; `most`: so many of a kind of trouble are named."""

    def broken_places(
        self, connection: Connection, target: Target, condition: int, most: int
    ) -> list[dict[str, str | None]]:
        """The first places where a consistency condition of TPC-C does not hold."""

    def take_snapshot(self, connection: Connection, target: Target) -> None:
        """Let all that follows see the data as it is now."""

    # What it is.

    def describe_server(self, connection: Connection, target: Target) -> ServerFacts:
        """Ask the server what it is, and for all its variables."""

    def identity_of(
        self, variables: Mapping[str, str], times: tuple[int, int] | None = None
    ) -> Identity:
        """A server by its variables, and by when it was started and asked."""

    def times_of(self, connection: Connection, target: Target) -> tuple[int, int] | None:
        """When it was started and what its clock says, in seconds since 1970."""

    def server_of(self, connection: Connection, target: Target) -> str:
        """What tells it from others at this moment, by its own words."""

    # Its variables.

    def variables_of(self, connection: Connection, target: Target) -> dict[str, str]:
        """All global ones at one moment, as texts."""

    def known_variables(self, connection: Connection, target: Target) -> dict[str, bool]:
        """All by their names in small letters, and whether each can be set while it runs."""

    def is_restless(self, name: str) -> bool:
        """Whether one changes by itself, and is nobody's setting."""

    def read_variables(
        self, connection: Connection, target: Target, names: Sequence[str]
    ) -> dict[str, Value]:
        """The values of several; raises `SettingsError` where it has no such variable."""

    def literal_of(self, connection: Connection, value: Value) -> str:
        """A value as SQL."""

    def set_variable(self, connection: Connection, target: Target, name: str, value: str) -> None:
        """Set one for all new sessions, to SQL; raises `SettingsError` where that is refused."""

    def persisted_variables(self, connection: Connection, target: Target) -> dict[str, str]:
        """Those that somebody has made to outlive a restart, as they will be then."""

    # Statements.

    def refusal_of(self, connection: Connection, sql: str) -> Refusal | None:
        """What the server has against a statement; it is not carried out."""

    def refusal_of_column(self, connection: Connection, name: str, kind: str) -> Refusal | None:
        """What the server has against a column of a table; nothing is made."""

    def explained(self, connection: Connection, sql: str) -> tuple[Access, ...]:
        """How the server would reach the rows; raises `StatementRefused`."""

    def views_of(self, connection: Connection, target: Target) -> list[tuple[str, str]]:
        """Schema and name of all views that this user can read and that are not the server's."""

    def functions_of(self, connection: Connection, target: Target, schema: str) -> frozenset[str]:
        """Functions that somebody made and that can be called there, in small letters."""

    # Its schemas and tables.

    def read_schema(self, connection: Connection, target: Target, schema: str) -> SchemaState:
        """A schema as it is; the connection need not be in it."""

    def create_schema(self, connection: Connection, target: Target, schema: str) -> None:
        """Make it, where it is not there."""

    def drop_schema(self, connection: Connection, target: Target, schema: str) -> None:
        """Drop it with all that is in it: of a throwaway server alone."""

    def list_tables(
        self, connection: Connection, target: Target, schema: str, tables: Iterable[ListedTable]
    ) -> None:
        """Write tables into Loadstone's list, before they are made."""

    def mark_ready(
        self, connection: Connection, target: Target, schema: str, names: Iterable[str]
    ) -> None:
        """Note in the list that these are complete."""

    def drop_tables(
        self, connection: Connection, target: Target, state: SchemaState, decision: CleanupDecision
    ) -> None:
        """Drop what was decided; raises `GuardError` where a table is not what `state` has."""

    def use_schema(self, connection: Connection, schema: str) -> None:
        """Go into a schema; raises `Error`."""

    def count_rows(
        self, connection: Connection, target: Target, table: str, limit_s: float
    ) -> RowCount:
        """The rows of a table of the connection's schema, its highest id after the limit."""

    def indexed_on(
        self, connection: Connection, target: Target, schema: str, column: str
    ) -> frozenset[str]:
        """The tables that have an index which begins with this column."""
