"""What a statement of a template would do to a server, as far as its words say."""

from __future__ import annotations

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, plain
from loadstone.model.with_messages import WithMessages


class TableName(Frozen):
    """A table as a statement names it."""

    schema_name: str | None = None
    """`None`: the schema that the connection is in."""

    name: str

    def __str__(self) -> str:
        """The name as SQL without backticks has it."""
        return f"{self.schema_name}.{self.name}" if self.schema_name else self.name


class Effect(WithMessages):
    """What one statement would do; the defaults are those of one that only reads."""

    writes: tuple[TableName, ...] = ()
    """Tables whose rows it changes or locks, and perhaps more that stand beside them."""

    unclear: Message = plain("")
    """What in it may write to anything; empty where all of it is understood."""

    calls: tuple[str, ...] = ()
    """Names in small letters that stand before a parenthesis: functions, and words of SQL."""

    names: tuple[str, ...] = ()
    """All words and names in it, in small letters: if it reads a view, that is among them."""

    @property
    def only_reads(self) -> bool:
        """Whether it writes nothing, as long as no function that it calls does."""
        return not self.writes and not self.unclear


class StatementEffect(Frozen):
    """A statement's effect, with its place in the template."""

    transaction: str
    number: int
    """From 1."""

    effect: Effect

    def __str__(self) -> str:
        """The place as problems of a template's file name it."""
        return f"transaction.{self.transaction}.statements[{self.number}]"
