"""The interface of a server family: the rest of Loadstone only uses its module through this."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from loadstone.model.effect import TableName
from loadstone.model.message import Message
from loadstone.model.plan import Session
from loadstone.model.target import Endpoint, Target
from loadstone.servers.abilities import Ability
from loadstone.servers.candidates import Candidates
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Connection, Timeouts
from loadstone.servers.dialect import Dialect
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import RowCount, ServerFacts, Value
from loadstone.servers.guard import CleanupDecision, ListedTable, SchemaState
from loadstone.servers.identity import Identity
from loadstone.servers.ledger import LedgerEntries
from loadstone.servers.locks import Holder
from loadstone.servers.rights import Rights
from loadstone.servers.statements import Access, Prepared, Refusal


class Locks(Protocol):
    """Named locks, held by a connection for as long as it lives.

    All methods raise `NoLocks` if the server has none, and `TargetError` if the connection is lost.
    """

    def refuse_shared(self, connection: Connection, target: Target) -> None:
        """Refuse a connection whose session, with its locks and settings, other clients may get."""

    def take(
        self, connection: Connection, target: Target, name: str, wait_s: float | None = None
    ) -> Holder | None:
        """Take a lock; `None` if it is ours, otherwise its holder."""

    def announce(self, connection: Connection, target: Target, name: str) -> None:
        """Take a lock if it is free, without checking whether it was."""

    def holders(
        self, connection: Connection, target: Target, names: Sequence[str]
    ) -> tuple[Holder, ...]:
        """The holders of these locks, other than this connection."""

    def numbers_of_holders(
        self, connection: Connection, target: Target, names: Sequence[str]
    ) -> tuple[int, ...]:
        """The connections that hold these locks, other than this one."""

    def number_of_holder(self, connection: Connection, target: Target, name: str) -> int | None:
        """The connection that holds a lock; `None` if nobody does."""

    def is_ours(self, connection: Connection, target: Target, *names: str) -> bool:
        """Whether the connection is alive and holds one of these locks."""

    def give_back(self, connection: Connection, name: str) -> None:
        """Release the lock; a lost connection has already released it."""


class SessionState(Protocol):
    """What a session has set, as statements read it: through a proxy, that of whichever answers.

    All methods with a connection raise `TargetError` if the server refuses.
    """

    def number(self, connection: Connection, target: Target) -> int:
        """The server's number of the session that executes this statement."""

    def shown(
        self, connection: Connection, target: Target, statements: Sequence[str]
    ) -> dict[str, str | None]:
        """What the session has set, by name, with what only these statements name.

        To be read in a transaction.
        """

    def only_sets(self, statement: str) -> bool:
        """Whether a statement does nothing but set what `shown` has."""

    def sets_session(self, statement: str) -> bool:
        """Whether a statement is a SET that leaves something in the session, shown or not."""

    def named(self, statement: str) -> Collection[str]:
        """What a SET names, as `shown` would have it; a server may not know all of it."""

    def attempt(self, connection: Connection, target: Target, statement: str) -> TargetError | None:
        """Execute it in a transaction, which goes on if it is refused; the refusal."""

    def undo(
        self, connection: Connection, target: Target, before: Mapping[str, str | None]
    ) -> Sequence[str]:
        """End a transaction without what it has set; `before`: what `shown` had.

        Returns:
            Names that the server refused to set back.
        """

    def set_back(
        self, connection: Connection, target: Target, before: Mapping[str, str | None]
    ) -> Sequence[str]:
        """Set what earlier transactions have set in the session back to this.

        Returns:
            Names that the server refused to set back.
        """

    def of_loading(self) -> Sequence[str]:
        """What each connection sets that fills tables, and others must not get."""

    def of_login(self, target: Target) -> Sequence[tuple[str, str, str]]:
        """What the login sets: option, its value, a statement that would set the same."""


class Words(Protocol):
    """Names and statements of the family that messages quote for users."""

    @property
    def server(self) -> str:
        """The name of its servers."""

    @property
    def sessions(self) -> str:
        """The statement that shows the sessions."""

    @property
    def variables(self) -> str:
        """The statement that shows the server's settings."""

    @property
    def counters(self) -> str:
        """The statement that shows the server's counters."""

    @property
    def warnings(self) -> str:
        """The statement that shows the warnings of the previous statement."""

    @property
    def set_for_all(self) -> str:
        """What sets a variable for all sessions to come, without a statement of theirs."""

    @property
    def end_any(self) -> Message:
        """How to end any connection."""

    def end(self, connection: int) -> str:
        """The statement that ends this connection."""

    @property
    def see_lag(self) -> str:
        """The privilege needed to see how far a replica is behind."""

    @property
    def statement_sums(self) -> str | None:
        """The facility that sums up the statements of each account; `None`: none is read."""

    @property
    def prepared_limit(self) -> tuple[str, str] | None:
        """The variable that limits prepared statements, and its error's code; `None`: none does."""

    @property
    def own_file(self) -> str:
        """The file in which users store their password."""

    @property
    def hints_by_code(self) -> Mapping[str, Message]:
        """Hints for the engine's errors whose code says more than their kind."""


