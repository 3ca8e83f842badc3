"""The shape of a statement: the statement without its literals.

Statements share a shape if they differ only in literals, in the number of rows or listed values, in
comments, blanks, backticks or the case of keywords, just as a server gives them one digest
(https://dev.mysql.com/doc/refman/8.4/en/performance-schema-statement-digests.html). Tables whose
names differ only in a number at their end (`sbtest1`, `sbtest2`) share a shape too; the number is
kept next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from loadstone.model.message import say
from loadstone.mysql.named_tables import tables_named, with_number, without_numbers
from loadstone.mysql.sql_keywords import BETWEEN_THEM, KEEP_COLUMN, KEYWORDS, TABLE_FOLLOWS
from loadstone.mysql.tokens import NotSql, Token, meaning_of, name_of, tokens_of

ValueKind = Literal["int", "decimal", "float", "text", "bytes", "null", "flag", "unknown"]

_PREFIXES = ("DATE", "TIME", "TIMESTAMP")
_LITERALS = ("number", "text", "bytes", "mark")
_FLAGS = ("TRUE", "FALSE")
_ARITHMETIC = ("+", "-", "*", "/", "%")
_LONGEST_INT = 19
"""Digits of the longest 64-bit whole number; a server reads a longer one as a decimal."""


class Value(NamedTuple):
    """A literal."""

    kind: ValueKind
    value: int | Decimal | str | None
    """The value; for `bytes` their number, for `null` and `unknown` `None`."""

    written: str


class Hole(NamedTuple):
    """The place of a literal in a shape."""

    column: str | None
    """The column that it is compared with or assigned to, as far as the text shows."""

    table: str | None
    """The statement's first table."""

    function: str = ""
    """The function, clause or operator that takes it, in capitals; empty where there is none."""


class Number(NamedTuple):
    """The place of the number at the end of a table's name."""


class Several(NamedTuple):
    """Pieces repeated with commas in between: rows, or the values of an IN list."""

    pieces: tuple[str | Hole | Number, ...]


Piece = str | Hole | Number | Several


@dataclass(frozen=True)
class Shape:
    """A statement without its literals."""

    key: str
    """A key that all statements of this shape share."""

    pieces: tuple[Piece, ...]
    """The pieces as the first statement had them."""

    tables: tuple[str, ...]
    """The tables in the order in which they are named, without their numbers."""

    @property
    def holes(self) -> tuple[Hole, ...]:
        """All holes, in their order."""
        found: list[Hole] = []
        for piece in self.pieces:
            inner = piece.pieces if isinstance(piece, Several) else (piece,)
            found += [one for one in inner if isinstance(one, Hole)]
        return tuple(found)

    def of_tables(self, number: int) -> Shape:
        """The shape as statements on the tables with this number have it."""
        return replace(self, pieces=tuple(_numbered(piece, number) for piece in self.pieces))


def _numbered(piece: Piece, number: int) -> Piece:
    match piece:
        case Several(inner):
            return Several(tuple(_of_table(one, number) for one in inner))
        case _:
            return _of_table(piece, number)


def _of_table(piece: str | Hole | Number, number: int) -> str | Hole | Number:
    if isinstance(piece, Hole) and piece.table is not None:
        return piece._replace(table=with_number(piece.table, number))
    return piece


@dataclass(frozen=True)
class Sentence:
    """A statement: its shape and its literals."""

    shape: Shape
    values: tuple[tuple[Value, ...], ...]
    """The values of each hole; several where the hole is in a repeated part."""

    number: int | None
    """The number at the end of its tables' names."""


@dataclass(frozen=True)
class Frame:
    """What statements have in common if their tokens differ only in literals."""

    shape: Shape
    places: tuple[tuple[int, ...], ...]
    """The indexes of the tokens that are each hole's literals."""

    number: int | None

    def fill(self, tokens: Sequence[Token]) -> Sentence:
        """The statement of this frame that has these merged tokens."""
        values = tuple(tuple(_value(tokens[at]) for at in places) for places in self.places)
        return Sentence(self.shape, values, self.number)


def sentence_of(sql: str) -> Sentence:
    """Take a statement apart.

    Raises:
        NotSql: a literal, a name or a comment has no end, or the text is empty.
    """
    tokens = merged(tokens_of(sql))
    return frame_of(tokens).fill(tokens)


def frame_of(tokens: Sequence[Token]) -> Frame:
    """The frame of a statement's merged tokens, without the literals.

    Raises:
        NotSql: there is no statement, or more than one.
    """
    if not tokens:
        raise NotSql(say("there is no statement"))
    if any(token.text == ";" for token in tokens):
        raise NotSql(say("there is more than one statement"))
    return _Reader(tokens).frame()


def skeleton_of(tokens: Sequence[Token]) -> tuple[str, ...]:
    """A key shared by merged tokens that differ only in literals, which have the same frame."""
    return tuple(token.kind if token.kind in _LITERALS else token.text for token in tokens)


