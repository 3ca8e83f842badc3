"""Opens the connections over which a server is observed."""

from __future__ import annotations

from loadstone.model.target import Endpoint
from loadstone.postgresql.connect import connect
from loadstone.postgresql.databases import MAINTENANCE
from loadstone.postgresql.errors import code_of
from loadstone.postgresql.login_errors import NOT_THAT_DATABASE, WRONG_PASSWORD
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

ANSWERED_S = 5.0
"""How long most questions may take, by the server's own limit (statement_timeout) as well."""

_NOT_AT_A_POOLER = ("08P01", WRONG_PASSWORD)
"""PgBouncer's codes for a database that it does not know. The second keeps it a secret which names
there are: https://github.com/pgbouncer/pgbouncer/blob/master/src/client.c."""


def opened(endpoint: Endpoint, answered_s: float = ANSWERED_S) -> Connection:
    """Log in, if possible to a database that no load uses.

    Each question is a transaction of the database that it is asked in, and the load's database is
    to count the load's alone.

    Raises:
        TargetError: the server cannot be reached, or refuses the login.
    """
    timeouts = Timeouts(connect_s=3, statement_s=answered_s)
    try:
        return connect(endpoint, timeouts, database=MAINTENANCE)
    except TargetError as error:
        if code_of(error) not in (*NOT_THAT_DATABASE, *_NOT_AT_A_POOLER):
            raise
    return connect(endpoint, timeouts, database=None)


def database_of(endpoint: Endpoint, *, is_direct: bool) -> str:
    """The server's own name of the load's database; empty: the target names none.

    `is_direct`: the server itself answers. A pooler may have another name for it.

    Raises:
        TargetError: the pooler does not let us in now.
        pg8000.Error: the server does not answer.
    """
    named = endpoint.target.database or ""
    if is_direct or not named:
        return named
    timeouts = Timeouts(connect_s=3, statement_s=ANSWERED_S)
    try:
        with connect(endpoint, timeouts) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            ((name,),) = cursor.fetchall()
            return str(name)
    except TargetError as error:
        if code_of(error) not in (*NOT_THAT_DATABASE, *_NOT_AT_A_POOLER):
            raise
        return named  # it is not there yet
