"""The effect of a template's statement on a server, as far as its text shows it."""

from __future__ import annotations

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, plain
from loadstone.model.with_messages import WithMessages


class TableName(Frozen):
    """The name of a table in a statement."""

    schema_name: str | None = None
    """`None`: the connection's current schema."""

    name: str

    def __str__(self) -> str:
        """The name as in SQL, without backticks."""
        return f"{self.schema_name}.{self.name}" if self.schema_name else self.name


class Effect(WithMessages):
    """The effect of one statement; the defaults describe one that only reads."""

    writes: tuple[TableName, ...] = ()
    """Tables whose rows it changes or locks, and perhaps others that the statement names."""

    unclear: Message = plain("")
    """The part that may write to anything; empty if the whole statement is understood."""

    calls: tuple[str, ...] = ()
    """Names before a parenthesis, in lower case: functions, and SQL keywords."""

    names: tuple[str, ...] = ()
    """All words and names in lower case; a view that it reads is among them."""

    @property
    def only_reads(self) -> bool:
        """Whether it writes nothing, provided that no function it calls does."""
        return not self.writes and not self.unclear


class StatementEffect(Frozen):
    """The effect of a statement, with its place in the template."""

    transaction: str
    number: int
    """From 1."""

    effect: Effect

    def __str__(self) -> str:
        """The place, as in the reports of a template's problems."""
        return f"transaction.{self.transaction}.statements[{self.number}]"
