"""Builds a template from groups of transactions: its transactions, and the values they draw."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from loadstone.config.values import InvalidValue
from loadstone.model.message import Message, say
from loadstone.servers.dialect import Dialect
from loadstone.traffic.entries import ReadStats
from loadstone.traffic.group_transactions import Group, Pair, Place, Run
from loadstone.traffic.shapes import Hole, Number, Several, Shape
from loadstone.traffic.value_model import Constant, Drawn, Estimate, estimate, with_more
from loadstone.traffic.value_sketches import Sketch
from loadstone.workloads.templates.sql import CopyOf, Named, Text, parts_of

_MOST_NUMBERS = 256
"""The most numbered tables for which a transaction is repeated, one copy for each table."""

_SHORTEST_PAIRING = 10
"""Two values are treated as one if they agreed in at least this many transactions."""

_HEAVIEST = 1_000_000
_MOST_LISTED = 1_000
_DOTS = "..."
_LONGEST_NAME = 48
_NOT_PLAIN = re.compile(r"[^a-z0-9_]+")
_WRITES = ("UPDATE", "INSERT", "REPLACE")
_WORDS = re.compile(r"\w+|\*")
_FROM = re.compile(r"\bfrom\b")
_PERHAPS_READ = say(
    "whether it was computed from the row that the transaction read; the template draws it at"
    " random (`read` in docs/templates.md takes the row's)"
)
NOT_A_TEMPLATES = say("statements that a template cannot have")

Estimator = Callable[[Sketch, Hole, bool], Estimate]
"""Estimates what to draw in a place; the last argument: the values are those of new rows."""


@dataclass(frozen=True)
class DraftStatement:
    """A statement of the template file."""

    sql: str
    repeat: int = 1


@dataclass(frozen=True)
class DraftParameter:
    """A parameter of the template file."""

    name: str
    keys: dict[str, object]
    unknown: Message | None = None


@dataclass(frozen=True)
class DraftTransaction:
    """A transaction of the template file."""

    name: str
    weight: int
    explicit: bool
    count: int
    """How often the transaction occurred."""

    statements: tuple[DraftStatement, ...]
    parameters: tuple[DraftParameter, ...]


@dataclass(frozen=True)
class Draft:
    """The content of the template file."""

    transactions: tuple[DraftTransaction, ...]
    dialect: Dialect

    statements: int
    """The number of statements that the transactions represent."""

    left_statements: int
    """The number of statements in transactions that are too rare for the file."""


def by_value(sketch: Sketch, hole: Hole, inserts: bool) -> Estimate:
    """The estimator where values are known."""
    return estimate(sketch, hole, inserts=inserts)


def draft(
    groups: Iterable[Group],
    stats: ReadStats,
    dialect: Dialect,
    most: int,
    estimator: Estimator = by_value,
) -> Draft:
    """A draft of the most frequent transactions, at most `most` of them, in a dialect."""
    ordered = sorted(groups, key=lambda group: -group.count)
    names: set[str] = set()
    counted: list[tuple[int, DraftTransaction]] = []
    left = 0
    for group in ordered:
        sent = group.count * sum(run.repeat for run in group.runs)
        variants = _variants(group)
        if len(counted) + len(variants) > most:
            left += sent
            continue
        try:
            made = [
                _transaction(_Writing(group, estimator, dialect), one, names) for one in variants
            ]
        except InvalidValue as unfit:
            why = say("{kind}: {reason}", kind=NOT_A_TEMPLATES, reason=unfit.what)
            stats.left_out[why] += sent
            continue
        counted += [(one.count, one) for one in made]
    top = max((count for count, _ in counted), default=1)
    scale = min(1.0, _HEAVIEST / top)
    transactions = tuple(
        replace(one, weight=max(round(count * scale), 1)) for count, one in counted
    )
    statements = sum(
        one.count * sum(each.repeat for each in one.statements) for one in transactions
    )
    return Draft(transactions, dialect, statements, left)


@dataclass(frozen=True)
class _Variant:
    """A group whose numbered tables all have one number."""

    count: int
    numbers: tuple[int | None, ...]
    """The number of each run's tables; `None`: its tables have no number."""


