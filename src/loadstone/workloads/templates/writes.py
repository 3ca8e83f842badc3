"""Whether a template writes to tables that are not its own, and so wants somebody's consent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from loadstone.families import family_of
from loadstone.model.effect import Effect, StatementEffect
from loadstone.model.target import Target
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError
from loadstone.servers.guard import Consent

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
    family = family_of(target)
    functions = family.functions_of(connection, target, schema)
    views = family.views_of(connection, target)
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
