"""Checks that the tables which a template needs are there, without changing anything."""

from __future__ import annotations

from loadstone.families import connect, family_of
from loadstone.lab.tables.discover import Wanted, tables_for
from loadstone.lab.tables.missing import examples_of, find_missing
from loadstone.model.message import say
from loadstone.model.target import Endpoint
from loadstone.model.template import Template
from loadstone.servers.errors import TargetError
from loadstone.workloads.templates.explain import statements_once


def check_tables(template: Template, file: str, endpoint: Endpoint) -> None:
    """Check that all tables are there which the file makes or its statements name.

    Raises:
        TargetError: some are missing; the hint is the command that makes them, if there is one.
    """
    target = endpoint.target
    names = tuple(table.name for table in template.loaded())
    statements = statements_once(template)
    made = family_of(target).names_made
    with connect(endpoint, database=None) as connection:
        tables_for(connection, target, Wanted(workload=file, layout="template", names=names))
        missing = find_missing(
            connection,
            target,
            examples_of(target.database or "", target, statements),
            frozenset().union(*map(made, statements)),
        )
    if missing:
        raise TargetError(
            "missing_table",
            say(
                "{place} lacks what the statements of {file} name: {names}",
                place=target.place,
                file=file,
                names=missing.named(),
            ),
            say(
                "copy them there, or name their schema in --target: {file} has no [table] for them",
                file=file,
            ),
        )
