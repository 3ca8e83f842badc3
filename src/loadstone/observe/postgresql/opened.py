"""Opens the connections over which a server is observed."""

from __future__ import annotations

from loadstone.model.target import Endpoint
from loadstone.postgresql.connect import connect
from loadstone.postgresql.databases import MAINTENANCE
from loadstone.postgresql.errors import code_of
from loadstone.postgresql.login_errors import NOT_THAT_DATABASE
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

ANSWERED_S = 5.0
"""How long most questions may take, by the server's own limit (statement_timeout) as well."""


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
        if code_of(error) not in NOT_THAT_DATABASE:
            raise
    return connect(endpoint, timeouts, database=None)
