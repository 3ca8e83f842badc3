"""SQL templates: workloads and tables that a user wrote down, as the engine carries them out.

docs/templates.md has the file; docs/engine.md has the document that these types become.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from loadstone.model.distribution import Distribution, Uniform
from loadstone.model.effect import StatementEffect
from loadstone.model.frozen import Frozen

Scalar = str | int | float | None
"""A value that stands in the file; `None` is NULL."""


class IntegerValue(Frozen):
    """A whole number of a range, both ends included."""

    kind: Literal["integer"] = "integer"
    low: int
    high: int
    spread: Distribution = Uniform()


class HotValue(Frozen):
    """A whole number of a range whose first part gets most of the draws."""

    kind: Literal["hot"] = "hot"
    low: int
    high: int
    percent: Annotated[float, Field(gt=0, lt=100)]
    """How many of the numbers are hot."""

    hits: Annotated[float, Field(gt=0, lt=100)]
    """How many draws they get, in percent."""


class SequenceValue(Frozen):
    """A sequence: for a column the row's number, for a parameter one that no other user draws."""

    kind: Literal["sequence"] = "sequence"
    start: int = 1


class UniqueValue(Frozen):
    """A positive number of 63 bits that is not drawn twice, as far as can be seen."""

    kind: Literal["unique"] = "unique"


class TextValue(Frozen):
    """Letters and digits."""

    kind: Literal["text"] = "text"
    least: NonNegativeInt
    most: NonNegativeInt


class PatternValue(Frozen):
    """A text in which `#` is a digit and `@` a capital letter."""

    kind: Literal["pattern"] = "pattern"
    pattern: str


class ChoiceValue(Frozen):
    """One of some values, each as likely."""

    kind: Literal["choice"] = "choice"
    values: tuple[Scalar, ...]


class ConstantValue(Frozen):
    """Always the same."""

    kind: Literal["constant"] = "constant"
    value: Scalar


class DecimalValue(Frozen):
    """A number with digits behind the point; both ends are counted in its last place."""

    kind: Literal["decimal"] = "decimal"
    low: int
    high: int
    places: NonNegativeInt


class MomentValue(Frozen):
    """A day or a second between two, in seconds since 1970 in UTC."""

    kind: Literal["moment"] = "moment"
    low: int
    high: int
    with_time: bool


class OffsetValue(Frozen):
    """Another parameter and a number."""

    kind: Literal["offset"] = "offset"
    of: NonNegativeInt
    """The place of the other one, which stands before."""

    add: int


class ReadValue(Frozen):
    """What a statement reads."""

    kind: Literal["read"] = "read"


ColumnValue = Annotated[
    IntegerValue
    | HotValue
    | SequenceValue
    | UniqueValue
    | TextValue
    | PatternValue
    | ChoiceValue
    | ConstantValue
    | DecimalValue
    | MomentValue,
    Field(discriminator="kind"),
]
"""What rows are made of."""

Value = Annotated[ColumnValue | OffsetValue | ReadValue, Field(discriminator="kind")]

Per = Literal["event", "statement"]
"""How long a parameter stays before it is drawn anew."""


class Parameter(Frozen):
    """A value with a name."""

    name: str
    value: Value
    per: Per = "event"


class TextPiece(Frozen):
    """A part of a statement as it stands."""

    text: str


class ParameterPiece(Frozen):
    """A parameter of the transaction, by its place."""

    parameter: NonNegativeInt


Piece = TextPiece | ParameterPiece | Literal["copy"]
"""`copy`: the number of the table's copy."""


class Statement(Frozen):
    """One statement of a transaction."""

    pieces: tuple[Piece, ...]
    repeat: PositiveInt = 1
    copies: NonNegativeInt = 0
    """How many copies of its tables there are; 0 where it names none that has copies."""

    same_copy: bool = False
    rows: tuple[NonNegativeInt, NonNegativeInt] | None = None
    """The fewest and the most that it may return or change."""

    reads: tuple[NonNegativeInt, ...] = ()
    """Parameters that get the columns of its first row."""


class Transaction(Frozen):
    """One kind of event."""

    name: str
    weight: PositiveInt = 1
    think_s: NonNegativeFloat = 0.0
    autocommit: bool = False
    read_only: bool = False
    """All its statements claim to read, and the server is to hold it to that."""

    parameters: tuple[Parameter, ...] = ()
    statements: tuple[Statement, ...]


class TemplateSpec(Frozen):
    """What the users of a template do."""

    transactions: tuple[Transaction, ...]


class LoadedColumn(Frozen):
    """A column as the engine loads it."""

    name: str
    value: ColumnValue


class LoadedTable(Frozen):
    """A table as the engine makes and loads it."""

    name: str
    create: str
    indexes: tuple[str, ...] = ()
    rows: NonNegativeInt
    columns: tuple[LoadedColumn, ...]


class Column(Frozen):
    """A column of a table of the file."""

    name: str
    type: str
    """The type as CREATE TABLE takes it."""

    value: ColumnValue


class Table(Frozen):
    """A table of the file."""

    name: str
    rows: NonNegativeInt
    copies: NonNegativeInt = 0
    """How many there are, with numbers behind the name; 0: one, without a number."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all copies of the table."""
        if not self.copies:
            return (self.name,)
        return tuple(f"{self.name}{number}" for number in range(1, self.copies + 1))

    def loaded(self, storage_engine: str) -> tuple[LoadedTable, ...]:
        """All its copies, as the engine makes them."""
        return tuple(self._loaded(name, storage_engine) for name in self.names)

    def _loaded(self, name: str, storage_engine: str) -> LoadedTable:
        columns = [f"{_quoted(column.name)} {column.type}" for column in self.columns]
        columns.append(f"PRIMARY KEY ({_list(self.primary_key)})")
        return LoadedTable(
            name=name,
            create=f"CREATE TABLE {_quoted(name)} ({', '.join(columns)}) ENGINE = {storage_engine}",
            indexes=tuple(
                f"CREATE INDEX {_quoted(f'{name}_{number}')} ON {_quoted(name)} ({_list(index)})"
                for number, index in enumerate(self.indexes, 1)
            ),
            rows=self.rows,
            columns=tuple(LoadedColumn(name=one.name, value=one.value) for one in self.columns),
        )


class Template(Frozen):
    """A file."""

    name: str
    about: str = ""
    tables: tuple[Table, ...]
    spec: TemplateSpec
    effects: tuple[StatementEffect, ...] = ()
    """What each statement would do."""

    lines: dict[str, tuple[int, ...]] = {}
    """Lines of each transaction's statements in the file."""

    table_lines: dict[str, dict[str, int]] = {}
    """Lines of each table's columns, and under an empty name that of its number of rows."""

    beyond_ascii: int | None = None
    """Where the first letter beyond ASCII stands that is sent to the server."""

    @property
    def writes(self) -> bool:
        """Whether a statement changes rows, locks some, or may do anything."""
        return any(not one.effect.only_reads for one in self.effects)

    @property
    def not_held(self) -> tuple[StatementEffect, ...]:
        """What statements would do of whose transactions the server does not refuse writes."""
        held = {one.name for one in self.spec.transactions if one.read_only}
        return tuple(one for one in self.effects if one.transaction not in held)

    def loaded(self, storage_engine: str = "innodb") -> tuple[LoadedTable, ...]:
        """All tables, as the engine makes them."""
        return tuple(one for table in self.tables for one in table.loaded(storage_engine))


def _quoted(name: str) -> str:
    return f"`{name}`"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(_quoted(name) for name in names)
