"""Parses a template file into a `Template`, or into all of its faults.

docs/templates.md has the format. Whether its SQL is valid, and whether its tables have such
columns, only a server can say: `loadstone workload check FILE --target URL` asks one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from loadstone.config.lines import Path as KeyPath
from loadstone.config.problems import ExperimentRefused, Problem, Problems, document_of, text_of
from loadstone.config.schema import schema_of
from loadstone.config.written import Fault, read_document
from loadstone.engine import WorkloadInfo
from loadstone.families import FAMILIES
from loadstone.model.message import say
from loadstone.model.template import (
    Form,
    Table,
    Template,
    TemplateSpec,
    Transaction,
)
from loadstone.servers.dialect import Dialect
from loadstone.workloads.bundled import ENDING, bundled, text_of_bundled
from loadstone.workloads.templates import keys
from loadstone.workloads.templates.columns import check_columns, check_names
from loadstone.workloads.templates.dialects import Document, as_written_for, lacks_of, spoken_in
from loadstone.workloads.templates.transactions import TransactionMaker


class TemplateRefused(ExperimentRefused):
    """A template file was refused; nothing was started for it."""


def info_of(template: Template) -> WorkloadInfo:
    """The description of a template, in the form of the engine's own workloads."""
    return WorkloadInfo(
        name=template.name,
        summary=template.about,
        options={},
        writes=template.writes,
        layout="template",
    )


def find_template(name: str, folder: Path, taken: Collection[str] = ()) -> Template:
    """The file of that name in a folder; if there is none, the bundled template.

    Raises:
        TemplateRefused: as `read_template`.
    """
    path, stem = folder / name, name.removesuffix(ENDING)
    if stem in bundled() and not path.exists():
        return parse_template(text_of_bundled(stem), name, taken)
    return read_template(path, taken)


def form_for(template: Template, file: str, family: str) -> Template:
    """The template in the SQL of a family's servers; `file` is its name in messages.

    Raises:
        TemplateRefused: the file is not for servers of that family; names what is missing.
    """
    form = template.form(family)
    if form is None:
        found = template.lacks[family]
        raise TemplateRefused(file, [Problem(**dict(lack)) for lack in found])
    return form


def read_template(path: Path, taken: Collection[str] = ()) -> Template:
    """Read and check a file; it must not have one of the names in `taken`.

    Raises:
        TemplateRefused: it cannot be read, or has faults.
    """
    return parse_template(text_of(path, TemplateRefused), str(path), taken)


def parse_template(text: str, file: str, taken: Collection[str] = ()) -> Template:
    """Parse and check a text; `file` is its name in messages.

    Raises:
        TemplateRefused: lists all faults that were found.
    """
    document, faults = document_of(text, file, TemplateRefused)
    spoken = spoken_in(document, faults)
    if faults.found:
        raise TemplateRefused(file, faults.found)
    first, *others = spoken.families
    written, form = _read_for(first, document, faults, file)
    name = written.name or "".join(sign if sign.isalnum() else "_" for sign in Path(file).stem)
    if name in taken:
        faults.add(
            ("name",),
            say("{name} is the name of a built-in workload", name=name),
            say('write name = "another", or rename the file'),
        )
        raise TemplateRefused(file, faults.found)
    forms, lacks = [], dict(spoken.lacks)
    for family in others:
        try:
            # With problems of its own, which need not be the file's.
            _, own = document_of(text, file, TemplateRefused)
            forms.append(_read_for(family, document, own, file)[1])
        except TemplateRefused as refused:
            if spoken.is_said:
                raise
            lacks[family] = lacks_of(refused.faults, family)
    return Template(
        **{name: getattr(form, name) for name in Form.model_fields},
        name=name,
        about=written.about,
        others=tuple(forms),
        lacks=lacks,
        lines={one.name: _lines(faults, one) for one in form.spec.transactions},
        beyond_ascii=min(_beyond_ascii(document, (), faults), default=None),
    )


def _read_for(
    family: str, document: Document, faults: Problems, file: str
) -> tuple[keys.File, Form]:
    """The file as it is read for the servers of a family.

    Raises:
        TemplateRefused: lists all faults that were found.
    """
    dialect = FAMILIES[family].dialect
    theirs = as_written_for(document, family)
    written = read_document(keys.File, (theirs, faults), file, TemplateRefused, dialect)
    read = str.lower if dialect.folds_names else str
    tables = {name: one.made(name, read) for name, one in written.table.items()}
    for path, what, write_ in _unfit(written, tables, dialect):
        faults.add(path, what, write_)
    makers = [
        TransactionMaker(name, one, written, faults) for name, one in written.transaction.items()
    ]
    made = [maker.made(dialect) for maker in makers]
    if faults.found:
        raise TemplateRefused(file, faults.found)
    form = Form(
        family=family,
        notation=dialect.notation,
        tables=tuple(tables.values()),
        spec=TemplateSpec(transactions=tuple(one for one, _ in made)),
        effects=tuple(effect for _, effects in made for effect in effects),
        table_lines=_table_lines(faults, written.table, tables),
    )
    return written, form


def _unfit(written: keys.File, tables: Mapping[str, Table], dialect: Dialect) -> Iterator[Fault]:
    """Yield the faults of tables, by the names that the file has for them."""
    yield from check_names(tables, dialect)
    for name, one in written.table.items():
        for path, what, write_ in check_columns(one.made(name, str), dialect):
            yield ("table", name, *path), what, write_


def template_schema() -> dict[str, Any]:
    """The JSON schema of template files, for editors."""
    return schema_of(keys.File, "A template of Loadstone: a workload of your own SQL")


def _table_lines(
    faults: Problems, written: Mapping[str, keys.Table], tables: Mapping[str, Table]
) -> dict[str, dict[str, int]]:
    """The lines of tables and columns, by the names that servers have for them."""
    return {
        table.name: {"": faults.line(("table", name, "rows"))}
        | {
            column.name: faults.line(("table", name, "columns", each))
            for each, column in zip(written[name].columns, table.columns, strict=True)
        }
        for name, table in tables.items()
    }


def _beyond_ascii(value: object, path: KeyPath, faults: Problems) -> Iterator[int]:
    """Lines with characters beyond ASCII that would be sent; comments and `about` are not."""
    if isinstance(value, str):
        if not value.isascii() and path != ("about",):
            yield faults.line(path)
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _beyond_ascii(below, (*path, name), faults)
    elif isinstance(value, list):
        for at, below in enumerate(value):
            yield from _beyond_ascii(below, (*path, at), faults)


def _lines(faults: Problems, transaction: Transaction) -> tuple[int, ...]:
    path = ("transaction", transaction.name, "statements")
    return tuple(faults.line((*path, at)) for at in range(len(transaction.statements)))
