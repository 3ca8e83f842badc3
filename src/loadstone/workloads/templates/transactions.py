"""Makes the transactions of a template out of what its file says."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.config.lines import Path as KeyPath
from loadstone.config.problems import Problems
from loadstone.model.effect import StatementEffect
from loadstone.model.message import Joined, Message, say
from loadstone.model.template import (
    OffsetValue,
    Parameter,
    ParameterPiece,
    Piece,
    ReadValue,
    Statement,
    TextPiece,
    Transaction,
    Value,
)
from loadstone.servers.dialect import Dialect
from loadstone.workloads.templates import keys
from loadstone.workloads.templates.sql import CopyOf, Named, Text, as_sent


class TransactionMaker:
    """Builds a transaction from its table in the file, and reports what does not fit together."""

    def __init__(
        self, name: str, written: keys.Transaction, file: keys.File, faults: Problems
    ) -> None:
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
        return one is not None and (bool(one.after) or one.kinds[0] in keys.WHOLE)

    def _limits(self, name: str, one: keys.Parameter) -> tuple[int, int] | None:
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

    def _statement(self, at: int, written: keys.Statement) -> Statement:
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

    def _copies(self, written: keys.Statement, path: KeyPath) -> int:
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


def _has_copies(one: keys.Statement) -> bool:
    return any(isinstance(part, CopyOf) for part in one.sql)
