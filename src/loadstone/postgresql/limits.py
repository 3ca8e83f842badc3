"""How many connections a server still gives to a user."""

from __future__ import annotations

from loadstone.model.target import Target
from loadstone.postgresql.activity import OF_CLIENTS
from loadstone.postgresql.errors import statement_errors
from loadstone.servers.connection import Connection

# Version 16 has a second reserve, for members of a role that older servers lack.
_RESERVED = """
    current_setting('superuser_reserved_connections')::int
    + CASE
        WHEN EXISTS (
            SELECT FROM pg_roles
            WHERE rolname = 'pg_use_reserved_connections' AND pg_has_role(oid, 'USAGE')
        ) THEN 0
        ELSE coalesce(current_setting('reserved_connections', true)::int, 0)
    END
"""

# Superusers keep to no limit but that of the server. `least` leaves out what is null.
_FREE = f"""
SELECT least(
    current_setting('max_connections')::int - count(*)
        - CASE WHEN me.rolsuper THEN 0 ELSE {_RESERVED} END,
    CASE WHEN me.rolconnlimit >= 0 AND NOT me.rolsuper
        THEN me.rolconnlimit - count(*) FILTER (WHERE usesysid = me.oid) END,
    CASE WHEN here.datconnlimit >= 0 AND NOT me.rolsuper
        THEN here.datconnlimit - count(*) FILTER (WHERE datid = here.oid) END
) + 1
FROM pg_stat_activity, pg_roles AS me, pg_database AS here
WHERE {OF_CLIENTS} AND me.rolname = session_user
    AND here.datname = coalesce(nullif(%s, ''), current_database())
GROUP BY me.oid, me.rolsuper, me.rolconnlimit, here.oid, here.datconnlimit
"""


def free_connections(connection: Connection, target: Target) -> int:
    """How many connections this user may have there, including the one that asks.

    Source: https://www.postgresql.org/docs/current/runtime-config-connection.html
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_FREE, (target.database or "",))
        ((free,),) = cursor.fetchall()
    return int(free)
