"""SQL templates: user-defined workloads and tables, in the form that the engine executes.

docs/templates.md describes the file, docs/engine.md the document that is made from these types.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from loadstone.model.distribution import Distribution, Uniform
from loadstone.model.effect import StatementEffect
from loadstone.model.error_codes import MYSQL
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message
from loadstone.model.with_messages import WithMessages

Scalar = str | int | float | None
"""A literal value in the file; `None` is NULL."""


class IntegerValue(Frozen):
    """A whole number from a range, including both ends."""

    kind: Literal["integer"] = "integer"
    low: int
    high: int
    spread: Distribution = Uniform()


class HotValue(Frozen):
    """A whole number from a range whose first part gets most of the draws."""

    kind: Literal["hot"] = "hot"
    low: int
    high: int
    percent: Annotated[float, Field(gt=0, lt=100)]
    """The share of the numbers that is hot, in percent."""

    hits: Annotated[float, Field(gt=0, lt=100)]
    """The share of draws that hot numbers get, in percent."""


class SequenceValue(Frozen):
    """For a column, the row's number; for a parameter, a sequence that no other user draws from."""

    kind: Literal["sequence"] = "sequence"
    start: int = 1


class UniqueValue(Frozen):
    """A positive number of 63 bits that is practically never drawn twice."""

    kind: Literal["unique"] = "unique"


class TextValue(Frozen):
    """A text of random letters and digits."""

    kind: Literal["text"] = "text"
    least: NonNegativeInt
    most: NonNegativeInt


class PatternValue(Frozen):
    """A text from a pattern, where `#` stands for a digit and `@` for a capital letter."""

    kind: Literal["pattern"] = "pattern"
    pattern: str


class ChoiceValue(Frozen):
    """One of several values, all equally likely."""

    kind: Literal["choice"] = "choice"
    values: tuple[Scalar, ...]


