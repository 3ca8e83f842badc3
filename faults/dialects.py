"""How the bench speaks to each kind of server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pg8000
import pymysql

from faults.case import Server
from loadstone.postgresql.errors import code_of

DRIVER_ERRORS = (pymysql.MySQLError, pg8000.Error)
"""What the drivers raise."""


@dataclass(frozen=True)
class Dialect:
    """The words of one kind of server; those in braces are put in."""

    scheme: str
    """That of its URLs."""
    sysbench: Mapping[str, str]
    """The options of `loadstone sysbench` that name the server."""
    enter: str
    """What a session of another client sends first: enters the schema `{database}`, if sessions are
    not there already, or gives itself a name of its own."""
    own_schema: tuple[str, str]
    """Creates and drops a schema `{name}` with all that is in it."""
    status: str
    """Asks for the counter or value `{name}`, the last column of the first row."""
    number: str
    """Asks a session for its number."""
    cancel: str
    """Ends the statement of the session `{number}`."""
    waiting: str
    """Counts the sessions that wait for what contains `{words}`, in lower case."""
    option: tuple[str, ...]
    """The words that set `{name}` to `{value}` on the server's command line."""
    in_the_way: frozenset[object]
    """Codes of a lock that was waited for too long, and of a deadlock."""
    ended: frozenset[object]
    """Codes of a statement that somebody ended, or whose connection is gone."""
    from_afar: tuple[str, ...]
    """The words that let a server be reached at any of its addresses."""

    def options(self, settings: Mapping[str, str]) -> list[str]:
        """The words of all these settings."""
        return [
            word.format(name=name, value=value)
            for name, value in settings.items()
            for word in self.option
        ]


def code(error: BaseException) -> object:
    """The number or SQLSTATE of a driver's error."""
    return code_of(error) if isinstance(error, pg8000.Error) else error.args[0]


_MYSQL = Dialect(
    scheme="mysql",
    sysbench={
        "mysql-socket": "{socket}",
        "mysql-user": "{user}",
        "mysql-password": "{password}",
        "mysql-db": "{database}",
    },
    enter="USE {database}",
    own_schema=("CREATE DATABASE {name}", "DROP DATABASE {name}"),
    status="SHOW GLOBAL STATUS LIKE '{name}'",
    number="SELECT CONNECTION_ID()",
    cancel="KILL QUERY {number}",
    waiting=(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE LOWER(STATE) LIKE '%{words}%'"
    ),
    option=("--{name}={value}",),
    in_the_way=frozenset({1205, 1213}),
    ended=frozenset({1317, 2006, 2013, 3024}),
    from_afar=("--bind-address=0.0.0.0",),
)

_POSTGRESQL = Dialect(
    scheme="postgresql",
    sysbench={
        "db-driver": "pgsql",
        "pgsql-host": "{folder}",
        "pgsql-port": "{port}",
        "pgsql-user": "{user}",
        "pgsql-password": "{password}",
        "pgsql-db": "{database}",
    },
    # Else it would have the name of sessions that administer the load.
    enter="SET application_name = 'another client'",
    own_schema=("CREATE SCHEMA {name}", "DROP SCHEMA {name} CASCADE"),
    status="SELECT {name}",
    number="SELECT pg_backend_pid()",
    cancel="SELECT pg_cancel_backend({number})",
    waiting=(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE lower(wait_event_type || ':' || wait_event) LIKE '%{words}%'"
    ),
    option=("-c", "{name}={value}"),
    in_the_way=frozenset({"40P01", "55P03"}),
    ended=frozenset({"57014", "57P01", "08006"}),
    from_afar=("-c", "listen_addresses=0.0.0.0"),
)

DIALECTS: Mapping[Server, Dialect] = {
    "mariadb": _MYSQL,
    "mysql": _MYSQL,
    "postgresql": _POSTGRESQL,
}
