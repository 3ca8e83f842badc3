"""Which families of servers a template file is for, and what it says for each of them.

The key `dialect` lists them. A statement and a column's type are a text for all of them, or a table
with a text for each. A file without that key is for each family of which it has all texts and in
whose SQL it can be read; the first one's faults are the file's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from loadstone.config.lines import Path
from loadstone.config.problems import Problem, Problems, key
from loadstone.config.written import Written
from loadstone.families import FAMILIES
from loadstone.model.message import Joined, say
from loadstone.model.nearest import nearest_or_all
from loadstone.model.template import Lack
from loadstone.workloads.templates import kinds as fields

Document = Mapping[str, Any]


class _Head(Written):
    """The key that lists families; without the other keys."""

    dialect: fields.Families | None = None


@dataclass(frozen=True)
class Spoken:
    """The families that a file is for."""

    families: tuple[str, ...]
    """At least one, the one that is meant where no server is known first."""

    is_said: bool
    """Whether the file lists them, so that what does not fit one of them is a fault of the file."""

    lacks: Mapping[str, tuple[Lack, ...]]
    """Why it is not for the others."""


def spoken_in(document: Document, faults: Problems) -> Spoken:
    """The families that a file is for; adds faults of the keys that say so."""
    listed = _listed(document, faults)
    _check_tables_of_texts(document, faults)
    wanted = listed or tuple(FAMILIES)
    lacks = {family: tuple(_missing(document, family, faults)) for family in wanted}
    complete = tuple(family for family in wanted if not lacks[family])
    if listed or not complete:
        for lack in (one for family in wanted for one in lacks[family]):
            faults.found.append(Problem(lack.line, lack.key, lack.what, lack.write))
    for family in FAMILIES:
        if family not in wanted:
            lacks[family] = (_not_listed(family, faults),)
    return Spoken(
        families=complete or wanted,
        is_said=bool(listed),
        lacks={family: found for family, found in lacks.items() if found},
    )


def as_written_for(document: Document, family: str) -> Document:
    """The document with the family's text in place of each table of texts."""
    copied = dict(document)
    for path, texts in _tables_of_texts(document):
        if family in texts:
            copied = _replaced(copied, path, texts[family])
    return copied


def lacks_of(problems: Sequence[Problem], family: str) -> tuple[Lack, ...]:
    """What keeps a file from being read in a family's SQL."""
    server = FAMILIES[family].words.server
    return tuple(
        Lack(
            line=one.line,
            key=one.key,
            what=say("as SQL of {server}: {problem}", server=server, problem=one.what),
            write=say("{hint}", hint=one.write),
        )
        for one in problems
    )


def _listed(document: Document, faults: Problems) -> tuple[str, ...]:
    given = {key: value for key, value in document.items() if key == "dialect"}
    try:
        return _Head.model_validate(given).dialect or ()
    except ValidationError as error:
        for each in error.errors(include_url=False):
            faults.add(each["loc"], each["ctx"]["what"], each["ctx"]["write"])
        return ()


def _check_tables_of_texts(document: Document, faults: Problems) -> None:
    for path, texts in _tables_of_texts(document):
        for name in texts:
            if name not in FAMILIES:
                said = say("there is no dialect {name}", name=str(name))
                faults.add((*path, str(name)), said, nearest_or_all(str(name), FAMILIES))


def _missing(document: Document, family: str, faults: Problems) -> Iterator[Lack]:
    """The statements and types that have no text for this family."""
    for path, texts in _tables_of_texts(document):
        if family not in texts:
            known = Joined(texts)
            yield Lack(
                line=faults.line(path),
                key=key(path),
                what=say(
                    "it has no text for {family}, only for {known}", family=family, known=known
                ),
                write=say('write {family} = "…" next to it', family=family),
            )


def _not_listed(family: str, faults: Problems) -> Lack:
    server = FAMILIES[family].words.server
    return Lack(
        line=faults.line(("dialect",)),
        key="dialect",
        what=say(
            "the file is not for {server}: its SQL may mean something else there", server=server
        ),
        write=say("add {family} to the list once its statements fit", family=f'"{family}"'),
    )


def _tables_of_texts(document: Document) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Statements and types that are written as a table."""
    for path, place in _places(document):
        if isinstance(place, dict):
            yield path, place


def _places(document: Document) -> Iterator[tuple[Path, Any]]:
    """All statements and types, with their paths; what has another form is left to the reader."""
    for name, table in _named(document.get("table")):
        for column, written in _named(table.get("columns")):
            yield ("table", name, "columns", column, "type"), written.get("type")
    for name, transaction in _named(document.get("transaction")):
        statements = transaction.get("statements")
        for at, one in enumerate(statements if isinstance(statements, list) else ()):
            if isinstance(one, dict):
                yield ("transaction", name, "statements", at, "sql"), one.get("sql")


def _named(tables: object) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(tables, dict):
        yield from ((name, one) for name, one in tables.items() if isinstance(one, dict))


def _replaced(node: Any, path: Path, value: object) -> Any:
    """A copy of a tree of tables and lists with another value in one place."""
    if not path:
        return value
    copied = node.copy()
    copied[path[0]] = _replaced(node[path[0]], path[1:], value)
    return copied
