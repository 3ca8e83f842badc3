"""What a user may do, by what the server says of its roles; docs/postgresql.md says who needs what.

Source: https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-ACCESS
"""

from __future__ import annotations

from loadstone.model.target import Target
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import statement_errors
from loadstone.postgresql.facts import quoted
from loadstone.servers import rights
from loadstone.servers.connection import Connection
from loadstone.servers.rights import Right, Rights
from loadstone.servers.sanitize import plain

_ROLE = (
    "SELECT rolname, rolsuper, rolcreatedb, pg_has_role(oid, 'pg_read_all_stats', 'USAGE'),"
    " EXISTS (SELECT FROM pg_database WHERE datname = %s AND datallowconn),"
    " current_database()"
    " FROM pg_roles WHERE rolname = current_user"
)
_MAY_CREATE = (
    "SELECT current_schema(), coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"
)


def rights_of(connection: Connection, target: Target) -> Rights:
    """What the user of a connection may do in the target's database.

    Tables that it makes are its own, so making them is the right to drive and to drop them.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_ROLE, (target.database or "",))
        user, is_super, makes_databases, sees_all, is_there, here = cursor.fetchone()
    database = target.database or str(here)
    who = quoted(plain(str(user)))
    missing: tuple[str, ...] = ()
    if is_there or not target.database:
        schema, may = _schema(connection, target, database)
        missing = () if may else (f"GRANT CREATE ON SCHEMA {quoted(schema)} TO {who}",)
    elif not makes_databases and not is_super:
        missing = (f"ALTER ROLE {who} CREATEDB",)
    sees = () if sees_all else (f"GRANT pg_monitor TO {who}",)
    sets = () if is_super else (f"ALTER ROLE {who} SUPERUSER",)
    tables = (
        rights.PREPARE, rights.RUN_READS, rights.RUN, rights.CLEANUP, rights.EXPERIMENT,
    )  # fmt: skip
    return Rights(
        account=plain(str(user)),
        schema=database,
        rights=(
            Right(rights.CHECK),
            *(Right(each, missing) for each in tables),
            Right(rights.SET, sets, needs_superuser=True),
            Right(rights.OBSERVE, sees),
        ),
        sees_sessions=bool(sees_all),
    )


def _schema(connection: Connection, target: Target, database: str) -> tuple[str, bool]:
    """The schema in which tables are made, and whether the user may make some there."""
    with statement_errors(target), of(connection).at(database).cursor() as cursor:
        cursor.execute(_MAY_CREATE)
        schema, may = cursor.fetchone()
    return plain(str(schema or "public")), bool(may)
