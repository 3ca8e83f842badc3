"""Groups transactions of the same shape, with what is known of their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from loadstone.model.figure import Count
from loadstone.model.message import say
from loadstone.traffic.entries import ReadStats
from loadstone.traffic.shapes import Sentence, Shape, Value
from loadstone.traffic.transactions import Transaction
from loadstone.traffic.value_sketches import Sketch

MOST_GROUPS = 1_000
_MOST_SHAPES = 5_000
_PAIRED = 2_000
"""The number of a group's transactions in which values are compared with each other."""

_MOST_PLACES = 40
_MISSES = 0.05
"""The share of transactions in which two paired values may disagree."""

_FIRST, _FIRST_MISSES = 20, 2
"""Among the first few transactions a share means little, so this many may disagree."""

SPLIT = say(
    "transactions beyond the first {most} shapes: taken statement by statement",
    most=Count(MOST_GROUPS),
)
TOO_MANY = say("statements beyond the first {most} shapes", most=Count(_MOST_SHAPES))
Place = tuple[int, int]
"""The index of a run in the transaction, and of a hole in its statement."""


@dataclass
class Run:
    """A statement of a transaction and its direct repeats."""

    shape: Shape
    repeat: int
    sketches: tuple[Sketch, ...]
    """What is known of the values, by hole."""

    sizes: Counter[int] = field(default_factory=Counter)
    """How often its list had each number of values, or of rows."""

    numbers: Counter[int] = field(default_factory=Counter)
    """How often each number was at the end of its tables' names."""

    varies: set[int] = field(default_factory=set)
    """Holes whose values differ between repeats of one transaction."""


@dataclass
class Pair:
    """A value that equals another one plus a constant."""

    add: int | None
    """The constant; `None`: the values are not whole numbers, and are equal."""

    seen: int = 0
    missed: int = 0

    @property
    def holds(self) -> bool:
        """Whether the pair held in nearly all transactions."""
        return self.missed <= max(_FIRST_MISSES if self.seen < _FIRST else 0, _MISSES * self.seen)


@dataclass
class Group:
    """Transactions of one shape."""

    explicit: bool
    count: int
    runs: tuple[Run, ...]
    pairs: dict[tuple[Place, Place], Pair] = field(default_factory=dict)
    """Pairs by the place of a value and that of an earlier one."""

    paired: int = 0


class Collected:
    """The groups of a log, in memory that does not grow with the log."""

    def __init__(self, stats: ReadStats, seed: int = 0) -> None:
        self.groups: dict[tuple[bool, tuple[tuple[str, int], ...]], Group] = {}
        self._heard = stats
        self._random = Random(seed)

    def take(self, transactions: Iterable[Transaction]) -> None:
        """Add the transactions to their groups."""
        for one in transactions:
            self._take(one)

    def _take(self, transaction: Transaction) -> None:
        runs = _runs(transaction.sentences)
        key = (transaction.explicit, tuple((run[0].shape.key, len(run)) for run in runs))
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= MOST_GROUPS and len(transaction.sentences) > 1:
                self._heard.noted[SPLIT] += 1
                for sentence in transaction.sentences:
                    self._take(Transaction(explicit=False, sentences=(sentence,)))
                return
            if len(self.groups) >= _MOST_SHAPES:
                self._heard.left_out[TOO_MANY] += 1
                return
            group = self.groups[key] = _group(transaction.explicit, runs)
        group.count += 1
        for run, sentences in zip(group.runs, runs, strict=True):
            self._add(run, sentences)
        if group.paired < _PAIRED:
            _hold_against_each_other(group, runs)

    def _add(self, run: Run, sentences: Sequence[Sentence]) -> None:
        for sentence in sentences:
            if sentence.number is not None:
                run.numbers[sentence.number] += 1
            sizes = [len(values) for values in sentence.values]
            run.sizes[max(sizes, default=1)] += 1
            for sketch, values in zip(run.sketches, sentence.values, strict=True):
                sketch.add(values, self._random)
        first = sentences[0]
        for sentence in sentences[1:]:
            for place, (values, others) in enumerate(
                zip(first.values, sentence.values, strict=True)
            ):
                if values != others:
                    run.varies.add(place)


def _runs(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """The statements in runs of successive ones with the same shape."""
    found: list[list[Sentence]] = []
    for one in sentences:
        if found and found[-1][0].shape.key == one.shape.key:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _group(explicit: bool, runs: Sequence[Sequence[Sentence]]) -> Group:
    made = tuple(
        Run(run[0].shape, len(run), tuple(Sketch() for _ in run[0].values)) for run in runs
    )
    return Group(explicit, 0, made)


def _hold_against_each_other(group: Group, runs: Sequence[Sequence[Sentence]]) -> None:
    """Compare values with earlier ones, and drop the pairs that do not hold."""
    places = _places(runs)
    if group.paired == 0:
        for at, later in enumerate(places):
            for before in places[:at]:
                if (pair := _pair(runs, before, later)) is not None:
                    group.pairs[later, before] = pair
    group.paired += 1
    for (later, before), pair in list(group.pairs.items()):
        pair.seen += 1
        pair.missed += not _fits(runs, before, later, pair.add)
        if not pair.holds:
            del group.pairs[later, before]


def _places(runs: Sequence[Sequence[Sentence]]) -> list[Place]:
    """The first few places that hold a single value."""
    found = [
        (at, hole)
        for at, run in enumerate(runs)
        for hole, values in enumerate(run[0].values)
        if len(values) == 1
    ]
    return found[:_MOST_PLACES]


def _pair(runs: Sequence[Sequence[Sentence]], before: Place, later: Place) -> Pair | None:
    """The pair that two values may form, judged by the first transaction."""
    first, second = _value(runs[before[0]][0], before[1]), _value(runs[later[0]][0], later[1])
    if first is None or second is None or first.kind != second.kind:
        return None
    if isinstance(first.value, int) and isinstance(second.value, int) and first.kind == "int":
        return Pair(second.value - first.value)
    return Pair(None) if first.kind in ("text", "decimal") else None


def _fits(runs: Sequence[Sequence[Sentence]], before: Place, later: Place, add: int | None) -> bool:
    """Whether a pair holds in one transaction, in each repeat of the statement."""
    run = runs[later[0]]
    same_run = before[0] == later[0]
    for sentence in run:
        # Values of one statement are compared within a repeat; other statements by their first one.
        source = sentence if same_run else runs[before[0]][0]
        first, second = _value(source, before[1]), _value(sentence, later[1])
        if first is None or second is None:
            return False
        if add is None:
            if first.value != second.value:
                return False
        elif not (isinstance(first.value, int) and isinstance(second.value, int)):
            return False
        elif second.value - first.value != add:
            return False
    return True


def _value(sentence: Sentence, hole: int) -> Value | None:
    """The single value of a statement's hole; `None` where it has several or none."""
    if hole >= len(sentence.values) or len(sentence.values[hole]) != 1:
        return None
    return sentence.values[hole][0]
