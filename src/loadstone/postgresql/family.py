"""PostgreSQL: implements `servers.family.Family`."""

from __future__ import annotations

import pg8000

from loadstone.postgresql import dialect as _dialect
from loadstone.postgresql import locks as _locks
from loadstone.postgresql import session_state as _session_state
from loadstone.postgresql import words as _words
from loadstone.postgresql.activity import is_passed_on, number_of
from loadstone.postgresql.alter_system import kept_for_start, put_variable_back, set_variable
from loadstone.postgresql.connect import connect
from loadstone.postgresql.credentials import FOREIGN_OPTIONS, candidates
from loadstone.postgresql.drop_tables import drop_tables
from loadstone.postgresql.errors import statement_errors
from loadstone.postgresql.facts import (
    count_rows,
    data_folder,
    describe_server,
    functions_of,
    highest_id,
    indexed_on,
    socket_of,
    takes_files,
    variables_of,
    views_of,
)
from loadstone.postgresql.identity import identity_of, server_of, times_of
from loadstone.postgresql.ledger import ledger_entries
from loadstone.postgresql.limits import free_connections
from loadstone.postgresql.rights import rights_of
from loadstone.postgresql.schemas import (
    create_schema,
    drop_schema,
    forget_when_made,
    list_tables,
    mark_ready,
    read_schema,
)
from loadstone.postgresql.session import (
    bound_lock_waits,
    own_variables,
    session_statements,
    set_in_session,
    take_snapshot,
    too_many_connections,
    use_schema,
    words_of_session,
)
from loadstone.postgresql.statements import (
    explained,
    names_made,
    refusal_of,
    refusal_of_column,
    statements_in,
    tables_in,
)
from loadstone.postgresql.tpcc import broken_places, count_foreign_keys
from loadstone.postgresql.variables import (
    is_being_set,
    is_restless,
    known_variables,
    literal_of,
    persisted_variables,
    read_variables,
)
from loadstone.servers.abilities import Ability
from loadstone.servers.dialect import Dialect
from loadstone.servers.family import Locks, SessionState, Words

__all__ = [
    "Error",
    "abilities",
    "bound_lock_waits",
    "broken_places",
    "count_foreign_keys",
    "candidates",
    "connect",
    "count_rows",
    "create_schema",
    "data_folder",
    "describe_server",
    "dialect",
    "drop_schema",
    "foreign_options",
    "forget_when_made",
    "drop_tables",
    "command_line_wins",
    "encrypts_sockets",
    "explained",
    "free_connections",
    "functions_of",
    "highest_id",
    "identity_of",
    "indexed_on",
    "is_being_set",
    "is_passed_on",
    "is_restless",
    "known_variables",
    "kept_for_start",
    "ledger_entries",
    "list_tables",
    "literal_of",
    "locks",
    "mark_ready",
    "names_made",
    "number_of",
    "own_variables",
    "persisted_variables",
    "put_variable_back",
    "read_schema",
    "read_variables",
    "refusal_of",
    "refusal_of_column",
    "rights_of",
    "server_of",
    "session_state",
    "session_statements",
    "set_in_session",
    "set_variable",
    "sets_for_starts",
    "socket_of",
    "statement_errors",
    "statements_in",
    "tables_in",
    "take_snapshot",
    "takes_files",
    "too_many_connections",
    "times_of",
    "use_schema",
    "variables_of",
    "views_of",
    "words",
    "words_of_session",
]

Error: type[Exception] = pg8000.Error
abilities: frozenset[Ability] = frozenset(
    {
        "counters", "digests", "experiments", "extended", "pipelined", "templates", "traffic",
        "trials", "watching",
    }
)  # fmt: skip
sets_for_starts = True
command_line_wins = True
encrypts_sockets = False
dialect: Dialect = _dialect
foreign_options: frozenset[str] = FOREIGN_OPTIONS
locks: Locks = _locks
session_state: SessionState = _session_state
words: Words = _words
