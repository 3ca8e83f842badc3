"""Parses a template file into a `Template`, or into all of its faults.

docs/templates.md has the format. Whether its SQL is valid, and whether its tables have such
columns, only a server can say: `loadstone workload check FILE --target URL` asks one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from loadstone.config import forms
from loadstone.config import kinds as basic
from loadstone.config.lines import Path as KeyPath
from loadstone.config.problems import ExperimentRefused, Problem, Problems, document_of, text_of
from loadstone.config.schema import schema_of
from loadstone.config.written import Fault, Written, read_document
from loadstone.engine import WorkloadInfo
from loadstone.families import FAMILIES
from loadstone.model.distribution import Uniform
from loadstone.model.effect import StatementEffect
from loadstone.model.hints import write
from loadstone.model.message import Joined, Message, say
from loadstone.model.template import (
    Column,
    ColumnValue,
    CycleValue,
    Form,
    HotValue,
    IntegerValue,
    OffsetValue,
    Parameter,
    ParameterPiece,
    Per,
    Piece,
    ReadValue,
    Statement,
    Table,
    Template,
    TemplateSpec,
    TextPiece,
    Transaction,
    Value,
)
from loadstone.servers.dialect import Dialect
from loadstone.workloads.bundled import ENDING, bundled, text_of_bundled
from loadstone.workloads.templates import kinds as fields
from loadstone.workloads.templates.columns import check_columns, check_names
from loadstone.workloads.templates.dialects import Document, as_written_for, lacks_of, spoken_in
from loadstone.workloads.templates.sql import CopyOf, Named, Text, as_sent

_WHOLE = ("integer", "row", "sequence")
_KINDS = (
    *_WHOLE,
    "unique", "text", "pattern", "choice", "cycle", "constant", "decimal", "date", "datetime",
)  # fmt: skip


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


def _read_for(family: str, document: Document, faults: Problems, file: str) -> tuple[_File, Form]:
    """The file as it is read for the servers of a family.

    Raises:
        TemplateRefused: lists all faults that were found.
    """
    dialect = FAMILIES[family].dialect
    theirs = as_written_for(document, family)
    written = read_document(_File, (theirs, faults), file, TemplateRefused, dialect)
    read = str.lower if dialect.folds_names else str
    tables = {name: one.made(name, read) for name, one in written.table.items()}
    for path, what, write_ in _unfit(written, tables, dialect):
        faults.add(path, what, write_)
    makers = [_Maker(name, one, written, faults) for name, one in written.transaction.items()]
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


def _unfit(written: _File, tables: Mapping[str, Table], dialect: Dialect) -> Iterator[Fault]:
    """Yield the faults of tables, by the names that the file has for them."""
    yield from check_names(tables, dialect)
    for name, one in written.table.items():
        for path, what, write_ in check_columns(one.made(name, str), dialect):
            yield ("table", name, *path), what, write_


def template_schema() -> dict[str, Any]:
    """The JSON schema of template files, for editors."""
    return schema_of(_File, "A template of Loadstone: a workload of your own SQL")


def _table_lines(
    faults: Problems, written: Mapping[str, _Table], tables: Mapping[str, Table]
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


class _Values(Written):
    """The keys that define a column's or a parameter's values; exactly one must be set."""

    example: ClassVar[str]
    sources: ClassVar[tuple[str, ...]] = _KINDS
    """The keys of which a column or a parameter has exactly one."""
    integer: fields.Integer | None = None
    """Whole numbers between two limits, which are included: [1, 100]."""
    unique: fields.Unique | None = None
    """Numbers of 63 bits that practically never repeat: keys for inserts."""
    text: fields.Text | None = None
    """Letters and digits, this many or between two limits."""
    pattern: fields.Pattern | None = None
    """A text: # becomes a digit, @ a capital letter."""
    choice: fields.Choice | None = None
    """One of these values; one that is listed twice is twice as likely."""
    constant: fields.Constant | None = None
    """Always this value."""
    decimal: fields.Decimal | None = None
    """Numbers between two limits, with as many decimals as these have."""
    date: fields.Date | None = None
    """Days between two dates, which are included."""
    datetime: fields.DateTime | None = None
    """Seconds between two moments, which are included."""
    spread: fields.Spread | None = None
    """How numbers of integer or row are distributed. Default: uniform."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return forms.exactly_one([key for key in cls.sources if key in cls.keys()])

    @property
    def kinds(self) -> list[str]:
        """The keys that are set."""
        return [kind for kind in _KINDS if kind in self.model_fields_set]

    def unfit(self) -> Iterator[Fault]:
        for kind in self.kinds[:1]:
            said = say("{key} says already what its values are", key=kind)
            yield from self.misplaced(self.kinds[1:], say("leave one of the two out"), said)
            if kind not in ("integer", "row"):
                said = say("{key} has no spread", key=kind)
                yield from self.misplaced(["spread"], say("leave it out"), said)
        if not self.kinds:
            yield (), say("nothing says what its values are"), write(self.example)

    def value(self, limits: tuple[int, int] | None) -> ColumnValue:
        """The value; `limits` apply to a number."""
        if limits is None:
            found: ColumnValue = getattr(self, self.kinds[0])
            return found
        low, high = limits
        if isinstance(self.spread, tuple):
            return HotValue(low=low, high=high, percent=self.spread[0], hits=self.spread[1])
        return IntegerValue(low=low, high=high, spread=self.spread or Uniform())


class _Column(_Values):
    example: ClassVar[str] = "sequence = true, integer = [1, 100], text = 10 or constant = 0"
    type: fields.ColumnType = Field(examples=['type = "INT NOT NULL"'])
    """The type as CREATE TABLE takes it."""
    sequence: fields.RowNumber | None = None
    """The column counts the rows from 1; exactly one does."""
    row: fields.NoRow | None = None
    """Only parameters choose rows."""
    cycle: fields.Cycle | None = None
    """Rows go through the list in order, again and again."""
    step: fields.Whole = Field(0, examples=["step = 4"])
    """Added to the cycle's numbers after each round."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {**super().together(), "dependencies": {"step": ["cycle"]}}

    def unfit(self) -> Iterator[Fault]:
        yield from super().unfit()
        if self.cycle is None:
            said = say("there is no cycle whose numbers it could be added to")
            yield from self.misplaced(["step"], write("cycle = [1, 2, 3], step = 3"), said)
        elif self.step and not all(isinstance(one, int) for one in self.cycle):
            said = say("a step is added to whole numbers, and the cycle has others")
            yield ("step",), said, say("leave it out")

    def value(self, limits: tuple[int, int] | None) -> ColumnValue:
        if self.cycle is not None:
            return CycleValue(values=self.cycle, step=self.step)
        return super().value(limits)


