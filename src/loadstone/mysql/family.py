"""MySQL, MariaDB and compatible servers: implements `servers.family.Family`."""

from __future__ import annotations

from typing import get_args

import pymysql

from loadstone.mysql import dialect as _dialect
from loadstone.mysql import locks as _locks
from loadstone.mysql import session_state as _session_state
from loadstone.mysql import words as _words
from loadstone.mysql.connect import connect, statement_errors
from loadstone.mysql.credentials import candidates
from loadstone.mysql.drop_tables import drop_tables
from loadstone.mysql.explain import explained, refusal_of, refusal_of_column
from loadstone.mysql.facts import (
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
from loadstone.mysql.identity import identity_of, server_of, times_of
from loadstone.mysql.ledger import ledger_entries
from loadstone.mysql.limits import free_connections
from loadstone.mysql.named_tables import names_made, tables_in
from loadstone.mysql.processlist import is_passed_on, number_of
from loadstone.mysql.rights import rights_of
from loadstone.mysql.schemas import (
    create_schema,
    drop_schema,
    forget_when_made,
    list_tables,
    mark_ready,
    read_schema,
)
from loadstone.mysql.session import (
    bound_lock_waits,
    own_variables,
    session_statements,
    set_in_session,
    take_snapshot,
    too_many_connections,
    use_schema,
    words_of_session,
)
from loadstone.mysql.tokens import statements_in
from loadstone.mysql.tpcc import broken_places, count_foreign_keys
from loadstone.mysql.variables import (
    is_being_set,
    is_restless,
    kept_for_start,
    known_variables,
    literal_of,
    persisted_variables,
    put_variable_back,
    read_variables,
    set_variable,
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

Error: type[Exception] = pymysql.MySQLError
abilities: frozenset[Ability] = frozenset(get_args(Ability)) - {"extended", "pipelined"}
dialect: Dialect = _dialect
foreign_options: frozenset[str] = frozenset()
locks: Locks = _locks
session_state: SessionState = _session_state
sets_for_starts = False
command_line_wins = False
encrypts_sockets = True
words: Words = _words