def merged(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with signs merged into their numbers and adjacent texts joined.

    Prefixes of texts and semicolons at the end are removed.
    """
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else None
        if token.kind == "text" and last and last.kind == "text":
            found[-1] = Token("text", _quoted(meaning_of(last.text) + meaning_of(token.text)), True)
        elif token.kind == "text" and _is_prefix(found):
            found[-1] = token._replace(gap=found[-1].gap)
        elif token.kind == "number" and last and last.text == "-" and _is_sign(found):
            found[-1] = Token("number", f"-{token.text}", last.gap)
        else:
            found.append(token)
    while found and found[-1].text == ";":
        found.pop()
    return found


def _quoted(meaning: str) -> str:
    escaped = meaning.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _is_prefix(found: Sequence[Token]) -> bool:
    """Whether the last token is DATE or the like at the start of a value."""
    if not found or not _is_temporal(found[-1]):
        return False
    return len(found) < 2 or not (found[-2].kind in _LITERALS or _is_temporal(found[-2]))


def _is_temporal(token: Token) -> bool:
    return token.kind == "word" and token.text.upper() in _PREFIXES


def _is_sign(found: Sequence[Token]) -> bool:
    """Whether the last token is a unary minus."""
    if len(found) < 2:
        return True
    before = found[-2]
    if before.kind == "word":
        return before.text.upper() in KEYWORDS
    return before.kind == "sign" and before.text != ")"


@dataclass
class _Place:
    """What is known of the current place while a statement is read."""

    column: str | None = None
    function: str = ""
    table: str | None = None
    in_table: bool = False
    """The name of a table is expected next."""


@dataclass
class _Out:
    """The pieces of a shape and the parts of its key, as they are collected."""

    pieces: list[str | Hole | Number | Several] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    places: list[tuple[int, ...]] = field(default_factory=list)

    def text(self, text: str, gap: bool, key: str) -> None:
        blank = " " if gap and self.pieces else ""
        if self.pieces and isinstance(self.pieces[-1], str):
            self.pieces[-1] += blank + text
        else:
            self.pieces.append(blank + text)
        self.key.append(key)


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._place = _Place()
        self._tables = [table.name for table in tables_named(tokens)]
        self._folded, self._number = without_numbers(self._tables)
        self._columns: tuple[str, ...] = ()

    def frame(self) -> Frame:
        out = _Out()
        while self._at < len(self._tokens):
            self._one(out)
        tables = tuple(dict.fromkeys(self._folded.get(name, name) for name in self._tables))
        shape = Shape(" ".join(out.key), tuple(out.pieces), tables)
        return Frame(shape, tuple(out.places), self._number)

    def _one(self, out: _Out) -> None:
        token = self._tokens[self._at]
        word = token.text.upper() if token.kind == "word" else ""
        if word in ("VALUES", "VALUE") and self._next_is("("):
            self._plain(out, token)
            self._rows(out)
        elif word == "IN" and self._is_list(self._at + 1):
            self._plain(out, token)
            self._listed(out)
        elif self._is_literal(self._at):
            self._literal(out, token)
        else:
            self._plain(out, token)

    def _next_is(self, text: str) -> bool:
        return self._at + 1 < len(self._tokens) and self._tokens[self._at + 1].text == text

    def _is_literal(self, at: int) -> bool:
        token = self._tokens[at]
        if token.kind in _LITERALS:
            return True
        if token.kind != "word":
            return False
        word = token.text.upper()
        before = self._tokens[at - 1].text.upper() if at else ""
        return (word == "NULL" or word in _FLAGS) and before not in ("IS", "NOT", "DEFAULT")

    def _literal(self, out: _Out, token: Token) -> None:
        place = self._place
        before = self._tokens[self._at - 1].text if self._at else ""
        function = before if before in _ARITHMETIC else place.function
        if token.gap and out.pieces:
            out.pieces.append(" ")
        out.pieces.append(Hole(place.column, self._first_table(), function))
        out.key.append("?")
        out.places.append((self._at,))
        self._at += 1

    def _first_table(self) -> str | None:
        return self._tables[0] if self._tables else None

    def _plain(self, out: _Out, token: Token) -> None:
        self._see(token)
        name = name_of(token)
        if token.kind in ("word", "name") and name in self._folded:
            mark = token.text[0] if token.kind == "name" else ""
            out.text(f"{mark}{self._folded[name]}", token.gap, f"{self._folded[name]}#")
            out.pieces.append(Number())
            if mark:
                out.pieces.append(mark)
        else:
            out.text(token.text, token.gap, _key(token))
        self._at += 1

    def _see(self, token: Token) -> None:
        """Keep what a token shows about the values after it."""
        place = self._place
        before = self._tokens[self._at - 1] if self._at else None
        if token.kind == "name" or (token.kind == "word" and token.text.upper() not in KEYWORDS):
            if before and before.text.upper() in ("INTO",) or place.in_table:
                self._columns = self._columns_at(self._at + 1)
                place.in_table = self._next_is(".")
            place.column = None if self._next_is("(") else name_of(token)
            place.function = name_of(token).upper() if self._next_is("(") else ""
        elif token.kind == "word":
            word = token.text.upper()
            place.in_table = word in TABLE_FOLLOWS or (place.in_table and word in BETWEEN_THEM)
            if word not in KEEP_COLUMN:
                place.column = None
                place.function = word if word in ("LIMIT", "OFFSET", "INTERVAL") else ""
        elif token.text in (",", ")") and not place.function:
            place.column = None

    def _columns_at(self, at: int) -> tuple[str, ...]:
        """The names in the parentheses that start at `at`; none if they hold anything else."""
        tokens = self._tokens
        if at >= len(tokens) or tokens[at].text != "(":
            return ()
        found = []
        for place in range(at + 1, len(tokens) - 1, 2):
            if tokens[place].kind not in ("word", "name"):
                return ()
            found.append(name_of(tokens[place]))
            if tokens[place + 1].text == ")":
                return tuple(found)
            if tokens[place + 1].text != ",":
                return ()
        return ()

    def _is_list(self, at: int) -> bool:
        """Whether a list of nothing but literals starts at `at`."""
        if at >= len(self._tokens) or self._tokens[at].text != "(":
            return False
        at += 1
        while at + 1 < len(self._tokens):
            is_value = self._is_literal(at) or self._tokens[at].text == "..."
            if not is_value or self._tokens[at + 1].text not in (",", ")"):
                return False
            if self._tokens[at + 1].text == ")":
                return True
            at += 2
        return False

    def _listed(self, out: _Out) -> None:
        """Read a list, `(1, 2, 3)` or `(...)` as digests write it."""
        place = self._place
        out.text("(", self._tokens[self._at].gap, "(")
        listed = []
        self._at += 1
        while self._tokens[self._at].text != ")":
            text = self._tokens[self._at].text
            if text != ",":
                # Digests have dots for two values and more, and a mark for one.
                listed += [self._at] * (2 if text == "..." else 1)
            self._at += 1
        hole = Hole(place.column, self._first_table(), place.function)
        out.pieces.append(Several((hole,)))
        out.places.append(tuple(listed))
        out.key.append("...")
        out.text(")", False, ")")
        self._at += 1

    def _rows(self, out: _Out) -> None:
        """Read rows, `(1, 'a'), (2, 'b')`, as one repeated row if all have the same shape."""
        rows = [self._row()]
        while self._at + 1 < len(self._tokens) and self._tokens[self._at].text == ",":
            if self._tokens[self._at + 1].text != "(":
                break
            mark = self._at
            self._at += 1
            row = self._row()
            if row.key != rows[0].key:
                self._at = mark
                break
            rows.append(row)
        first = rows[0]
        if not first.places:
            out.pieces += [" ", *first.pieces]
            out.key += first.key
            return
        # The blank before it is not part of what is repeated.
        pieces = tuple(piece for piece in first.pieces if not isinstance(piece, Several))
        out.pieces += [" ", Several(pieces)]
        out.key += [*first.key, "/* rows */"]
        columns = zip(*(row.places for row in rows), strict=True)
        out.places += [tuple(one for each in column for one in each) for column in columns]

    def _row(self) -> _Out:
        """Read a row between parentheses; literals belong to the columns in order."""
        out = _Out()
        depth, column = 0, 0
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            depth += (token.text == "(") - (token.text == ")")
            if token.text == "," and depth == 1:
                column += 1
            if self._is_literal(self._at):
                place = self._place
                if depth == 1 and column < len(self._columns):
                    place.column = self._columns[column]
                self._literal(out, token)
            elif token.text == "..." and depth == 1:
                self._dots(out)
            else:
                self._plain(out, token)
            if depth == 0:
                break
        return out

    def _dots(self, out: _Out) -> None:
        """Read `(...)` of a digest: as many values as there are columns."""
        for place, column in enumerate(self._columns or ("value",)):
            if place:
                out.text(", ", False, ",")
            out.pieces.append(Hole(column, self._first_table()))
            out.key.append("?")
            # The dots are not a literal: the values are unknown.
            out.places.append((self._at,))
        self._at += 1


def _key(token: Token) -> str:
    if token.kind == "name":
        return name_of(token)
    if token.kind == "word" and token.text.upper() in KEYWORDS:
        return token.text.upper()
    return token.text


def _value(token: Token) -> Value:
    written = token.text
    match token.kind:
        case "number":
            return _number(written)
        case "text":
            meaning = meaning_of(written)
            if any("\ud800" <= sign <= "\udfff" for sign in meaning):
                return Value("bytes", len(meaning), written)
            return Value("text", meaning, written)
        case "bytes":
            digits = written[2:].removesuffix("'")
            each = 2 if "x" in written[:2].lower() else 8
            return Value("bytes", -(-len(digits) // each), written)
        case "word":
            word = written.upper()
            return Value("null", None, "NULL") if word == "NULL" else Value("flag", word, word)
    return Value("unknown", None, "?")


def _number(written: str) -> Value:
    digits = written.lstrip("-")
    if digits.isdecimal() and len(digits) <= _LONGEST_INT and -(2**63) <= int(written) < 2**63:
        return Value("int", int(written), written)
    try:
        value = Decimal(written)
    except InvalidOperation:
        return Value("unknown", None, written)
    return Value("float" if "e" in written.lower() else "decimal", value, written)
