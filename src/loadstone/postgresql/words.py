"""Statements and names of PostgreSQL that messages quote for users."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.message import Message, say

server = "PostgreSQL"
sessions = "SELECT * FROM pg_stat_activity"
variables = "SHOW ALL"
counters = "SELECT * FROM pg_stat_database"
warnings = "SHOW client_min_messages"
set_for_all = "ALTER ROLE ... SET"
end_any = say("pg_terminate_backend() and the connection's number")
see_lag = "GRANT pg_read_all_stats"
statement_sums: str | None = None
prepared_limit = None
own_file = "~/.pgpass"
_NOT_PREPARED_THERE = say(
    "does a pooler in between share sessions? use --text; or let it keep prepared statements:"
    " PgBouncer 1.21 or newer with max_prepared_statements above 0"
)
hints_by_code: Mapping[str, Message] = {
    "26000": _NOT_PREPARED_THERE,
    "42P01": say("loadstone prepare makes the tables"),
    "42P05": _NOT_PREPARED_THERE,
    "23505": say(
        "rows with that key exist already: --on-error continue counts such errors and goes on"
    ),
    "25006": say("the server is read-only: is it a standby?"),
    "28000": say("pg_hba.conf on the server says who may log in, from where and how"),
    "42501": say(
        "the user lacks a right: CREATEDB makes databases; GRANT CREATE ON SCHEMA public TO it in"
        " that database makes tables, and so may the database's owner; or use another --user"
    ),
    "53100": say("the server's disk is full"),
    "57P03": say("it is starting, stopping or in recovery: try again when it accepts connections"),
}


def end(connection: int) -> str:
    """The statement that ends a connection."""
    return f"SELECT pg_terminate_backend({connection})"
