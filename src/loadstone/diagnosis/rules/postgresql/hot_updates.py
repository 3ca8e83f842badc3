"""Updates that are written to every index of their table, as they could not be HOT.

An update is HOT (heap-only tuple) if no index has a column that it changes, and its new version has
room in the page of the old one. Then no index is written, and the page removes old versions itself.

Source: https://www.postgresql.org/docs/current/storage-hot.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import long_transaction, versions
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.hot_spots import IndexOfVersions, TableVersions
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences

ENTRY_S = 1.3e-6
"""[P] CPU of writing an entry to an index: measured 1.3 µs under load (eight indexes in memory, and
fsync=off: 58 rather than 48 µs per event), 1.4 to 3.2 µs in a loop of one session."""

ENTRY_BYTES = 72
"""Bytes of WAL for an entry, without images of pages: a record's headers, and an entry of one
number. Measured 77 with some longer keys (PostgreSQL 15)."""

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

MOST_OF_IT = 0.5
"""Part of the updates that are lost from which one is the rule, not the exception."""

FREE_VERSIONS = 2
"""Versions for which a page needs room, so that an update finds some: the one that it writes, and
the one before it, which a transaction under way may still see."""


class Lost(NamedTuple):
    """Updates that were not HOT."""

    updates: float
    """A second."""
    entries: float
    """Entries that they wrote to indexes, a second."""

    @property
    def cores(self) -> float:
        """Cores that write these entries."""
        return self.entries * ENTRY_S


def judge(case: Case) -> Finding | None:
    """Updates of a table that are written to all of its indexes, and why."""
    found = case.needed(versions.tables(case))
    lost = case.needed(_lost(case))
    share = case.needed(time_of(case, _parts(case, lost)))
    worst = max(found, key=_entries, default=None)
    if worst is None or share < MATTERS or _not_hot(worst) < MOST_OF_IT * worst.updated:
        return None
    in_the_way = changed_indexes(case, worst)
    # Then no page can make room, whatever its fillfactor: who keeps the old versions is named.
    if not in_the_way and long_transaction.keeps_most(case):
        return None
    used = [one for one in in_the_way if one.entries]
    return Finding(
        cause="hot-updates-lost",
        group="note" if used else "setting",
        sentence=sentences(*_said(case, worst, lost, share, in_the_way)),
        evidence=tuple(_evidence(case, worst, lost)),
        share=share,
        confidence=0.8 if in_the_way or is_without_room(worst) else 0.6,
        remedy=_remedy(case, worst, in_the_way),
        acts_on="server CPU",
    )


def changed_indexes(case: Case, one: TableVersions) -> tuple[IndexOfVersions, ...]:
    """Indexes with columns that updates of the table set, as far as their statements were seen."""
    columns = _set(case, one)
    return tuple(index for index in one.indexes if columns & {*index.columns})


def is_without_room(one: TableVersions) -> bool:
    """Whether most of these updates had to go to another page (counted from 16 on)."""
    elsewhere = one.new_page_updated
    return elsewhere is not None and elsewhere >= MOST_OF_IT * _not_hot(one)


def roomy_fillfactor(one: TableVersions) -> int | None:
    """A fillfactor that leaves room for two more versions; `None`: the rows' size is not known."""
    if not one.pages or not one.live:
        return None
    full = one.live / one.pages / (one.fillfactor / 100)
    part = 1 - FREE_VERSIONS / full if full else 0.0
    return max(int(100 * part) // 5 * 5, 50)


def _said(
    case: Case,
    worst: TableVersions,
    lost: Lost,
    share: float,
    in_the_way: tuple[IndexOfVersions, ...],
) -> Iterator[Message]:
    yield say(
        "{part} of the updates of table {table} are not HOT: each is written to its {indexes} "
        "indexes as well, {entries} entries and at least {bytes} of WAL a second.",
        part=Percent(_not_hot(worst) / worst.updated),
        table=worst.table,
        indexes=len(worst.indexes),
        entries=Number(lost.entries),
        bytes=Bytes(lost.entries * ENTRY_BYTES),
    )
    if in_the_way:
        yield say(
            "They set columns of {names}.",
            names=Joined([_with_columns(one) for one in in_the_way]),
        )
    elif is_without_room(worst):
        yield say("Their pages had no room for another version.")
    elif _was_seen(case, worst):
        yield say(
            "No index has a column that was seen to be set: their pages had no room for another "
            "version (fillfactor {fillfactor}).",
            fillfactor=worst.fillfactor,
        )
    else:
        yield say(
            "Either an index has a column that they change, or their pages have no room for "
            "another version (fillfactor {fillfactor}).",
            fillfactor=worst.fillfactor,
        )
    yield say("Writing the entries takes {share} of the users' time.", share=Percent(share))


def _with_columns(one: IndexOfVersions) -> str:
    return f"{one.index} ({', '.join(one.columns)})"


def _evidence(case: Case, worst: TableVersions, lost: Lost) -> Iterator[Evidence]:
    updates = versions.per_s(case, worst.updated) or 0.0
    hot = versions.per_s(case, worst.hot_updated) or 0.0
    yield case.seen(plain("pg_stat_user_tables.n_tup_upd"), updates, say_in("unit", "/s"))
    yield case.seen(
        plain("pg_stat_user_tables.n_tup_hot_upd"), hot, say_in("unit", "/s"), MOST_OF_IT * updates
    )
    yield case.seen(say("index entries written"), lost.entries, say_in("unit", "/s"))


def _remedy(case: Case, worst: TableVersions, in_the_way: tuple[IndexOfVersions, ...]) -> Message:
    unused = [one.index for one in in_the_way if not one.entries]
    if unused:
        return say(
            "Drop {names} if nothing else needs it: the load read no entry of it.",
            names=Joined(unused),
        )
    if in_the_way:
        return say(
            "Ask whether {names} is worth its price: the load reads it, and pays for it with each "
            "update. An index on fewer columns, or one with a WHERE clause, may do.",
            names=Joined([one.index for one in in_the_way]),
        )
    wanted = roomy_fillfactor(worst)
    if (
        wanted is not None
        and wanted < worst.fillfactor
        and (is_without_room(worst) or _was_seen(case, worst))
    ):
        return say(
            "ALTER TABLE {table} SET (fillfactor = {wanted}), then VACUUM FULL or pg_repack, so "
            "that pages have room for {versions} more versions.",
            table=worst.table,
            wanted=wanted,
            versions=FREE_VERSIONS,
        )
    return say(
        "Compare the columns that updates set with those of the table's indexes; if none is the "
        "same, set a lower fillfactor and rewrite the table."
    )


def _was_seen(case: Case, one: TableVersions) -> bool:
    """Whether a statement was seen that updates it."""
    return bool(_set(case, one))


def _set(case: Case, one: TableVersions) -> set[str]:
    """The columns of a table that statements were seen to set."""
    server, name = case.step.server, one.table.rpartition(".")[2]
    known = server.updated_columns if server else ()
    return {column for updated in known if updated.table == name for column in updated.columns}


def _not_hot(one: TableVersions) -> int:
    return one.updated - one.hot_updated


def _entries(one: TableVersions) -> int:
    """Entries that updates wrote to the table's indexes."""
    return _not_hot(one) * len(one.indexes)


def _lost(case: Case) -> Lost | None:
    found = versions.tables(case)
    if found is None:
        return None
    updates = versions.per_s(case, sum(map(_not_hot, found)))
    entries = versions.per_s(case, sum(map(_entries, found)))
    return None if updates is None or entries is None else Lost(updates, entries)


def _parts(case: Case, lost: Lost) -> Mapping[Place, float]:
    return parts_of_work(case, lost.cores)


def _holds(case: Case) -> Holds | None:
    """The work of writing entries, and as large a part of the wait for a core."""
    lost = _lost(case)
    parts = _parts(case, lost) if lost else {}
    return priced(parts) if parts else None


RULE = Rule(
    "hot-updates-lost",
    say("updates that are written to every index"),
    judge,
    holds=part_of(*CORES, is_priced=True),
    holds_in=_holds,
)
