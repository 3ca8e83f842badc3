"""From the text of a template file to a `Template`, or to all that is wrong with it.

docs/templates.md has the format. Whether the SQL in it is SQL, and whether its tables have such
columns, only a server can say: `loadstone workload check FILE --target URL` asks one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from loadstone.config import values as basic
from loadstone.config.lines import lines_of
from loadstone.config.problems import (
    ExperimentRefused,
    Problem,
    Problems,
    Section,
    not_toml,
    text_of,
)
from loadstone.config.values import InvalidValue, shown
from loadstone.engine import WorkloadInfo
from loadstone.model.distribution import Distribution, Uniform
from loadstone.model.effect import StatementEffect
from loadstone.model.template import (
    Column,
    ColumnValue,
    ConstantValue,
    HotValue,
    IntegerValue,
    OffsetValue,
    Parameter,
    ParameterPiece,
    Per,
    Piece,
    ReadValue,
    SequenceValue,
    Statement,
    Table,
    Template,
    TemplateSpec,
    TextPiece,
    Transaction,
    Value,
)
from loadstone.mysql.statements import effect_of
from loadstone.workloads.bundled import ENDING, bundled, text_of_bundled
from loadstone.workloads.templates import values
from loadstone.workloads.templates.columns import check_columns, check_names
from loadstone.workloads.templates.sql import CopyOf, Named, Part, Text, as_sent, parts_of

_EVENT: Per = "event"
_PER: tuple[Per, ...] = (_EVENT, "statement")
_WHOLE = (IntegerValue, HotValue, SequenceValue, OffsetValue)


class TemplateRefused(ExperimentRefused):
    """A template file that is not carried out; nothing was started for it."""


def info_of(template: Template) -> WorkloadInfo:
    """What is known of a template, in the words of the engine's own workloads."""
    return WorkloadInfo(
        name=template.name,
        summary=template.about,
        options={},
        writes=template.writes,
        layout="template",
    )


class _Drawn(NamedTuple):
    """A parameter as it was written, before others are known."""

    section: Section
    value: ColumnValue | None
    after: str | None
    add: int
    per: Per


class _Sentence(NamedTuple):
    """A statement as it was written."""

    section: Section
    sql: str
    parts: tuple[Part, ...]
    reads: tuple[str, ...]


class _Known(NamedTuple):
    """What the statements of a transaction may name."""

    places: Mapping[str, int]
    """Of its parameters."""

    reads: frozenset[str]
    """Those of them that statements read."""

    copied: Mapping[str, Table]
    """Tables that have copies."""


def find_template(name: str, folder: Path, taken: Collection[str] = ()) -> Template:
    """The file of that name in a folder; where there is none, the bundled template of that name.

    Raises:
        TemplateRefused: as `read_template`.
    """
    path, stem = folder / name, name.removesuffix(ENDING)
    if stem in bundled() and not path.exists():
        return parse_template(text_of_bundled(stem), name, taken)
    return read_template(path, taken)


def read_template(path: Path, taken: Collection[str] = ()) -> Template:
    """Read and check a file; `taken` are names that it must not have, as others have them.

    Raises:
        TemplateRefused: it cannot be read, or something is wrong with it.
    """
    return parse_template(text_of(path, TemplateRefused), str(path), taken)