class _Parameter(_Values):
    example: ClassVar[str] = 'integer = [1, 100], row = "table", text = 10 or from = "other"'
    sources: ClassVar[tuple[str, ...]] = (*_KINDS, "from")
    row: fields.Name | None = None
    """A number from 1 to the number of this table's rows."""
    sequence: fields.Sequence | None = None
    """Counts from this number; no two users of a step draw the same one."""
    after: fields.Name | None = Field(None, alias="from")
    """Another parameter, to which add is added."""
    add: fields.Whole = Field(0, examples=["add = 5"])
    """The number that is added to from."""
    per: Per = "event"
    """Drawn once per event, or for each statement that names it."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {**super().together(), "dependencies": {"add": ["from"]}}

    def unfit(self) -> Iterator[Fault]:
        if self.after:
            said = say("{key} says already what its values are", key="from")
            yield from self.misplaced(self.kinds, say("leave one of the two out"), said)
            return
        yield from super().unfit()
        yield from self.misplaced(
            ["add"], say('write from = "other" next to it'), say("there is nothing to add to")
        )


class _Table(Written):
    columns: dict[fields.Name, _Column] = Field(
        min_length=1, examples=['columns.id = { type = "INT NOT NULL", sequence = true }']
    )
    """The columns, in order."""
    rows: fields.RowsLoaded = 0
    """The number of rows that are loaded; 0: the table starts empty."""
    copies: int = Field(0, ge=1, le=1_000, examples=["copies = 8"])
    """That many tables with numbers after their names."""
    primary_key: fields.Names | None = None
    """The columns of the primary key. Default: the one that counts the rows."""
    indexes: list[fields.Names] = Field([], examples=['indexes = [["k"], ["shop", "price"]]'])
    """The columns of each further index."""

    def unfit(self) -> Iterator[Fault]:
        numbers = [name for name, one in self.columns.items() if one.sequence]
        if len(numbers) != 1:
            said = say("{number} columns count the rows, and exactly one must", number=len(numbers))
            yield ("columns",), said, say("write sequence = true for one column, such as an id")
        keys = [("primary_key", each) for each in self.primary_key or ()]
        for where, each in keys + [("indexes", each) for index in self.indexes for each in index]:
            if each not in self.columns:
                known = Joined(self.columns)
                said = say("there is no column {name}", name=each)
                yield (where,), said, say("there are {known}", known=known)

    def made(self, name: str, read: Callable[[str], str]) -> Table:
        """The table of this name; `read` gives names as a server reads those in statements."""
        numbers = [each for each, one in self.columns.items() if one.sequence]
        return Table(
            name=read(name),
            rows=self.rows,
            copies=self.copies,
            columns=tuple(
                Column(name=read(each), type=one.type, value=one.value(one.integer))
                for each, one in self.columns.items()
            ),
            primary_key=tuple(map(read, self.primary_key or numbers[:1])),
            indexes=tuple(tuple(map(read, index)) for index in self.indexes),
        )


class _Statement(Written):
    sql: fields.Sql = Field(examples=['sql = "SELECT …"'])
    """The statement; :name is a parameter, {name} one copy of a table."""
    read: fields.Names = ()
    """Parameters that get the columns of the first row."""
    repeat: int = Field(1, ge=1, le=1_000_000, examples=["repeat = 10"])
    """How often it is sent in a row."""
    rows: fields.RowsExpected | None = None
    """How many rows it must return or change: a number, or [least, most]."""
    same_copy: bool = False
    """Whether it uses the same copy as the statement before it."""


_Statements = list[
    Annotated[
        _Statement,
        BeforeValidator(lambda given: {"sql": given} if isinstance(given, str) else given),
        basic.OrForm(forms.TEXT),
    ]
]
"""Each is a text, or a table with further keys."""


class _Transaction(Written):
    weight: int = Field(1, ge=1, le=1_000_000, examples=["weight = 9"])
    """How often it is drawn, relative to the others' weights."""
    think_s: fields.ThinkS = Field(0.0, alias="think")
    """The time after it, in a closed loop; at most an hour."""
    autocommit: bool = False
    """Whether it is sent without BEGIN and COMMIT."""
    parameters: dict[fields.Name, _Parameter] = {}
    """The values that its statements name."""
    statements: _Statements = Field(min_length=1, examples=['statements = ["SELECT …"]'])
    """The statements, in order: texts, or tables with further keys."""