def _variants(group: Group) -> list[_Variant]:
    """One variant for each number of the group's tables, or a single one without such tables.

    A template without tables of its own cannot draw a table. Which tables occurred together in a
    transaction is lost: a variant has all its statements on tables of one number, and each number
    is as frequent as it was in all varying statements together.
    """
    varying: Counter[int] = Counter()
    for run in group.runs:
        if len(run.numbers) > 1:
            varying += run.numbers
    fixed = tuple(next(iter(run.numbers), None) for run in group.runs)
    if not varying:
        return [_Variant(group.count, fixed)]
    common = varying.most_common(_MOST_NUMBERS)
    total = sum(times for _, times in common)
    counts = _shared_out(group.count, [times / total for _, times in common])
    return [
        _Variant(
            count,
            tuple(
                number if len(run.numbers) > 1 else alone
                for run, alone in zip(group.runs, fixed, strict=True)
            ),
        )
        for (number, _), count in zip(common, counts, strict=True)
        if count
    ]


def _shared_out(count: int, shares: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to the shares that add up to the count."""
    found = []
    before = 0.0
    for share in shares:
        found.append(round((before + share) * count) - round(before * count))
        before += share
    return found


@dataclass
class _Writing:
    """A transaction while it is written."""

    group: Group
    estimator: Estimator
    dialect: Dialect
    parameters: dict[str, DraftParameter] = field(default_factory=dict)
    by_place: dict[Place, str] = field(default_factory=dict)


def _transaction(writing: _Writing, variant: _Variant, names: set[str]) -> DraftTransaction:
    """Write a transaction.

    Raises:
        InvalidValue: a statement has something that a template cannot express.
    """
    group = writing.group
    statements = []
    for at, (run, number) in enumerate(zip(group.runs, variant.numbers, strict=True)):
        if number is not None:
            # What is known of a column is known of each table by itself.
            run = replace(run, shape=run.shape.of_tables(number))
        sql = _sql(writing, at, run, number)
        _check(sql, writing.parameters, writing.dialect)
        statements.append(DraftStatement(sql, run.repeat))
    name = _transaction_name(group, names)
    names.add(name)
    return DraftTransaction(
        name=name,
        weight=1,
        explicit=group.explicit,
        count=variant.count,
        statements=tuple(statements),
        parameters=tuple(writing.parameters.values()),
    )


def _check(sql: str, parameters: Iterable[str], dialect: Dialect) -> None:
    """Check that a template reads the statement as intended.

    Raises:
        InvalidValue: it does not.
    """
    try:
        sql.encode("utf-8")
    except UnicodeEncodeError:
        said = say("text outside of values that is not of the character set")
        raise InvalidValue(said, "") from None
    parts = parts_of(sql, dialect)
    named = {part.name for part in parts if isinstance(part, Named)}
    if not named <= set(parameters):
        raise InvalidValue(say("a colon before a word"), "")
    if any(isinstance(part, CopyOf) for part in parts):
        raise InvalidValue(say("braces"), "")
    if any(isinstance(part, Text) and _DOTS in part.text for part in parts):
        raise InvalidValue(say("values that a digest does not tell apart"), "")


def _sql(writing: _Writing, at: int, run: Run, number: int | None) -> str:
    """The statement's text, with parameter names in place of its literals."""
    text = ""
    hole = 0
    for piece in run.shape.pieces:
        if isinstance(piece, Several):
            made, hole = _several(writing, (at, hole), run, piece, number)
            text += made
        elif isinstance(piece, Hole):
            text += _value(writing, (at, hole), run, piece)
            hole += 1
        else:
            text += _text_of(piece, number)
    return text


def _text_of(piece: str | Number, number: int | None) -> str:
    if isinstance(piece, str):
        return piece
    return "" if number is None else str(number)


def _several(
    writing: _Writing, place: Place, run: Run, piece: Several, number: int | None
) -> tuple[str, int]:
    """The text of rows or a list, at their most frequent size, and the index of the next hole."""
    size = min(run.sizes.most_common(1)[0][0], _MOST_LISTED)
    at, first = place
    listed = []
    hole = first
    for row in range(size):
        text = ""
        hole = first
        for inner in piece.pieces:
            if isinstance(inner, Hole):
                place = (at, hole)
                if run.sizes.keys() == {1}:
                    text += _value(writing, place, run, inner)
                else:
                    text += _new_value(writing, place, run, inner, is_told=row == 0)
                hole += 1
            else:
                text += _text_of(inner, number)
        listed.append(text)
    return ", ".join(listed), hole


def _value(writing: _Writing, place: Place, run: Run, hole: Hole) -> str:
    """The text for a value: a constant, a parameter that was drawn before, or a new parameter."""
    found = writing.estimator(run.sketches[place[1]], hole, _inserts(run))
    if isinstance(found, Constant):
        return found.written
    for (later, before), pair in writing.group.pairs.items():
        if later == place and pair.seen >= _SHORTEST_PAIRING and before in writing.by_place:
            if name := _from_before(writing, before, later, pair):
                return f":{name}"
    return _drawn(writing, place, run, hole, found)


def _from_before(writing: _Writing, before: Place, later: Place, pair: Pair) -> str | None:
    """The earlier parameter or one derived from it; `None` where the value has changed since."""
    runs = writing.group.runs
    if before[0] != later[0] and before[1] in runs[before[0]].varies:
        return None
    name = writing.by_place[before]
    if not pair.add:
        writing.by_place[later] = name
        return name
    base = writing.parameters[name]
    if not {"integer", "sequence", "unique", "from"} & base.keys.keys():
        return None
    hole = runs[later[0]].shape.holes[later[1]]
    own = _parameter_name(hole, writing.parameters)
    writing.parameters[own] = DraftParameter(own, {"from": name, "add": pair.add})
    writing.by_place[later] = own
    return own


def _drawn(writing: _Writing, place: Place, run: Run, hole: Hole, found: Drawn) -> str:
    if _may_be_read(writing, place[0], hole):
        found = replace(found, unknown=with_more(found.unknown, _PERHAPS_READ))
    name = _parameter_name(hole, writing.parameters)
    keys = dict(found.keys)
    if run.repeat > 1 and place[1] in run.varies:
        keys["per"] = "statement"
    writing.parameters[name] = DraftParameter(name, keys, found.unknown)
    writing.by_place[place] = name
    return f":{name}"


def _may_be_read(writing: _Writing, at: int, hole: Hole) -> bool:
    """Whether a written value may come from a row that the transaction read before."""
    runs = writing.group.runs
    if not hole.column or not runs[at].shape.key.startswith(_WRITES):
        return False
    column = hole.column.rpartition(".")[2].strip("`").lower()
    before = (run.shape for run in runs[:at] if run.shape.key.startswith("SELECT"))
    listed = (_WORDS.findall(_select_list(shape)) for shape in before)
    return any({column, "*"} & set(names) for names in listed)


def _select_list(shape: Shape) -> str:
    """What a SELECT reads, in lower case, without its literals."""
    text = "".join(piece for piece in shape.pieces if isinstance(piece, str)).lower()
    return _FROM.split(text, maxsplit=1)[0]


def _new_value(writing: _Writing, place: Place, run: Run, hole: Hole, *, is_told: bool) -> str:
    """A new value. Values of rows and lists are drawn one by one; unknowns are noted once."""
    found = writing.estimator(run.sketches[place[1]], hole, _inserts(run))
    if isinstance(found, Constant):
        return found.written
    if not is_told:
        found = replace(found, unknown=None)
    return _drawn(writing, place, run, hole, found)


def _inserts(run: Run) -> bool:
    return run.shape.key.startswith(("INSERT", "REPLACE"))


def _transaction_name(group: Group, taken: Container[str]) -> str:
    """A name of its first statements' verbs and tables, like `update_product_and_3`."""
    first = group.runs[0].shape
    verb = first.key.partition(" ")[0].strip("(")
    parts = [verb, *first.tables[:1]]
    if len(group.runs) > 1:
        parts += ["and", str(len(group.runs) - 1)]
    return _free(_plain("_".join(parts), "statement"), taken)


def _parameter_name(hole: Hole, taken: Container[str]) -> str:
    """A name after the column, with a number where it is taken."""
    name = hole.column or {"LIMIT": "limit_rows", "OFFSET": "offset_rows"}.get(hole.function, "")
    return _free(_plain(name.rpartition(".")[2], "value"), taken)


def _plain(text: str, otherwise: str) -> str:
    found = _NOT_PLAIN.sub("_", text.lower()).strip("_")[:_LONGEST_NAME]
    if not found or found[0].isdigit():
        found = f"{otherwise}_{found}".rstrip("_")
    return found


def _free(name: str, taken: Container[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
