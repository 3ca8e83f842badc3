"""Statements read whole tables for a few rows.

Rows that scans of tables read count as returned, those that indexes lead to as fetched as well.
Entries of an index that is scanned alone are returned and not fetched: where the tables' own
figures are read, these rows are not among those that scans of the tables read. An index that is not
selective leads to rows that a filter drops: they are fetched, and nobody receives them.

The planner does not use an index that its settings rule out, or make look dear. Nor does it use one
for a rare value where it has to plan without the value (plan_cache_mode=force_generic_plan).

Sources: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW
and https://www.postgresql.org/docs/current/runtime-config-query.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.analyse.cores import client_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, PAGE_READS, Holds, part_of, priced
from loadstone.diagnosis.others_work import not_of_ours
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import counted, plan_cache, versions
from loadstone.diagnosis.rules.postgresql.versions import ENTRY_S, ROW_S
from loadstone.diagnosis.trials import dynamic
from loadstone.diagnosis.wasted_rows import FEWEST, MOST, RowsRead, rows_read, sums_up
from loadstone.model.figure import Number
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import CountedStatement, TableVersions
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences

ROW_BYTES = 11.0
"""Least bytes of a row that is sent: seven of its message, four for a column.

Source: https://www.postgresql.org/docs/current/protocol-message-formats.html (DataRow)
"""

LEAVES = 2.0
"""Pages that a lookup reads: its index's leaf, and that of the row."""

OUTDATED = 0.5
"""[P] Changes since a table was analyzed for each of its rows, from which its statistics are out of
date. Autovacuum analyzes a table again after a fifth as many; what a session has inserted counts
when it reports it, which may be after the table was analyzed."""

LEVELS = 4.0
"""The most pages from an index's root to an entry: with a hundred entries on each, as many levels
lead to 100 million rows."""

RECORD_BYTES = 46.0
"""Least bytes of WAL for a page that is changed, to which an index leads as well: the record's head
(24), the page's (20), and that of the record's own data (2).

Source: https://github.com/postgres/postgres/blob/master/src/include/access/xlogrecord.h
"""

_WAYS = ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")
"""Settings that rule out a way of using an index."""

_DEAR: Mapping[str, float] = {
    "cpu_index_tuple_cost": 0.005,
    "cpu_operator_cost": 0.0025,
}
"""Estimates of what an index costs, with the server's defaults: with larger ones it looks dear."""

_CHEAP: Mapping[str, float] = {"cpu_tuple_cost": 0.01}
"""Estimates of what a scan costs: with smaller ones it looks cheap."""

_PAGES = {"random_page_cost": 4.0, "seq_page_cost": 1.0}
"""Estimates of a page's cost, of which the ratio counts: where all pages are in memory, both are
small."""

_RETURNED = "pg_stat_database.target.tup_returned"
_FETCHED = "pg_stat_database.target.tup_fetched"
_CHANGED = tuple(f"pg_stat_database.target.tup_{how}" for how in ("inserted", "updated", "deleted"))