class _File(Written):
    name: fields.Name | None = None
    """The workload's name. Default: the file's name."""
    dialect: fields.Families | None = None
    """The families of servers that the file is for. Default: those that take its statements."""
    about: basic.Text = ""
    """What the workload does, in a line."""
    table: dict[fields.Name, _Table] = {}
    """The tables that prepare creates and loads."""
    transaction: dict[fields.Name, _Transaction] = Field({}, json_schema_extra={"minProperties": 1})
    """The transactions; each event is one of them."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {"required": ["transaction"]}

    def unfit(self) -> Iterator[Fault]:
        if not self.transaction:
            example = say('write [transaction.buy] and statements = ["SELECT …"]')
            yield ("transaction",), say("no transaction"), example


class _Maker:
    """Builds a transaction from its table in the file, and reports what does not fit together."""

    def __init__(self, name: str, written: _Transaction, file: _File, faults: Problems) -> None:
        self._name = name
        self._written = written
        self._drawn = written.parameters
        self._tables = file.table
        self._faults = faults
        self._reads = self._read_names()
        order = self._in_order()
        self._places = {each: place for place, each in enumerate(order)}

    def made(self, dialect: Dialect) -> tuple[Transaction, list[StatementEffect]]:
        """The transaction, and the effect of each of its statements."""
        written = self._written
        statements = tuple(self._statement(at, one) for at, one in enumerate(written.statements))
        parameters = tuple(map(self._placed, self._places))
        self._check_use()
        effects = [
            StatementEffect(
                transaction=self._name, number=at, effect=dialect.effect_of(as_sent(one.sql))
            )
            for at, one in enumerate(written.statements, 1)
        ]
        reads = all(one.effect.only_reads for one in effects)
        found = Transaction(
            name=self._name,
            weight=written.weight,
            think_s=written.think_s,
            autocommit=written.autocommit,
            read_only=not written.autocommit and reads,
            parameters=parameters,
            statements=statements,
        )
        return found, effects

    def _wrong(self, path: KeyPath, what: Message, write: Message) -> None:
        self._faults.add(("transaction", self._name, *path), what, write)

    def _read_names(self) -> list[str]:
        """The names that statements read, each once and in the order of the file."""
        found: dict[str, None] = {}
        for at, one in enumerate(self._written.statements):
            for name in one.read:
                if name in self._drawn:
                    said = say("{name} is a parameter that is drawn", name=name)
                    hint = say("give what is read a name of its own")
                    self._wrong(("statements", at, "read"), said, hint)
                found[name] = None
        return [name for name in found if name not in self._drawn]

    def _in_order(self) -> list[str]:
        """All names, each after the one that it is derived from; reports cycles as faults."""
        order = dict.fromkeys(self._reads)
        for name in self._drawn:
            chain: dict[str, None] = {}
            current: str | None = name
            while current is not None and current in self._drawn and current not in order:
                if current in chain:
                    links = [*chain, current]
                    circle = " <- ".join(links[links.index(current) :])
                    said = say("it depends on itself: {circle}", circle=circle)
                    self._wrong(("parameters", name, "from"), said, say("draw one of them"))
                    break
                chain[current] = None
                current = self._drawn[current].after
            order |= dict.fromkeys(reversed(chain))
        return list(order)

    def _placed(self, name: str) -> Parameter:
        if name in self._reads:
            return Parameter(name=name, value=ReadValue())
        one = self._drawn[name]
        value: Value
        if one.after is None:
            value = one.value(self._limits(name, one))
        else:
            if not self._is_whole(one.after):
                said = say("{name} is not a whole number that is drawn", name=one.after)
                whole = [each for each, other in self._drawn.items() if not other.after]
                known = list(filter(self._is_whole, whole))
                self._wrong(("parameters", name, "from"), said, _there_are(known))
            value = OffsetValue(of=self._places.get(one.after, 0), add=one.add)
        return Parameter(name=name, value=value, per=one.per)

    def _is_whole(self, name: str) -> bool:
        one = self._drawn.get(name)
        return one is not None and (bool(one.after) or one.kinds[0] in _WHOLE)

    def _limits(self, name: str, one: _Parameter) -> tuple[int, int] | None:
        """The limits of a number; those of a row are 1 and its table's number of rows."""
        if one.row is None:
            return one.integer
        table = self._tables.get(one.row)
        if table and table.rows:
            return 1, table.rows
        said = (
            say("{table} starts without rows", table=one.row)
            if table
            else say("there is no table {table}", table=one.row)
        )
        known = [each for each, other in self._tables.items() if other.rows]
        hint = (
            say("tables with rows: {known}", known=Joined(known))
            if known
            else say("no table has rows")
        )
        self._wrong(("parameters", name, "row"), said, hint)
        return 1, 1

    def _statement(self, at: int, written: _Statement) -> Statement:
        before, path = self._written.statements[:at], ("statements", at)
        later = set(self._reads) - {name for one in before for name in one.read}
        pieces: list[Piece] = []
        for part in written.sql:
            match part:
                case Text(text):
                    pieces.append(TextPiece(text=text))
                case Named(name) if name in self._places and name not in later:
                    pieces.append(ParameterPiece(parameter=self._places[name]))
                case Named(name):
                    said = say("there is no parameter :{name}", name=name)
                    if name in self._places:
                        said = say("no earlier statement reads :{name}", name=name)
                    known = [f":{each}" for each in self._places]
                    self._wrong((*path, "sql"), said, _there_are(known))
                case CopyOf(table):
                    pieces += [TextPiece(text=table), "copy"]
        if written.same_copy and not any(_has_copies(one) for one in before):
            said = say("no earlier statement has a copy")
            self._wrong((*path, "same_copy"), said, say("leave it out"))
        return Statement(
            pieces=tuple(pieces),
            repeat=written.repeat,
            copies=self._copies(written, (*path, "sql")),
            same_copy=written.same_copy,
            rows=written.rows,
            reads=tuple(self._places[name] for name in written.read),
        )

    def _copies(self, written: _Statement, path: KeyPath) -> int:
        """The number of copies of its tables, which must be the same for all that it names."""
        known = {name: table.copies for name, table in self._tables.items() if table.copies}
        named = [part.table for part in written.sql if isinstance(part, CopyOf)]
        for table in named:
            if table not in known:
                said = say(
                    "{table} is not a table of the file that has copies", table=f"{{{table}}}"
                )
                hint = say(
                    "{known}; for a table without copies write {table}",
                    known=_there_are(list(known)),
                    table=table,
                )
                self._wrong(path, said, hint)
        copies = dict.fromkeys(known[table] for table in named if table in known)
        if len(copies) > 1:
            said = say("its tables have different numbers of copies")
            self._wrong(path, said, say("write copies = the same number for both"))
        return next(reversed(copies), 0)

    def _check_use(self) -> None:
        """Report names that no statement uses, which are most often mistakes."""
        used = {
            part.name
            for one in self._written.statements
            for part in one.sql
            if isinstance(part, Named)
        }
        used |= {one.after for one in self._drawn.values() if one.after}
        for name in self._drawn:
            if name not in used and not self._faults.found:
                hint = say("write :{name} in one, or leave it out", name=name)
                self._wrong(("parameters", name), say("no statement uses it"), hint)


def _there_are(known: Sequence[str]) -> Message:
    return say("there are {known}", known=Joined(known)) if known else say("there are none")


def _has_copies(one: _Statement) -> bool:
    return any(isinstance(part, CopyOf) for part in one.sql)
