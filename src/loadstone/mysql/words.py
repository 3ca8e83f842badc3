"""Statements and names of MySQL and MariaDB that messages quote for users."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.message import Message, say

server = "MySQL"
sessions = "SHOW FULL PROCESSLIST"
variables = "SHOW GLOBAL VARIABLES"
counters = "SHOW GLOBAL STATUS"
warnings = "SHOW WARNINGS"
set_for_all = "SET GLOBAL, init_connect"
end_any = say("KILL and the connection's number")
see_lag = "GRANT REPLICATION CLIENT (MariaDB: REPLICA MONITOR)"
statement_sums: str | None = "performance_schema"
prepared_limit = ("max_prepared_stmt_count", "1461")
own_file = "~/.my.cnf"
hints_by_code: Mapping[str, Message] = {
    "1146": say("loadstone prepare makes the tables"),
    "1062": say(
        "rows with that key exist already: --on-error continue counts such errors and goes on"
    ),
    "1243": say(
        "something in between does not keep prepared statements for its clients: use --text"
    ),
    "1290": say("the server is read-only: is it a replica?"),
    "1461": say("raise max_prepared_stmt_count on the server, or use --text"),
    "1836": say("the server is read-only: is it a replica?"),
}


def end(connection: int) -> str:
    """The statement that ends a connection."""
    return f"KILL {connection}"
