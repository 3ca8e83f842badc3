"""Rows are inserted into tables with many indexes that the load does not read.

Each row has an entry in each index. Updates that are not HOT write these as well, which is a cause
of its own (`hot-updates-lost`).

Source: https://www.postgresql.org/docs/current/indexes-intro.html
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.diagnosis.rules.postgresql import hot_updates, versions
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import IndexOfVersions, TableVersions
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""


def judge(case: Case) -> Finding | None:
    """Entries a second in indexes of which no entry was read, times what writing one takes."""
    found = case.needed(versions.tables(case))
    entries = case.needed(_entries(case))
    share = case.needed(share_of(case, entries * hot_updates.ENTRY_S))
    worst = max(found, key=_written, default=None)
    if worst is None or share < MATTERS:
        return None
    inserted = versions.per_s(case, sum(one.inserted for one in found)) or 0.0
    return Finding(
        cause="unused-indexes",
        group="setting",
        sentence=sentences(*_said(worst, inserted, entries, share)),
        evidence=(
            case.seen(plain("pg_stat_user_tables.n_tup_ins"), inserted, say_in("unit", "/s")),
            case.seen(say("entries in indexes that are not read"), entries, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.7,
        remedy=say(
            "Drop {names} if nothing else needs them: ask pg_stat_user_indexes.idx_scan over a "
            "longer time, and on standbys as well.",
            names=Joined([one.index for one in unread(worst)]),
        ),
        acts_on="server CPU",
    )


def unread(one: TableVersions) -> list[IndexOfVersions]:
    """Indexes of a table with an entry for each row that nobody looked into, nor needs unread."""
    return [
        index
        for index in one.indexes
        if not index.entries and not index.scans and not index.unique and index.of_each_row
    ]


def _said(worst: TableVersions, inserted: float, entries: float, share: float) -> Iterator[Message]:
    yield say(
        "{rows} rows a second are inserted, with {entries} entries and at least {bytes} of WAL a "
        "second for indexes of which the load reads nothing.",
        rows=Number(inserted),
        entries=Number(entries),
        bytes=Bytes(entries * hot_updates.ENTRY_BYTES),
    )
    yield say(
        "Most are in table {table}: {names}.",
        table=worst.table,
        names=Joined([one.index for one in unread(worst)]),
    )
    yield say("Writing the entries takes {share} of the users' time.", share=Percent(share))


def _written(one: TableVersions) -> int:
    return one.inserted * len(unread(one))


def _entries(case: Case) -> float | None:
    """Such entries, a second; `None`: the views were not read."""
    found = versions.tables(case)
    return None if found is None else versions.per_s(case, sum(map(_written, found)))


def _cores(case: Case) -> float | None:
    entries = _entries(case)
    return None if entries is None else entries * hot_updates.ENTRY_S


RULE = rule_of("unused-indexes", say("indexes that nobody reads are written"), judge, _cores)
