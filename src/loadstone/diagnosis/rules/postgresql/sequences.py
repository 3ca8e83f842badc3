"""Users wait for a sequence: all of its values come from one page.

A session that takes values locks the page alone, and takes as many as CACHE says. The wait event
does not say which page it is about, so waits are divided by how often pages are locked. A visit
finds a seldom busy lock taken with a chance proportional to the lock's visits, and visits come in
proportion to them too: so waits grow with their square, and with that of the time that each takes.

Sources: nextval_internal in commands/sequence.c,
https://www.postgresql.org/docs/current/sql-createsequence.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import Holds, priced, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import versions
from loadstone.diagnosis.rules.postgresql.latches import Lock, contended, named
from loadstone.diagnosis.users_time import time_of
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.hot_spots import SequenceVisits
from loadstone.model.message import Joined, Message, say, say_in, sentences

CHANGE = 3.0
"""[P] For how long a changed row has a page, by the time of a visit to a sequence: changes log each
time, a sequence its every 32nd value. Inserts of 50 rows by 32 users into 1, 2, 4 and 16 tables
waited for pages by 0, 43, 29 and 52 % less with CACHE 100 (PostgreSQL 15, two cores); by this
value it is 10, 18, 31 and 64 %."""

VISIT_S = 0.11e-6
"""[P] CPU of a visit: by so much longer one user had a core for a value with CACHE 1 than with 100
(PostgreSQL 15, an EPYC). Next to other cores that make visits it is more."""

FEWER = 100
"""[P] How many times fewer visits the CACHE that is advised leaves."""


NAMED = 0.1
"""[P] Of the waits for the most visited one, those for a sequence that is named next to it."""

SESSIONS = 1e9
"""[P] Sessions that a sequence must have values for: a thousand that end a second are as many in
twelve days."""

SAID = 0.01
"""[P] Share of the users' time from which it is said what the visits themselves take."""

_SHOWN = 5
"""Sequences that a sentence names."""


def part(case: Case) -> float:
    """Of the waits for pages the part that is for sequences, 0 to 1; zero where none is known.

    Rows that change, or are locked, may be on many pages of their table; they are taken to be on
    one, so that the part is rather too small. Pages of catalogs and of TOAST are not counted.
    """
    values = _waits(versions.sequences(case) or ())
    changes = sum(
        (versions.changes_of(one) + versions.locked_of(case, one)) ** 2
        for one in versions.tables(case) or ()
    )
    return values / (values + CHANGE**2 * changes) if values else 0.0


def _part_of_named(case: Case) -> float:
    """The part that the remedy ends: it is for the sequences that are named."""
    found = versions.sequences(case)
    return part(case) * _waits(_named(found)) / _waits(found) if found else 0.0


def _named(found: Sequence[SequenceVisits]) -> Sequence[SequenceVisits]:
    """Those that users wait for noticeably, the most visited first."""
    most = max((_waits([one]) for one in found), default=0)
    worst = [one for one in found if _waits([one]) >= NAMED * most]
    return sorted(worst, key=lambda one: one.page_visits, reverse=True)


def _waits(found: Sequence[SequenceVisits]) -> int:
    """What waits for the pages of these sequences are proportional to."""
    return sum(one.page_visits**2 for one in found)


NAMES = (*named("BufferContent", "buffer_content"), "Buffer:BufferExclusive")
"""States of waits for a page that others have for themselves; the last from version 19 on."""


def _waits_for_named(case: Case) -> Mapping[str, float]:
    return dict.fromkeys(NAMES, _part_of_named(case))


def judge(case: Case) -> Finding | None:
    """Waits for pages, as far as these are those of sequences."""
    if contended(case, dict.fromkeys(NAMES, 1.0)) is None:
        return None
    found = case.needed(versions.sequences(case))
    if not found:
        return None
    worst = _named(found)
    lock = Lock("sequences", NAMES, _what(case, worst), _remedy(case, worst), _waits_for_named)
    return _with_work(case, lock.judge(case, *_evidence(case, worst)))