class Family(Protocol):
    """One family. Methods that use a server raise `TargetError` unless they state otherwise."""

    @property
    def Error(self) -> type[Exception]:
        """The exception that a statement raises outside of `statement_errors`."""

    @property
    def locks(self) -> Locks:
        """The server's named locks."""

    @property
    def session_state(self) -> SessionState:
        """What its sessions have set."""

    @property
    def dialect(self) -> Dialect:
        """How its SQL is read and written."""

    @property
    def words(self) -> Words:
        """Names and statements for messages."""

    @property
    def abilities(self) -> Collection[Ability]:
        """What Loadstone can do with its servers, apart from what it can do with all."""

    @property
    def foreign_options(self) -> Collection[str]:
        """Options of commands, some with a value, that mean nothing for its servers."""

    # Logging in.

    def candidates(self, request: EndpointRequest, prompt: Callable[[str], str]) -> Candidates:
        """The endpoints that a request may mean, with what the family's files and variables say."""

    def connect(
        self,
        endpoint: Endpoint,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        *,
        database: str | None = "",
    ) -> Connection:
        """Log in; `database` overrides the target's schema (`None`: log in without one)."""

    def statements_in(self, sql: str) -> Sequence[str]:
        """The statements of a text with several."""

    def statement_errors(
        self, target: Target, place: str | None = None
    ) -> AbstractContextManager[None]:
        """Convert the server's errors on a statement into `TargetError`."""

    def bound_lock_waits(self, connection: Connection) -> None:
        """Limit lock waits to less than a statement's own time limit; raises `Error`."""

    def number_of(self, connection: Connection) -> int:
        """The server's number for a connection."""

    def free_connections(self, connection: Connection, target: Target) -> int:
        """How many connections this user may have there, including the one that asks."""

    def too_many_connections(self, message: str, most: int, instead: str) -> TargetError:
        """The error for too low a connection limit: says how to raise it, or what else to do."""

    def is_passed_on(self, connection: Connection, target: Target) -> bool:
        """Whether there is a proxy in between."""

    def set_in_session(self, connection: Connection, target: Target, name: str, value: str) -> None:
        """Set a variable, with its value as in a file, for this connection alone."""

    @property
    def own_variables(self) -> Set[str]:
        """Variables of trials that each session may set for itself, without any rights."""

    def words_of_session(self, name: str, value: str) -> str:
        """The statement that sets a variable, with its value as in a file, for one session."""

    def session_statements(self, session: Session) -> Sequence[tuple[str, str, str]]:
        """What each connection of a load executes first: option, its value, statement."""

    def takes_files(self, connection: Connection) -> bool:
        """Whether rows can be sent to it as a file, if it allows that."""

    def ledger_entries(
        self, connection: Connection, target: Target, book: int, most: int
    ) -> LedgerEntries:
        """The ledger's entries of a book; `most`: how many are named per kind of problem."""

    def broken_places(
        self, connection: Connection, target: Target, condition: int, most: int
    ) -> list[dict[str, str | None]]:
        """The first rows for which a consistency condition of TPC-C does not hold."""

    def count_foreign_keys(self, connection: Connection, target: Target) -> int:
        """The number of foreign keys of TPC-C's tables that the server enforces for all rows."""

    def take_snapshot(self, connection: Connection, target: Target) -> None:
        """Make all following statements see the data as it is now."""

    # Identification.

    def describe_server(self, connection: Connection, target: Target) -> ServerFacts:
        """Read the server's description of itself, and all its variables."""

    def identity_of(
        self, variables: Mapping[str, str], times: tuple[int, int] | None = None
    ) -> Identity:
        """The identity of a server from its variables, its start time and the time of asking."""

    def times_of(self, connection: Connection, target: Target) -> tuple[int, int] | None:
        """When it was started and what its clock says, in seconds since 1970."""

    def server_of(self, connection: Connection, target: Target) -> str:
        """What distinguishes it from other servers at this moment, by its own account."""

    def rights_of(self, connection: Connection, target: Target) -> Rights:
        """What the account of a connection may do in the target's schema."""

    @property
    def command_line_wins(self) -> bool:
        """Whether what is on its servers' command line cannot be set while they run."""

    @property
    def encrypts_sockets(self) -> bool:
        """Whether its servers offer TLS over a unix socket."""

    # Variables.

    def data_folder(self, variables: Mapping[str, str]) -> str | None:
        """The folder with its data, as its process sees it, from its variables."""

    def socket_of(self, variables: Mapping[str, str]) -> Path | None:
        """Its unix socket, as its process sees it, from its variables; `None`: it has none."""

    def variables_of(self, connection: Connection, target: Target) -> dict[str, str]:
        """All global variables at one moment, as text."""

    def known_variables(self, connection: Connection, target: Target) -> dict[str, bool]:
        """All variables by name in lower case, and whether each can be set at run time."""

    def is_being_set(self, connection: Connection, target: Target, name: str) -> bool:
        """Whether the server still works on a value that was set for a variable."""

    def is_restless(self, name: str) -> bool:
        """Whether a variable changes by itself, so that it is not a setting."""

    def read_variables(
        self, connection: Connection, target: Target, names: Sequence[str]
    ) -> dict[str, Value]:
        """The values of several variables; raises `SettingsError` if there is no such variable."""

    def literal_of(self, connection: Connection, value: Value) -> str:
        """A value as an SQL literal."""

    def set_variable(self, connection: Connection, target: Target, name: str, value: str) -> None:
        """Set a variable for all new sessions, to SQL; raises `SettingsError` if refused."""

    @property
    def sets_for_starts(self) -> bool:
        """Whether setting a variable also sets it for each start, and moves no other variable."""

    def kept_for_start(self, connection: Connection, target: Target, name: str) -> str | None:
        """The text that each start sets a variable to, where setting it replaces that text.

        `None`: there is none. Raises `SettingsError` if it cannot be known.
        """

    def put_variable_back(
        self, connection: Connection, target: Target, name: str, value: Value, kept: str | None
    ) -> None:
        """Undo `set_variable`; `kept` is what `kept_for_start` returned before it.

        Raises `SettingsError` if refused.
        """

    def persisted_variables(self, connection: Connection, target: Target) -> dict[str, str]:
        """The variables made to survive a restart, with the values that they will have then."""

    # Statements.

    def refusal_of(self, connection: Connection, sql: str) -> Refusal | None:
        """Why the server would refuse a statement; it is not executed."""

    def refusal_of_column(self, connection: Connection, name: str, kind: str) -> Refusal | None:
        """Why the server would refuse a column of a table; nothing is created."""

    def tables_in(self, sql: str) -> tuple[TableName, ...]:
        """The tables that a statement names, as far as its words show them."""

    def names_made(self, sql: str) -> frozenset[str]:
        """The names in a statement that may make a table of such a name."""

    def explained(
        self, connection: Connection, sql: str, prepared: Prepared | None = None
    ) -> tuple[Access, ...]:
        """How the server would access the rows; raises `StatementRefused`.

        `prepared`: the same without values, of which some may not be the server's.
        """

    def views_of(self, connection: Connection, target: Target) -> list[tuple[str, str]]:
        """Schema and name of all views that this user can read, except the server's own."""

    def functions_of(self, connection: Connection, target: Target, schema: str) -> frozenset[str]:
        """User-defined functions that can be called there, in lower case."""

    # Schemas and tables.

    def read_schema(self, connection: Connection, target: Target, schema: str) -> SchemaState:
        """The state of a schema; it need not be the connection's."""

    def create_schema(self, connection: Connection, target: Target, schema: str) -> None:
        """Create the schema if it does not exist."""

    def drop_schema(self, connection: Connection, target: Target, schema: str) -> None:
        """Drop the schema with all its content: only for throwaway servers."""

    def forget_when_made(self, connection: Connection, target: Target) -> None:
        """Remove from all lists when each table was made, before the data folder is copied."""

    def list_tables(
        self, connection: Connection, target: Target, schema: str, tables: Iterable[ListedTable]
    ) -> None:
        """Add tables to Loadstone's list, before they are created."""

    def mark_ready(
        self, connection: Connection, target: Target, schema: str, names: Iterable[str]
    ) -> None:
        """Record in the list that these tables are complete."""

    def drop_tables(
        self, connection: Connection, target: Target, state: SchemaState, decision: CleanupDecision
    ) -> None:
        """Drop the chosen tables; raises `GuardError` if a table is no longer as in `state`."""

    def use_schema(self, connection: Connection, schema: str) -> None:
        """Make a schema the connection's current one; raises `Error`."""

    def count_rows(
        self, connection: Connection, target: Target, table: str, limit_s: float
    ) -> RowCount:
        """The number of rows of a table in the current schema; after the limit, its highest id."""

    def highest_id(self, connection: Connection, target: Target, table: str) -> int:
        """The highest id of a table in the current schema; 0 if it is empty."""

    def indexed_on(
        self, connection: Connection, target: Target, schema: str, column: str
    ) -> frozenset[str]:
        """The tables with an index that begins with this column."""