class CycleValue(Frozen):
    """A list that rows go through in order, again and again."""

    kind: Literal["cycle"] = "cycle"
    values: tuple[Scalar, ...]
    """Of the first rows, at least one."""

    step: int = 0
    """What is added after each round; only for whole numbers."""

    @property
    def whole(self) -> list[int]:
        """The values that are whole numbers."""
        return [one for one in self.values if isinstance(one, int)]

    def limits(self, rows: int) -> tuple[int, int] | None:
        """The least and the greatest whole number of this many rows; `None` if there is none."""
        numbers = self.whole
        if not numbers:
            return None
        added = self.step * (max(rows - 1, 0) // len(self.values))
        return min(numbers) + min(added, 0), max(numbers) + max(added, 0)


class ConstantValue(Frozen):
    """Always the same value."""

    kind: Literal["constant"] = "constant"
    value: Scalar


class DecimalValue(Frozen):
    """A decimal number; both ends of the range are in units of its last decimal place."""

    kind: Literal["decimal"] = "decimal"
    low: int
    high: int
    places: NonNegativeInt


class MomentValue(Frozen):
    """A day or a second from a range, in seconds since 1970 in UTC."""

    kind: Literal["moment"] = "moment"
    low: int
    high: int
    with_time: bool


class OffsetValue(Frozen):
    """Another parameter plus a number."""

    kind: Literal["offset"] = "offset"
    of: NonNegativeInt
    """The index of the other parameter, which must come before."""

    add: int


class ReadValue(Frozen):
    """A value that a statement reads."""

    kind: Literal["read"] = "read"


ColumnValue = Annotated[
    IntegerValue
    | HotValue
    | SequenceValue
    | UniqueValue
    | TextValue
    | PatternValue
    | ChoiceValue
    | CycleValue
    | ConstantValue
    | DecimalValue
    | MomentValue,
    Field(discriminator="kind"),
]
"""The values that columns of rows can have."""

Value = Annotated[ColumnValue | OffsetValue | ReadValue, Field(discriminator="kind")]

Per = Literal["event", "statement"]
"""How long a parameter keeps its value before it is drawn again."""


class Parameter(Frozen):
    """A named value."""

    name: str
    value: Value
    per: Per = "event"


class TextPiece(Frozen):
    """A literal part of a statement."""

    text: str


class ParameterPiece(Frozen):
    """A parameter of the transaction, by its index."""

    parameter: NonNegativeInt


Piece = TextPiece | ParameterPiece | Literal["copy"]
"""`copy`: the number of the table's copy."""


class Statement(Frozen):
    """One statement of a transaction."""

    pieces: tuple[Piece, ...]
    repeat: PositiveInt = 1
    copies: NonNegativeInt = 0
    """The number of copies of its tables; 0 if it names no table with copies."""

    same_copy: bool = False
    rows: tuple[NonNegativeInt, NonNegativeInt] | None = None
    """The fewest and the most rows that it may return or change."""

    reads: tuple[NonNegativeInt, ...] = ()
    """The indexes of the parameters that get the columns of its first row."""


class Transaction(Frozen):
    """One kind of event."""

    name: str
    weight: PositiveInt = 1
    think_s: NonNegativeFloat = 0.0
    autocommit: bool = False
    read_only: bool = False
    """All its statements only read as far as known, and the server is to enforce that."""

    parameters: tuple[Parameter, ...] = ()
    statements: tuple[Statement, ...]


class TemplateSpec(Frozen):
    """The work of the users of a template."""

    transactions: tuple[Transaction, ...]


class LoadedColumn(Frozen):
    """A column in the form that the engine loads."""

    name: str
    value: ColumnValue


class LoadedTable(Frozen):
    """A table in the form that the engine creates and loads."""

    name: str
    create: str
    indexes: tuple[str, ...] = ()
    rows: NonNegativeInt
    columns: tuple[LoadedColumn, ...]


class Notation(Frozen):
    """How a family's servers want the tables of a file to be written."""

    quote: str = "`"
    """The sign around names."""

    table_end: str = " ENGINE = {storage_engine}"
    """What ends CREATE TABLE."""

    def quoted(self, name: str) -> str:
        """A name, which only has letters, digits and underscores, as in SQL."""
        return f"{self.quote}{name}{self.quote}"

    def listed(self, names: tuple[str, ...]) -> str:
        """Names with commas between them, as in SQL."""
        return ", ".join(map(self.quoted, names))


class Column(Frozen):
    """A column of a table in the file."""

    name: str
    type: str
    """The type, in the syntax of CREATE TABLE."""

    value: ColumnValue


class Table(Frozen):
    """A table in the file."""

    name: str
    rows: NonNegativeInt
    copies: NonNegativeInt = 0
    """The number of copies, with numbered names; 0: a single table without a number."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all copies of the table."""
        if not self.copies:
            return (self.name,)
        return tuple(f"{self.name}{number}" for number in range(1, self.copies + 1))

    def loaded(self, storage_engine: str, notation: Notation) -> tuple[LoadedTable, ...]:
        """All its copies, in the engine's form."""
        end = notation.table_end.format(storage_engine=storage_engine)
        return tuple(self._loaded(name, end, notation) for name in self.names)

    def _loaded(self, name: str, end: str, notation: Notation) -> LoadedTable:
        quoted, listed = notation.quoted, notation.listed
        columns = [f"{quoted(column.name)} {column.type}" for column in self.columns]
        columns.append(f"PRIMARY KEY ({listed(self.primary_key)})")
        return LoadedTable(
            name=name,
            create=f"CREATE TABLE {quoted(name)} ({', '.join(columns)}){end}",
            indexes=tuple(
                f"CREATE INDEX {quoted(f'{name}_{number}')} ON {quoted(name)} ({listed(index)})"
                for number, index in enumerate(self.indexes, 1)
            ),
            rows=self.rows,
            columns=tuple(LoadedColumn(name=one.name, value=one.value) for one in self.columns),
        )


class Lack(WithMessages):
    """Why a file cannot be used with the servers of a family."""

    line: int
    """Its place in the file."""

    key: str
    what: Message
    write: Message
    """What to write instead."""


class Form(Frozen):
    """What a file means in the SQL of one family of servers."""

    family: str = MYSQL
    notation: Notation = Notation()
    tables: tuple[Table, ...]
    spec: TemplateSpec
    effects: tuple[StatementEffect, ...] = ()
    """The effect of each statement."""

    table_lines: dict[str, dict[str, int]] = {}
    """The lines of each table's columns, and under an empty name that of its number of rows."""


class Template(Form):
    """A template file, in the SQL of the first family that it is for."""

    name: str
    about: str = ""
    others: tuple[Form, ...] = ()
    """The same in the SQL of the other families that it is for."""

    lacks: dict[str, tuple[Lack, ...]] = {}
    """Why it is not for the servers of the other families."""

    lines: dict[str, tuple[int, ...]] = {}
    """The lines of each transaction's statements in the file."""

    beyond_ascii: int | None = None
    """The line of the first non-ASCII character that is sent to the server."""

    @property
    def writes(self) -> bool:
        """Whether any statement changes or locks rows, or may do anything."""
        return any(not one.effect.only_reads for one in self.effects)

    @property
    def not_held(self) -> tuple[StatementEffect, ...]:
        """The effects of statements in transactions where the server does not refuse writes."""
        held = {one.name for one in self.spec.transactions if one.read_only}
        return tuple(one for one in self.effects if one.transaction not in held)

    def loaded(self, storage_engine: str = "innodb") -> tuple[LoadedTable, ...]:
        """All tables, in the engine's form."""
        return tuple(
            one for table in self.tables for one in table.loaded(storage_engine, self.notation)
        )

    @property
    def names(self) -> frozenset[str]:
        """The names of its tables on the servers of all families."""
        forms = (self, *self.others)
        return frozenset(name for form in forms for table in form.tables for name in table.names)

    def form(self, family: str) -> Template | None:
        """The file in the SQL of that family; `None` if it is not for its servers."""
        if family == self.family:
            return self
        found = next((one for one in self.others if one.family == family), None)
        if found is None:
            return None
        own = Form(**{name: getattr(self, name) for name in Form.model_fields})
        rest = (own, *(one for one in self.others if one is not found))
        form = {name: getattr(found, name) for name in Form.model_fields}
        return self.model_copy(update={**form, "others": rest})