def judge(case: Case) -> Finding | None:
    """Far more rows are read than the generator received or changed."""
    returned, fetched = case.needed(case.rate(_RETURNED)), case.needed(case.rate(_FETCHED))
    rows = _rows(case, returned, fetched)
    if rows.read < max(rows.few, MOST * returned) or not_of_ours(case) is not None:
        return None
    if rows.by_index and sums_up(counted.worst_by(case, _pages_for_nothing)):
        return None
    cores, against = server_cores(case), _against_indexes(case)
    share = min(_cores(rows) / cores, 1.0) if cores else None
    if plan_cache.is_generic(case) and not against and not rows.by_index:
        return _planned_without_values(case, rows, share)
    return Finding(
        cause="missing-index",
        group="setting",
        sentence=sentences(
            rows.said,
            *_said_of(case, against),
            *_without_statistics(case, rows),
            *counted.most_by(case, _pages_for_nothing),
        ),
        evidence=(
            case.seen(plain(_RETURNED), returned, say_in("unit", "/s"), rows.few),
            case.seen(plain(_FETCHED), fetched, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.8,
        remedy=sentences(*_remedy(case, rows)),
        trial=dynamic(case, against, say("settings that keep the planner from indexes")),
        acts_on="server CPU",
    )


def _without_statistics(case: Case, rows: RowsRead) -> list[Message]:
    """A sentence about the table that is read most, if the planner knows little about it."""
    read = max(versions.tables(case) or (), key=lambda one: _read_of(one, rows), default=None)
    if read is None or not _read_of(read, rows):
        return []
    if read.analyzed is False:
        return [
            say(
                "Table {table}, of which the most rows are read, was never analyzed: the planner "
                "guesses what is in it. Run ANALYZE first.",
                table=read.table,
            )
        ]
    changed, everything = read.changed_since_analyze, read.live + read.dead
    # A standby, and a server after a crash, has not counted any rows.
    if not changed or not read.live or changed < OUTDATED * everything:
        return []
    return [
        say(
            "Of table {table}, of which the most rows are read, {changed} rows were changed since "
            "it was analyzed last, and it has {rows}. Run ANALYZE first.",
            table=read.table,
            changed=Number(changed),
            rows=Number(everything),
        )
    ]


def _read_of(one: TableVersions, rows: RowsRead) -> int:
    return one.fetched if rows.by_index else one.scanned


def _remedy(case: Case, rows: RowsRead) -> Iterator[Message]:
    if rows.by_index:
        yield say(
            "Create an index on all columns of the WHERE clause; EXPLAIN (ANALYZE) shows which "
            "rows a filter removes, and pg_stat_user_indexes.idx_tup_fetch which index leads to "
            "them."
        )
    else:
        yield say(
            "Create an index on the columns of the WHERE clause; EXPLAIN shows what is read now, "
            "and pg_stat_user_tables.seq_tup_read in which tables. Where there is an index, run "
            "ANALYZE, and compare the types of column and value."
        )
    if plan_cache.is_prepared(case) and not plan_cache.is_forced(case):
        yield say(
            "A prepared statement may have kept a plan that does not suit rare values: compare "
            "with plan_cache_mode=force_custom_plan."
        )


def _planned_without_values(case: Case, rows: RowsRead, share: float | None) -> Finding:
    """The same rows, where the one known reason is that no plan is made for a value."""
    return Finding(
        cause="generic-plans",
        group="setting",
        sentence=sentences(
            say(
                "With plan_cache_mode=force_generic_plan statements are planned without their "
                "values, and {rows} rows a second are read by scans for {useful} rows returned or "
                "changed: an index helps with rare values alone, or there is none.",
                rows=Number(rows.read),
                useful=Number(rows.useful),
            ),
            *counted.most_by(case, _pages_for_nothing),
        ),
        evidence=(
            case.seen(say("rows read in scans"), rows.read, say_in("unit", "/s"), FEWEST),
            case.seen(say("rows returned or changed"), rows.useful, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.7,
        remedy=say(
            "Set plan_cache_mode=auto, with which plans for single values are kept where they are "
            "cheaper; if that changes nothing, create an index on the columns of the WHERE clause."
        ),
        trial=dynamic(case, {"plan_cache_mode": "auto"}, say("plans without values")),
        acts_on="server CPU",
    )


def _against_indexes(case: Case) -> dict[str, str]:
    """Settings by which the planner avoids indexes, with the values that servers have."""
    found = {name: "on" for name in _WAYS if case.is_on(name) is False}
    for usual, sign in ((_DEAR, 1), (_CHEAP, -1)):
        for name, value in usual.items():
            now = case.number(name)
            if now is not None and sign * now > sign * value:
                found[name] = f"{value:g}"
    return found | _pages_against_indexes(case)


def _pages_against_indexes(case: Case) -> dict[str, str]:
    random, sequential = (case.number(name) for name in _PAGES)
    usual = _PAGES["random_page_cost"] / _PAGES["seq_page_cost"]
    if random is None or sequential is None or random <= usual * sequential:
        return {}
    return {
        name: f"{value:g}"
        for name, value in _PAGES.items()
        if (random > value if name == "random_page_cost" else sequential < value)
    }


def _said_of(case: Case, against: Mapping[str, str]) -> list[Message]:
    if not against:
        return []
    return [
        say(
            "Settings keep the planner from indexes: {settings}.",
            settings=Joined([f"{name}={case.variable(name)}" for name in against]),
        )
    ]


def _rows(case: Case, returned: float, fetched: float) -> RowsRead:
    """Rows read in scans, or through an index where these are more and far too many."""
    scanned, useful = _scanned(case, returned, fetched), _useful(case)
    # As in scans, other clients' may be as many as their work on a core is enough for. Pieces of
    # large values are rows of tables of their own.
    led_to = max(_in_tables(case, fetched) - client_cores(case.step) / ENTRY_S, 0.0)
    return rows_read(case, scanned=scanned, led_to=led_to, useful=useful)


def _cores(rows: RowsRead) -> float:
    """Cores that read rows for nothing."""
    return rows.wasted * (ENTRY_S if rows.by_index else ROW_S)


def _in_tables(case: Case, fetched: float) -> float:
    """Of the rows that indexes led to, a second, those of users' tables, where these are read."""
    tables = versions.tables(case)
    counted = versions.per_s(case, sum(one.fetched for one in tables)) if tables else None
    return fetched if counted is None else min(fetched, counted)


def _scanned(case: Case, returned: float, fetched: float) -> float:
    """Rows a second that no index led to, and that nobody but the load can have read.

    Entries of indexes that lead to dead versions are none of them. The database counts the rows of
    all its sessions: other clients' may have read as many as their work on a core is enough for.
    """
    met, tables = versions.visits(case), versions.tables(case)
    others = client_cores(case.step) / ROW_S
    scanned = returned - fetched - (met.by_entries if met else 0.0)
    if tables:
        in_tables = versions.per_s(case, sum(one.scanned for one in tables))
        scanned = scanned if in_tables is None else min(scanned, in_tables)
    return max(scanned - others, 0.0)


def _pages_for_nothing(one: CountedStatement) -> float:
    """Pages that it came to, less those that it needs with an index for each condition.

    A row that is read for nothing has its page looked at; frequent lookups have more pages.
    """
    descents = one.calls + one.wal_bytes / RECORD_BYTES
    return max(one.pages_hit + one.pages_read - LEVELS * descents - LEAVES * one.rows, 0.0)


def _useful(case: Case) -> float:
    """At most so many rows a second that came to the generator, and those that were changed."""
    step = case.step
    received = step.bytes_in / step.seconds / ROW_BYTES if step.seconds else 0.0
    return max(received + sum(case.rate(name) or 0.0 for name in _CHANGED), 1.0)


def _holds(case: Case) -> Holds | None:
    """The work on a core of reading rows for nothing, the wait for one, and for their pages."""
    returned, fetched = case.rate(_RETURNED), case.rate(_FETCHED)
    if returned is None or fetched is None:
        return None
    rows = _rows(case, returned, fetched)
    parts = parts_of_work(case, _cores(rows))
    if not parts:
        return None
    lookups = rows.useful if rows.by_index else fetched
    return priced({**parts, **dict.fromkeys(PAGE_READS, _part_of_pages(case, lookups))})


def _part_of_pages(case: Case, lookups: float) -> float:
    """The part of the pages read that so many lookups by an index do not explain, 0 to 1."""
    reads = case.rate("buffer_pool_reads")
    return max(1 - LEAVES * lookups / reads, 0.0) if reads else 0.0


RULE = Rule(
    "missing-index",
    say("a missing index"),
    judge,
    also={"generic-plans": say("plans are made without the values")},
    holds=part_of(*CORES, *PAGE_READS),
    holds_in=_holds,
)
