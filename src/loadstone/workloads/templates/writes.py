"""Whether a template writes to tables that are not its own, and so wants somebody's consent."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence

import pymysql

from loadstone.model.effect import Effect, StatementEffect
from loadstone.model.target import Target
from loadstone.mysql.connect import Connection, statement_errors
from loadstone.mysql.errors import GuardError
from loadstone.mysql.guard import Consent

_SHOWN = 5


def check_writes_of_template(
    connection: Connection,
    target: Target,
    template: tuple[str, Collection[str], Sequence[StatementEffect]],
    consent: Consent,
) -> tuple[str, ...]:
    """See that statements write to the tables of their own file only, or that somebody agrees.

    `template`: how messages call it, the tables that its file makes, what its statements would do.

    Returns:
        What somebody has agreed to, as a note.

    Raises:
        GuardError: they may write to others; each is named.
        TargetError: the server does not say which functions there are.
    """
    workload, own, effects = template
    if not effects:
        return ()
    schema = target.database or ""
    functions = _functions(connection, target, schema)
    views = _views(connection, target)
    found: dict[str, StatementEffect] = {}
    for one in effects:
        beyond = _beyond(one.effect, own, schema, functions)
        for said in (*beyond, *_views_in(one.effect, schema, views)):
            found.setdefault(said, one)
    if not found:
        return ()
    shown = [f"{what} ({one})" for what, one in list(found.items())[:_SHOWN]]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    said = f"{workload} may write to more than the tables of its file: {', '.join(shown)}{more}"
    if not consent.is_given:
        raise GuardError("foreign_tables", said, "if all of that may be written to: --yes")
    return (said,)


def _beyond(
    effect: Effect, own: Collection[str], schema: str, functions: Collection[str]
) -> Iterator[str]:
    """What of a statement is not about its own tables."""
    for table in effect.writes:
        if table.schema_name not in (None, schema) or table.name not in own:
            yield str(table)
    if effect.unclear:
        yield effect.unclear
    for name in effect.calls:
        if name in functions:
            yield f"{name}()"


def _views_in(effect: Effect, schema: str, views: Collection[tuple[str, str]]) -> Iterator[str]:
    """Views that a statement may read: a view may call functions, and these may write."""
    for view_schema, name in views:
        is_reached = view_schema == schema or view_schema.lower() in effect.names
        if is_reached and name.lower() in effect.names:
            yield f"the view {name if view_schema == schema else f'{view_schema}.{name}'}"


def _views(connection: Connection, target: Target) -> list[tuple[str, str]]:
    """Schema and name of all views that this user can read and that are not the server's own."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_schema, table_name FROM information_schema.views"
            " WHERE table_schema NOT IN ('sys', 'mysql')"
        )
        return [(str(schema), str(name)) for schema, name in cursor.fetchall()]


def _functions(connection: Connection, target: Target, schema: str) -> frozenset[str]:
    """Functions that somebody made, and a statement there can call without naming a schema.

    In small letters. Stored ones that this user cannot see it cannot call; loaded ones are for all,
    and not everybody may see which there are.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT routine_name FROM information_schema.routines"
            " WHERE routine_schema = %s AND routine_type = 'FUNCTION'",
            (schema,),
        )
        found = {str(name).lower() for (name,) in cursor.fetchall()}
        with contextlib.suppress(pymysql.MySQLError):
            cursor.execute("SELECT name FROM mysql.func")
            found |= {str(name).lower() for (name,) in cursor.fetchall()}
    return frozenset(found)