def parse_template(text: str, file: str, taken: Collection[str] = ()) -> Template:
    """The same of a text; `file` is how messages call it.

    Raises:
        TemplateRefused: with all faults that were found.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TemplateRefused(file, [not_toml(str(error), text)]) from error
    except RecursionError:
        fault = Problem(1, "", "it is nested too deeply", "write lists of values only")
        raise TemplateRefused(file, [fault]) from None
    faults = Problems(lines_of(text))
    top = Section(document, (), faults)
    template = _template(top, document, Path(file).stem)
    if template.name in taken:
        said = f"{template.name} is a workload of the program's own"
        top.wrong("name", said, 'write name = "another", or rename the file')
    if faults.found:
        raise TemplateRefused(file, faults.found)
    return template


def _template(top: Section, document: Mapping[str, object], stem: str) -> Template:
    name = top.take("name", values.name, "")
    about = top.take("about", basic.text, "")
    tables = {each: _table(each, section) for each, section in _below(top, "table")}
    copied = {each: table for each, table in tables.items() if table.copies}
    found = [
        _transaction(each, section, tables, copied) for each, section in _below(top, "transaction")
    ]
    if not found:
        example = 'write [transaction.buy] and statements = ["SELECT …"]'
        top.wrong("transaction", "no transaction", example)
    top.end()
    check_names(top.faults, tables)
    return Template(
        name=name or "".join(sign if sign.isalnum() else "_" for sign in stem),
        about=about,
        tables=tuple(tables.values()),
        spec=TemplateSpec(transactions=tuple(one for one, _ in found)),
        effects=tuple(effect for _, effects in found for effect in effects),
        lines={one.name: _lines(top, one) for one, _ in found},
        table_lines={each: _table_lines(top, table) for each, table in tables.items()},
        beyond_ascii=min(_beyond_ascii(document, (), top.faults), default=None),
    )


def _table_lines(top: Section, table: Table) -> dict[str, int]:
    path = ("table", table.name)
    columns = {one.name: top.faults.line((*path, "columns", one.name)) for one in table.columns}
    return {"": top.faults.line((*path, "rows"))} | columns


def _beyond_ascii(value: object, path: tuple[str | int, ...], faults: Problems) -> Iterator[int]:
    """Lines of what is sent that has more than ASCII; comments and `about` are not sent."""
    if isinstance(value, str):
        if not value.isascii() and path != ("about",):
            yield faults.line(path)
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _beyond_ascii(below, (*path, name), faults)
    elif isinstance(value, list):
        for at, below in enumerate(value):
            yield from _beyond_ascii(below, (*path, at), faults)


def _lines(top: Section, transaction: Transaction) -> tuple[int, ...]:
    path = ("transaction", transaction.name, "statements")
    return tuple(top.faults.line((*path, at)) for at in range(len(transaction.statements)))


def _below(top: Section, name: str) -> list[tuple[str, Section]]:
    """The tables of the file below one of its own, each with its name."""
    section = top.section(name)
    if section is None:
        return []
    found = []
    for each in section.names():
        below = section.section(each)
        if below is None:
            continue
        try:
            values.name(each)
        except InvalidValue as unfit:
            below.wrong(None, unfit.what, unfit.write)
        found.append((each, below))
    return found


def _table(name: str, section: Section) -> Table:
    given = section.section("columns")
    columns = [_column(each, given.section(each)) for each in given.names()] if given else []
    if not columns:
        example = 'write columns.id = { type = "INT NOT NULL", sequence = true }'
        section.wrong("columns", "a table without columns", example)
    numbers = [one.name for one in columns if isinstance(one.value, SequenceValue)]
    if columns and len(numbers) != 1:
        said = f"{len(numbers)} columns count the rows, and one has to"
        section.wrong("columns", said, "write sequence = true for one column, as for an id")
    key = section.take("primary_key", values.names, tuple(numbers[:1]))
    found = Table(
        name=name,
        rows=section.take("rows", values.rows_loaded, 0),
        copies=section.take("copies", values.copies, 0),
        columns=tuple(columns),
        primary_key=key,
        indexes=section.take("indexes", values.indexes, ()),
    )
    known = [one.name for one in columns]
    for where, index in [("primary_key", key), *(("indexes", each) for each in found.indexes)]:
        for each in index:
            if each not in known:
                said = f"there is no column {each}"
                section.wrong(where, said, f"there are {', '.join(known)}")
    check_columns(section, found)
    section.end()
    return found


def _column(name: str, section: Section | None) -> Column:
    assert section is not None, "its name is a key of the table"
    try:
        values.name(name)
    except InvalidValue as unfit:
        section.wrong(None, unfit.what, unfit.write)
    if not section.has("type"):
        section.wrong(None, "a column without a type", 'write type = "INT NOT NULL"')
    value = _value(section, None)
    if section.has("sequence"):
        value = section.take("sequence", values.row_number, SequenceValue())
    written = section.take("type", values.column_type, "")
    section.end()
    if value is None and not _is_wrong(section):
        example = "write sequence = true, integer = [1, 100], text = 10 or constant = 0"
        section.wrong(None, "nothing says what its values are", example)
    return Column(name=name, type=written, value=value or ConstantValue(value=None))


def _value(section: Section, tables: Mapping[str, Table] | None) -> ColumnValue | None:
    """What the keys of a column or parameter say of its values; a fault where two say something.

    `tables`: those whose rows may be chosen; `None` for a column.
    """
    kinds = ["integer", "row", "sequence", *values.COLUMN_KINDS]
    given = [kind for kind in kinds if section.has(kind)]
    spread = section.take("spread", values.spread, None)
    if section.has("spread") and given and given[0] not in ("integer", "row"):
        section.wrong("spread", f"nothing is spread over {given[0]}", "leave it out")
    for kind in kinds:
        if kind not in given[:1]:
            # Whatever it could be is known from here on.
            section.take(kind, lambda value: value, None)
    for kind in given[1:]:
        section.wrong(kind, f"{given[0]} says already what it is", "leave one of the two out")
    return _of_kind(given[0], section, tables, spread) if given else None


def _of_kind(
    kind: str,
    section: Section,
    tables: Mapping[str, Table] | None,
    spread: Distribution | values.Hot | None,
) -> ColumnValue | None:
    if kind == "sequence":
        return section.take("sequence", values.sequence, None)
    if kind not in ("integer", "row"):
        return section.take(kind, values.COLUMN_KINDS[kind], None)
    if kind == "row":
        limits = _rows_of(section, tables)
    else:
        limits = section.take("integer", values.integer, None)
    if limits is None:
        return None
    low, high = limits
    if isinstance(spread, tuple):
        return HotValue(low=low, high=high, percent=spread[0], hits=spread[1])
    return IntegerValue(low=low, high=high, spread=spread or Uniform())


def _rows_of(section: Section, tables: Mapping[str, Table] | None) -> tuple[int, int] | None:
    """The numbers of the rows of a table of the file."""
    name = section.take("row", values.name, None)
    if name is None:
        return None
    if tables is None:
        section.wrong("row", "rows are chosen by parameters", "write integer = [1, 100]")
        return None
    table = tables.get(name)
    if table is None or not table.rows:
        said = f"there is no table {name}" if table is None else f"{name} begins without rows"
        known = ", ".join(each for each, one in tables.items() if one.rows) or "none"
        section.wrong("row", said, f"tables with rows: {known}")
        return None
    return 1, table.rows


def _transaction(
    name: str, section: Section, tables: Mapping[str, Table], copied: Mapping[str, Table]
) -> tuple[Transaction, list[StatementEffect]]:
    """The transaction, and what each of its statements would do."""
    written = _statements(section)
    if not written:
        section.wrong("statements", "no statement", 'write statements = ["SELECT …"]')
    below = _below(section, "parameters")
    drawn = {each: _parameter(one, tables) for each, one in below}
    reads = _read_names(written, drawn)
    order = _in_order(drawn, reads)
    places = {each: place for place, each in enumerate(order)}
    parameters = tuple(_placed(each, drawn, places, reads) for each in order)
    statements = tuple(
        _statement(one, written[:at], _Known(places, frozenset(reads), copied))
        for at, one in enumerate(written)
    )
    _check_use(written, drawn)
    effects = [
        StatementEffect(transaction=name, number=at, effect=effect_of(as_sent(one.parts)))
        for at, one in enumerate(written, 1)
    ]
    autocommit = section.take("autocommit", basic.flag, False)
    found = Transaction(
        name=name,
        weight=section.take("weight", values.weight, 1),
        think_s=section.take("think", values.think_s, 0.0),
        autocommit=autocommit,
        read_only=not autocommit and all(one.effect.only_reads for one in effects),
        parameters=parameters,
        statements=statements,
    )
    section.end()
    return found, effects


def _statements(section: Section) -> list[_Sentence]:
    """Each a text, or a table with more about it."""
    given = section.take("statements", _listed, [])
    path = (*section.path, "statements")
    found = []
    for at, each in enumerate(given):
        table = {"sql": each} if isinstance(each, str) else each
        one = Section(table, (*path, at), section.faults)
        if not one.has("sql"):
            one.wrong(None, "a statement without SQL", 'write sql = "SELECT …"')
        sql = one.take("sql", basic.text, "")
        parts = one.take("sql", lambda value: parts_of(str(value)), ()) if sql else ()
        reads = one.take("read", values.names, ())
        found.append(_Sentence(one, sql, parts, reads))
    return found


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidValue(f"{shown(value)} is no list", 'write ["SELECT …", "UPDATE …"]')
    return value


def _parameter(section: Section, tables: Mapping[str, Table]) -> _Drawn:
    after = section.take("from", values.name, None)
    add = section.take("add", values.whole, 0)
    value = None
    if after is None:
        value = _value(section, tables)
    if section.has("add") and after is None:
        section.wrong("add", "there is nothing to add to", 'write from = "other" beside it')
    per = section.take("per", basic.one_of(_PER), _EVENT)
    section.end()
    if value is None and after is None and not _is_wrong(section):
        example = 'write integer = [1, 100], row = "table", text = 10 or from = "other"'
        section.wrong(None, "nothing says what its values are", example)
    return _Drawn(section, value, after, add, per)


def _is_wrong(section: Section) -> bool:
    """Whether one of its keys is known to be."""
    depth = len(section.path)
    return any(path[:depth] == section.path for path in section.faults.paths)


def _read_names(written: Sequence[_Sentence], drawn: Mapping[str, _Drawn]) -> list[str]:
    """What statements read, each once and in the order of the file."""
    found: list[str] = []
    for one in written:
        for name in one.reads:
            if name in drawn:
                said = f"{name} is a parameter that is drawn"
                one.section.wrong("read", said, "give what is read a name of its own")
            elif name not in found:
                found.append(name)
    return found


def _in_order(drawn: Mapping[str, _Drawn], reads: Sequence[str]) -> list[str]:
    """All names, each behind the one that it comes from; faults where they go round in a circle."""
    order = dict.fromkeys(reads)
    for name in drawn:
        chain: dict[str, None] = {}
        current: str | None = name
        while current is not None and current in drawn and current not in order:
            if current in chain:
                links = [*chain, current]
                said = f"it goes round in a circle: {' from '.join(links[links.index(current) :])}"
                drawn[name].section.wrong("from", said, "draw one of them")
                break
            chain[current] = None
            current = drawn[current].after
        order |= dict.fromkeys(reversed(chain))
    return list(order)


def _placed(
    name: str, drawn: Mapping[str, _Drawn], places: Mapping[str, int], reads: Sequence[str]
) -> Parameter:
    if name in reads:
        return Parameter(name=name, value=ReadValue())
    one = drawn[name]
    value: Value = one.value or IntegerValue(low=1, high=1)
    if one.after is not None:
        base = drawn.get(one.after)
        if base is None or not (base.after or base.value is None or isinstance(base.value, _WHOLE)):
            whole = [each for each, other in drawn.items() if isinstance(other.value, _WHOLE)]
            said = f"{one.after} is no whole number that is drawn"
            one.section.wrong("from", said, f"there are {', '.join(whole) or 'none'}")
        value = OffsetValue(of=places.get(one.after, 0), add=one.add)
    return Parameter(name=name, value=value, per=one.per)


def _statement(written: _Sentence, before: Sequence[_Sentence], known: _Known) -> Statement:
    section, places = written.section, known.places
    later = known.reads - {name for one in before for name in one.reads}
    pieces: list[Piece] = []
    copies = 0
    for part in written.parts:
        match part:
            case Text(text):
                pieces.append(TextPiece(text=text))
            case Named(name) if name in places and name not in later:
                pieces.append(ParameterPiece(parameter=places[name]))
            case Named(name):
                there = ", ".join(f":{each}" for each in places) or "none"
                said = f":{name} is read by no statement before" if name in places else None
                section.wrong("sql", said or f"there is no parameter :{name}", f"there are {there}")
            case CopyOf(table):
                copies = _copies(table, known.copied, copies, section)
                pieces += [TextPiece(text=table), "copy"]
    same = section.take("same_copy", basic.flag, False)
    if same and not any(isinstance(part, CopyOf) for one in before for part in one.parts):
        section.wrong("same_copy", "no statement before has a copy", "leave it out")
    found = Statement(
        pieces=tuple(pieces) or (TextPiece(text=written.sql or "DO 0"),),
        repeat=section.take("repeat", values.repeat, 1),
        copies=copies,
        same_copy=same,
        rows=section.take("rows", values.rows_expected, None),
        reads=tuple(places[name] for name in written.reads if name in places),
    )
    section.end()
    return found


def _copies(table: str, copied: Mapping[str, Table], before: int, section: Section) -> int:
    """How many copies a statement's tables have: one number stands for all that it names."""
    if table not in copied:
        known = ", ".join(copied) or "none"
        said = f"{{{table}}} is no table of the file that has copies"
        section.wrong("sql", said, f"there are {known}; tables without copies: write {table}")
        return before
    copies = copied[table].copies
    if before and copies != before:
        said = "its tables have different numbers of copies"
        section.wrong("sql", said, "write copies = the same number for both")
    return copies


def _check_use(written: Sequence[_Sentence], drawn: Mapping[str, _Drawn]) -> None:
    """A name that nothing stands for is most often a slip."""
    used = {part.name for one in written for part in one.parts if isinstance(part, Named)}
    used |= {one.after for one in drawn.values() if one.after is not None}
    for name, one in drawn.items():
        if name not in used and not one.section.faults.found:
            one.section.wrong(
                None, "no statement names it", f"write :{name} in one, or leave it out"
            )
