"""Rows are inserted into tables with many indexes that the load does not read.

Source: https://dev.mysql.com/doc/refman/8.0/en/performance-schema-table-wait-summary-tables.html
"""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.diagnosis.trials import mysql_release
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import UnreadIndexes
from loadstone.model.message import Joined, say, say_in, sentences

MARIADB_S, MYSQL_S = 6e-6, 10e-6
"""[P] CPU of an entry in another index: measured with MariaDB 10.11 and MySQL 9.7 (ten indexes of a
text, 20,000 rows)."""

MATTERS = 0.1
"""[P] Share of the users' time from which it counts."""

FEWEST = 2
"""[P] Such indexes of a table: few tables are without one that a single load does not read."""


def judge(case: Case) -> Finding | None:
    """Entries a second in indexes of which no entry was read, times what writing one takes."""
    if not case.needed(case.is_on("performance_schema")):
        return None
    found, entries = case.needed(_tables(case)), case.needed(_entries(case))
    share = case.needed(share_of(case, entries * _entry_s(case)))
    worst = max(found, key=_written, default=None)
    if worst is None or share < MATTERS:
        return None
    rows = entries / max(sum(map(_written, found)), 1) * sum(one.inserted for one in found)
    return Finding(
        cause="unused-indexes",
        group="setting",
        sentence=sentences(
            say(
                "{rows} rows a second are inserted, with {entries} entries in indexes of which the "
                "load reads nothing.",
                rows=Number(rows),
                entries=Number(entries),
            ),
            say(
                "Most are in table {table}: {names}.",
                table=worst.table,
                names=Joined(worst.indexes),
            ),
            say("Writing the entries takes {share} of the users' time.", share=Percent(share)),
        ),
        evidence=(
            case.seen(say("rows inserted"), rows, say_in("unit", "/s")),
            case.seen(say("entries in indexes that are not read"), entries, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.7,
        remedy=say(
            "Drop {names} if nothing else needs them: ask sys.schema_unused_indexes over a longer "
            "time, and on replicas as well.",
            names=Joined(worst.indexes),
        ),
        acts_on="server CPU",
    )


def _tables(case: Case) -> Sequence[UnreadIndexes] | None:
    """The tables with several such indexes; `None`: performance_schema does not count their use."""
    case.reads.append(say("the use of indexes by performance_schema"))
    found = case.step.hot_spots.unread if case.step.hot_spots else None
    return None if found is None else [one for one in found if len(one.indexes) >= FEWEST]


def _entry_s(case: Case) -> float:
    return MYSQL_S if mysql_release(case.variable("version") or "") else MARIADB_S


def _written(one: UnreadIndexes) -> int:
    return one.inserted * len(one.indexes)


def _entries(case: Case) -> float | None:
    """Such entries, a second: they are counted from the start of the load on."""
    found, window = _tables(case), case.step.window
    if found is None or window is None:
        return None
    return sum(map(_written, found)) / window.to_s


def _cores(case: Case) -> float | None:
    entries = _entries(case)
    return None if entries is None else entries * _entry_s(case)


RULE = rule_of("unused-indexes", say("indexes that nobody reads are written"), judge, _cores)
