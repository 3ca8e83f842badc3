"""Statements that a server has counted, without the values of most: one transaction for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from random import Random
from typing import Protocol

from loadstone.model.message import Message, say
from loadstone.model.target import Target
from loadstone.servers.connection import Connection
from loadstone.servers.dialect import Dialect
from loadstone.traffic.columns import Facts
from loadstone.traffic.entries import OWN, ReadStats
from loadstone.traffic.group_transactions import Group, Run
from loadstone.traffic.shapes import Sentence
from loadstone.traffic.value_sketches import Sketch

BOUNDS = say("BEGIN, COMMIT and ROLLBACK: digests do not say which statements were between them")
IS_A_BOUND = ("begin", "commit", "rollback")
"""Kinds of statements that these are."""


@dataclass(frozen=True)
class Digest:
    """A statement without its values, and how often it was executed."""

    name: str
    text: str
    sample: str | None
    """The text of one execution, where the server kept it uncut."""

    count: int


class CountedStatements(Protocol):
    """Where a family's servers keep such counts."""

    @property
    def name(self) -> Message:
        """What it is called."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of the template's statements."""

    def read(
        self, connection: Connection, target: Target, over_s: float | None, stats: ReadStats
    ) -> list[Digest]:
        """The statements in the target's schema, counted since ever or during `over_s`.

        Raises:
            TrafficRefused: the server counts none.
            TargetError: the server refused to answer.
        """

    def is_own(self, digest: Digest, made: Collection[str]) -> bool:
        """Whether it is a statement of Loadstone itself; `made`: the tables that it made."""

    def sentence_of(self, digest: Digest, stats: ReadStats) -> Sentence | None:
        """The statement; `None`, and counted as left out, where no template can have it."""

    def tables_listed(self, connection: Connection, target: Target, schema: str) -> Collection[str]:
        """The tables that Loadstone made in a schema."""

    def read_columns(
        self, connection: Connection, target: Target, schema: str, tables: Iterable[str]
    ) -> Facts:
        """Facts about the columns of some tables; of the data only the ends of indexes are read.

        Raises:
            TargetError: the server refused.
        """


def groups_of(
    source: CountedStatements,
    digests: Iterable[Digest],
    stats: ReadStats,
    made: Collection[str] = (),
) -> tuple[list[Group], set[str]]:
    """Each shape as a transaction of its own, and the tables that the shapes name.

    Statements of Loadstone itself are left out, and counted; `made`: the tables that it made.
    """
    groups: dict[str, Group] = {}
    tables: set[str] = set()
    random = Random(0)
    for digest in digests:
        if source.is_own(digest, made):
            stats.left_out[OWN] += digest.count
            continue
        sentence = source.sentence_of(digest, stats)
        if sentence is None:
            continue
        tables.update(_tables(sentence))
        key = sentence.shape.key
        if key not in groups:
            run = Run(sentence.shape, 1, tuple(Sketch() for _ in sentence.values))
            groups[key] = Group(False, 0, (run,))
        group = groups[key]
        group.count += digest.count
        (run,) = group.runs
        run.sizes[max((len(values) for values in sentence.values), default=1)] += digest.count
        if sentence.number is not None:
            run.numbers[sentence.number] += digest.count
        for sketch, values in zip(run.sketches, sentence.values, strict=True):
            sketch.add(values, random)
    return list(groups.values()), tables


def _tables(sentence: Sentence) -> set[str]:
    return {hole.table for hole in sentence.shape.holes if hole.table is not None}
