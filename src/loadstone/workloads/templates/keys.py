"""The keys of a template file, and what may stand together in each of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from loadstone.config import forms
from loadstone.config import kinds as basic
from loadstone.config.written import Fault, Written
from loadstone.model import template as model
from loadstone.model.distribution import Uniform
from loadstone.model.hints import write
from loadstone.model.message import Joined, say
from loadstone.model.template import (
    ColumnValue,
    CycleValue,
    HotValue,
    IntegerValue,
    Per,
)
from loadstone.workloads.templates import kinds as fields

WHOLE = ("integer", "row", "sequence")
_KINDS = (
    *WHOLE,
    "unique", "text", "pattern", "choice", "cycle", "constant", "decimal", "date", "datetime",
)  # fmt: skip


class Values(Written):
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
        """Exactly one of the sources is set."""
        return forms.exactly_one([key for key in cls.sources if key in cls.keys()])

    @property
    def kinds(self) -> list[str]:
        """The keys that are set."""
        return [kind for kind in _KINDS if kind in self.model_fields_set]

    def unfit(self) -> Iterator[Fault]:
        """Yield faults of values that have no source, several, or keys of another source."""
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


class Column(Values):
    """A column, and the values that its rows get."""

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
        """Those of all values; a step is only for a cycle."""
        return {**super().together(), "dependencies": {"step": ["cycle"]}}

    def unfit(self) -> Iterator[Fault]:
        """Yield those of all values, and those of a step."""
        yield from super().unfit()
        if self.cycle is None:
            said = say("there is no cycle whose numbers it could be added to")
            yield from self.misplaced(["step"], write("cycle = [1, 2, 3], step = 3"), said)
        elif self.step and not all(isinstance(one, int) for one in self.cycle):
            said = say("a step is added to whole numbers, and the cycle has others")
            yield ("step",), said, say("leave it out")

    def value(self, limits: tuple[int, int] | None) -> ColumnValue:
        """The value, where a cycle is one as well."""
        if self.cycle is not None:
            return CycleValue(values=self.cycle, step=self.step)
        return super().value(limits)


class Parameter(Values):
    """A parameter of a transaction, and how its values come about."""

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
        """Those of all values; add is only for from."""
        return {**super().together(), "dependencies": {"add": ["from"]}}

    def unfit(self) -> Iterator[Fault]:
        """Yield those of all values, and those of from and add."""
        if self.after:
            said = say("{key} says already what its values are", key="from")
            yield from self.misplaced(self.kinds, say("leave one of the two out"), said)
            return
        yield from super().unfit()
        yield from self.misplaced(
            ["add"], say('write from = "other" next to it'), say("there is nothing to add to")
        )


class Table(Written):
    """A table that prepare makes."""

    columns: dict[fields.Name, Column] = Field(
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
        """Yield faults of columns that count the rows, and of keys without a column."""
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

    def made(self, name: str, read: Callable[[str], str]) -> model.Table:
        """The table of this name; `read` gives names as a server reads those in statements."""
        numbers = [each for each, one in self.columns.items() if one.sequence]
        return model.Table(
            name=read(name),
            rows=self.rows,
            copies=self.copies,
            columns=tuple(
                model.Column(name=read(each), type=one.type, value=one.value(one.integer))
                for each, one in self.columns.items()
            ),
            primary_key=tuple(map(read, self.primary_key or numbers[:1])),
            indexes=tuple(tuple(map(read, index)) for index in self.indexes),
        )


class Statement(Written):
    """A statement of a transaction."""

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
        Statement,
        BeforeValidator(lambda given: {"sql": given} if isinstance(given, str) else given),
        basic.OrForm(forms.TEXT),
    ]
]
"""Each is a text, or a table with further keys."""


class Transaction(Written):
    """A transaction: one of the events."""

    weight: int = Field(1, ge=1, le=1_000_000, examples=["weight = 9"])
    """How often it is drawn, relative to the others' weights."""
    think_s: fields.ThinkS = Field(0.0, alias="think")
    """The time after it, in a closed loop; at most an hour."""
    autocommit: bool = False
    """Whether it is sent without BEGIN and COMMIT."""
    parameters: dict[fields.Name, Parameter] = {}
    """The values that its statements name."""
    statements: _Statements = Field(min_length=1, examples=['statements = ["SELECT …"]'])
    """The statements, in order: texts, or tables with further keys."""


class File(Written):
    """A whole template file."""

    name: fields.Name | None = None
    """The workload's name. Default: the file's name."""
    dialect: fields.Families | None = None
    """The families of servers that the file is for. Default: those that take its statements."""
    about: basic.Text = ""
    """What the workload does, in a line."""
    table: dict[fields.Name, Table] = {}
    """The tables that prepare creates and loads."""
    transaction: dict[fields.Name, Transaction] = Field({}, json_schema_extra={"minProperties": 1})
    """The transactions; each event is one of them."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        """A file has transactions."""
        return {"required": ["transaction"]}

    def unfit(self) -> Iterator[Fault]:
        """Yield the fault of a file without transactions."""
        if not self.transaction:
            example = say('write [transaction.buy] and statements = ["SELECT …"]')
            yield ("transaction",), say("no transaction"), example