def _with_work(case: Case, found: Finding | None) -> Finding | None:
    """The finding of the waits, with what the visits take of the cores, as far as that is known."""
    taken = time_of(case, parts_of_work(case, _cores(case)))
    if found is None or found.share is None or not taken:
        return found
    said = say("The visits themselves take {share} of the users' time.", share=Percent(taken))
    return found.model_copy(
        update={
            "sentence": sentences(found.sentence, *([said] if taken >= SAID else [])),
            "share": min(found.share + taken, 1.0),
            "acts_on": "server CPU",
        }
    )


def _cores(case: Case) -> float:
    """Cores that visits to the sequences that are named take."""
    total = sum(one.page_visits for one in _named(versions.sequences(case) or ()))
    return (versions.per_s(case, total) or 0.0) * VISIT_S


def _what(case: Case, worst: Sequence[SequenceVisits]) -> Message:
    return say(
        "All values of a sequence come from one page, which sessions lock one after the other: "
        "{pages}.",
        pages=_some(_page(case, one) for one in worst),
    )


def _page(case: Case, one: SequenceVisits) -> Message:
    return say(
        "that of {sequence} (CACHE {cache}) {visits} times a second",
        sequence=one.sequence,
        cache=Count(one.cache),
        visits=Number(case.needed(versions.per_s(case, one.page_visits))),
    )


def _remedy(case: Case, worst: Sequence[SequenceVisits]) -> Message:
    statements = _some(f"ALTER SEQUENCE {one.sequence} CACHE {FEWER * one.cache}" for one in worst)
    said = say(
        "Let sessions take more values at a time: {statements}. Values of different sessions are "
        "then no longer in the order in which they were taken, and a session that ends loses those "
        "that it has left.",
        statements=statements,
    )
    if case.step.connects:
        said = say(
            "Let clients keep their connections, as a session that ends, or has DISCARD ALL, loses "
            "the values that it has left; then let sessions take more at a time: {statements}.",
            statements=statements,
        )
    return sentences(said, *_used_up(worst))


def _used_up(worst: Sequence[SequenceVisits]) -> Iterator[Message]:
    """Of sequences with few values, how soon sessions that end use them up."""
    for one in worst[:_SHOWN]:
        if one.values is not None and one.values < SESSIONS * FEWER * one.cache:
            yield say(
                "{sequence} has {values} values, enough for {sessions} sessions that lose theirs: "
                "first make it, and what keeps its values, a bigint.",
                sequence=one.sequence,
                values=Number(one.values),
                sessions=Number(one.values / (FEWER * one.cache)),
            )


def _some(parts: Iterable[str]) -> Joined:
    """The first of these, and how many more there are."""
    first = tuple(parts)
    more = len(first) - _SHOWN
    return Joined([*first[:_SHOWN], say("{more} more", more=more)] if more > 0 else first)


def _evidence(case: Case, worst: Sequence[SequenceVisits]) -> Iterator[Evidence]:
    for one in worst[:_SHOWN]:
        visits = case.needed(versions.per_s(case, one.page_visits))
        page = say("visits to the page of {sequence}", sequence=one.sequence)
        yield case.seen(page, visits, say_in("unit", "/s"))
    most = max(map(versions.changes_of, versions.tables(case) or ()), default=0)
    changes = versions.per_s(case, most)
    if changes is not None:
        yield case.seen(say("changed rows of the table with most"), changes, say_in("unit", "/s"))


def _holds(case: Case) -> Holds | None:
    found = contended(case, _waits_for_named(case)) if case.states() else None
    if found is None:
        return None
    return priced({**found.holds.parts, **parts_of_work(case, _cores(case))})


RULE = Rule(
    "sequences",
    say("users take values of the same sequence"),
    judge,
    holds=time_at("latch"),
    holds_in=_holds,
)
