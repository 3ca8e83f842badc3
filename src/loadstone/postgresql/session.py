"""The statements that set a session up, apart from its actual work."""

from __future__ import annotations

from loadstone.model.message import say
from loadstone.model.plan import Session
from loadstone.model.target import Target
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import statement_errors, target_error
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError

LONGEST_LOCK_WAIT_S = 50
"""Shorter than a statement's limit, so that the server reports the wait and cleans up."""

own_variables = frozenset(
    {
        "cpu_index_tuple_cost", "cpu_operator_cost", "cpu_tuple_cost",
        "default_transaction_isolation", "effective_io_concurrency", "enable_bitmapscan",
        "enable_indexonlyscan", "enable_indexscan", "jit", "max_parallel_workers_per_gather",
        "plan_cache_mode", "random_page_cost", "seq_page_cost", "synchronous_commit", "work_mem",
    }
)  # fmt: skip
"""Variables of trials that each session may set for itself: the context `user` of pg_settings."""

_UTF8 = ("utf8mb4", "utf8mb3", "utf8")
"""Names for UTF-8 in plans and options, which are MySQL's."""


def bound_lock_waits(connection: Connection) -> None:
    """Limit the lock waits of a connection's statements to less than their own time limit.

    Raises:
        pg8000.Error: the server does not answer.
    """
    of(connection).set_everywhere(f"SET lock_timeout = '{LONGEST_LOCK_WAIT_S}s'")


def too_many_connections(message: str, most: int, instead: str) -> TargetError:
    """The error for a connection limit that is too low, like the server's own."""
    hint = say(
        "ALTER SYSTEM SET max_connections = {most} and restart the server; or {instead}",
        most=most,
        instead=instead,
    )
    return target_error("too_many_connections", message, hint, "53300")


def use_schema(connection: Connection, schema: str) -> None:
    """Make a database the connection's current one.

    Raises:
        TargetError: there is none for this user.
    """
    of(connection).use(schema)


def session_statements(session: Session) -> list[tuple[str, str, str]]:
    """What each connection of a load executes first: option, its value, statement."""
    encoding = "UTF8" if session.charset in _UTF8 else session.charset
    said = [("--charset", session.charset, f"SET client_encoding = '{encoding}'")]
    if session.isolation:
        level = session.isolation.replace("-", " ").upper()
        statement = f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"
        said.append(("--isolation", session.isolation, statement))
    return said + [("--init-sql", statement, statement) for statement in session.init_sql]


def words_of_session(name: str, value: str) -> str:
    """The statement that sets a variable, with its value as in a file, for one session.

    A number without a unit is in the variable's own unit, quoted or not.
    """
    parts = ".".join('"' + part.replace('"', '""') + '"' for part in name.lower().split("."))
    return f"SET SESSION {parts} = '" + value.replace("'", "''") + "'"


def set_in_session(connection: Connection, target: Target, name: str, value: str) -> None:
    """Set a setting for this connection.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(words_of_session(name, value))


def take_snapshot(connection: Connection, target: Target) -> None:
    """Make all following statements see the data as it is now."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        # The first statement takes it.
        cursor.execute("SELECT 1")
