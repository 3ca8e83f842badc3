"""Which variables a server knows, and which of them may change while it runs."""

from __future__ import annotations

import contextlib

from loadstone.model.target import Endpoint
from loadstone.mysql.connect import connect, statement_errors
from loadstone.mysql.facts import describe_server

_OF_MARIADB = (
    "SELECT variable_name, read_only, variable_scope FROM information_schema.system_variables"
)


def known_variables(endpoint: Endpoint) -> dict[str, bool]:
    """All by their names in small letters, and whether each can be set with SET GLOBAL.

    MySQL has no table that tells: there it is found out when the variable is set.

    Raises:
        TargetError: it cannot be reached, or refuses to say.
    """
    target = endpoint.target
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        facts = describe_server(connection, target)
        known = {name.lower(): True for name in facts.variables}
        if facts.flavour != "mariadb":
            return known
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(_OF_MARIADB)
            rows = cursor.fetchall()
    for name, read_only, scope in rows:
        known[str(name).lower()] = read_only == "NO" and scope != "SESSION ONLY"
    return known
