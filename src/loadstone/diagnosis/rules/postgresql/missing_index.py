"""Statements read whole tables for a few rows.

Rows that scans of tables read count as returned, those that indexes lead to as fetched as well.
Entries of an index that is scanned alone are returned and not fetched: where the tables' own
figures are read, these rows are not among those that scans of the tables read.

The planner does not use an index that its settings rule out, or make look dear. Nor does it use one
for a rare value where it has to plan without the value (plan_cache_mode=force_generic_plan).

Sources: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW
and https://www.postgresql.org/docs/current/runtime-config-query.html
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.cores import client_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, PAGE_READS, Holds, part_of, priced
from loadstone.diagnosis.others_work import not_of_ours
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import counted, plan_cache, versions
from loadstone.diagnosis.rules.postgresql.versions import ROW_S
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import CountedStatement
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences

WASTE = 10.0
"""[P] Rows read in scans for each one returned or changed."""

BY_EVENT = 500.0
"""[P] Rows that an event reads in scans: smaller tables are as well read whole."""

FEWEST = 50_000.0
"""[P] Rows a second: reading the statistics scans catalogs itself."""

MOST = 0.5
"""[P] Part of all rows that are read."""

ROW_BYTES = 11.0
"""Least bytes of a row that is sent: seven of its message, four for a column.

Source: https://www.postgresql.org/docs/current/protocol-message-formats.html (DataRow)
"""

LEAVES = 2.0
"""Pages that a lookup reads: its index's leaf, and that of the row."""

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
    """Far more rows are scanned than the generator received or changed."""
    returned, fetched = case.needed(case.rate(_RETURNED)), case.needed(case.rate(_FETCHED))
    scanned, useful = _scanned(case, returned), _useful(case)
    few = max(FEWEST, BY_EVENT * case.tps, WASTE * useful)
    if scanned < few or scanned < MOST * returned or not_of_ours(case) is not None:
        return None
    cores, against = server_cores(case), _against_indexes(case)
    share = min((scanned - useful) * ROW_S / cores, 1.0) if cores else None
    if plan_cache.is_generic(case) and not against:
        return _planned_without_values(case, scanned, useful, share)
    return Finding(
        cause="missing-index",
        group="setting",
        sentence=sentences(
            say(
                "An index is missing or not used: {rows} rows a second are read by scans, for "
                "{useful} rows returned or changed, {each} for each of them.",
                rows=Number(scanned),
                useful=Number(useful),
                each=Number(scanned / useful),
            ),
            *_said_of(case, against),
            *counted.most_by(case, _pages_for_nothing),
        ),
        evidence=(
            case.seen(plain(_RETURNED), returned, say_in("unit", "/s"), few),
            case.seen(plain(_FETCHED), fetched, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.8,
        remedy=say(
            "Create an index on the columns of the WHERE clause; EXPLAIN shows what is read now, "
            "and pg_stat_user_tables.seq_tup_read in which tables. Where there is an index, run "
            "ANALYZE, and compare the types of column and value."
        ),
        trial=dynamic(case, against, say("settings that keep the planner from indexes")),
        acts_on="server CPU",
    )


def _planned_without_values(
    case: Case, scanned: float, useful: float, share: float | None
) -> Finding:
    """The same rows, where the one known reason is that no plan is made for a value."""
    return Finding(
        cause="generic-plans",
        group="setting",
        sentence=sentences(
            say(
                "With plan_cache_mode=force_generic_plan statements are planned without their "
                "values, and {rows} rows a second are read by scans for {useful} rows returned or "
                "changed: an index helps with rare values alone, or there is none.",
                rows=Number(scanned),
                useful=Number(useful),
            ),
            *counted.most_by(case, _pages_for_nothing),
        ),
        evidence=(
            case.seen(say("rows read in scans"), scanned, say_in("unit", "/s"), FEWEST),
            case.seen(say("rows returned or changed"), useful, say_in("unit", "/s")),
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


def _scanned(case: Case, returned: float) -> float:
    """Rows a second that no index led to, and that nobody but the load can have read.

    Entries of indexes that lead to dead versions are none of them. The database counts the rows of
    all its sessions: other clients' may have read as many as their work on a core is enough for.
    """
    met, tables = versions.visits(case), versions.tables(case)
    fetched = case.needed(case.rate(_FETCHED))
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
    returned = case.rate(_RETURNED)
    if returned is None or case.rate(_FETCHED) is None:
        return None
    parts = parts_of_work(case, max(_scanned(case, returned) - _useful(case), 0.0) * ROW_S)
    if not parts:
        return None
    return priced({**parts, **dict.fromkeys(PAGE_READS, _part_of_pages(case))})


def _part_of_pages(case: Case) -> float:
    """The part of the pages read that lookups by an index do not explain, 0 to 1."""
    reads, lookups = case.rate("buffer_pool_reads"), case.rate(_FETCHED)
    return max(1 - LEAVES * (lookups or 0.0) / reads, 0.0) if reads else 0.0


RULE = Rule(
    "missing-index",
    say("a missing index"),
    judge,
    also={"generic-plans": say("plans are made without the values")},
    holds=part_of(*CORES, *PAGE_READS),
    holds_in=_holds,
)
