"""Checks whether a template writes to tables that are not its own, and so needs consent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from loadstone.families import family_of
from loadstone.model.effect import Effect, StatementEffect
from loadstone.model.figure import Count
from loadstone.model.message import Joined, Message, plain, say
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
) -> tuple[Message, ...]:
    """Check that statements write only to the tables of their own file, or that somebody agrees.

    `template`: its name in messages, the tables that its file makes, the effects of its statements.

    Returns:
        Notes on what somebody has agreed to.

    Raises:
        GuardError: they may write to other tables; each is named.
        TargetError: the server does not say which functions there are.
    """
    workload, own, effects = template
    if not effects:
        return ()
    schema = target.database or ""
    family = family_of(target)
    functions = family.functions_of(connection, target, schema)
    views = family.views_of(connection, target)
    found: dict[Message, StatementEffect] = {}
    for one in effects:
        beyond = _beyond(one.effect, own, schema, functions)
        for said in (*beyond, *_views_in(one.effect, schema, views)):
            found.setdefault(said, one)
    if not found:
        return ()
    said = _said(workload, found)
    if not consent.is_given:
        raise GuardError("foreign_tables", said, say("if all of that may be written to: --yes"))
    return (said,)


def _said(workload: str, found: Mapping[Message, StatementEffect]) -> Message:
    listed = Joined(
        say("{table} ({where})", table=what, where=str(one))
        for what, one in list(found.items())[:_SHOWN]
    )
    if len(found) <= _SHOWN:
        return say(
            "{workload} may write to more than the tables of its file: {list}",
            workload=workload,
            list=listed,
        )
    return say(
        "{workload} may write to more than the tables of its file: {list} and {number} more",
        workload=workload,
        list=listed,
        number=Count(len(found) - _SHOWN),
    )


def _beyond(
    effect: Effect, own: Collection[str], schema: str, functions: Collection[str]
) -> Iterator[Message]:
    """The effects of a statement beyond its own tables."""
    for table in effect.writes:
        if table.schema_name not in (None, schema) or table.name not in own:
            yield plain(str(table))
    if effect.unclear:
        yield plain(effect.unclear)
    for name in effect.calls:
        if name in functions:
            yield plain(f"{name}()")


def _views_in(effect: Effect, schema: str, views: Collection[tuple[str, str]]) -> Iterator[Message]:
    """Views that a statement may read: a view may call functions, and these may write."""
    for view_schema, name in views:
        is_reached = view_schema == schema or view_schema.lower() in effect.names
        if is_reached and name.lower() in effect.names:
            view = name if view_schema == schema else f"{view_schema}.{name}"
            yield say("the view {name}", name=view)
