"""Scans look at pages that hold nothing: the room of rows that were deleted or have moved.

VACUUM removes dead versions and keeps their pages for new ones; only empty pages at a table's end
go back to the system. A queue whose rows come and go stays as large as it has ever been.

Source: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.diagnosis.rules.postgresql import versions
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in, sentences

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""


def judge(case: Case) -> Finding | None:
    """Pages in scans beyond one for each row and dead version: at least so many are empty."""
    found = case.needed(versions.tables(case))
    empty = case.needed(_empty(case))
    share = case.needed(share_of(case, empty * versions.PAGE_S))
    worst = max(found, key=versions.empty_pages_of, default=None)
    if worst is None or share < MATTERS:
        return None
    rows = versions.per_s(case, sum(one.scanned for one in found)) or 0.0
    return Finding(
        cause="bloated-tables",
        group="setting",
        sentence=sentences(
            say(
                "Scans look at {empty} pages a second that hold no row, for {rows} rows a second. "
                "Most are of table {table}, which has {pages} pages for {live} rows: the room of "
                "rows that were deleted or have moved.",
                empty=Number(empty),
                rows=Number(rows),
                table=worst.table,
                pages=Number(worst.pages),
                live=Number(worst.live),
            ),
            say("This takes {share} of the users' time.", share=Percent(share)),
        ),
        evidence=(
            case.seen(say("pages in scans that hold no row"), empty, say_in("unit", "/s")),
            case.seen(plain("pg_stat_user_tables.seq_tup_read"), rows, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.7,
        remedy=say(
            "Rewrite {table}: VACUUM FULL and CLUSTER lock it as long as they work, pg_repack "
            "does not. Have autovacuum come earlier, so that it stays small, or give these "
            "statements an index.",
            table=worst.table,
        ),
        acts_on="server CPU",
    )


def _empty(case: Case) -> float | None:
    """Such pages, a second; `None`: the views were not read."""
    found = versions.tables(case)
    if found is None:
        return None
    return versions.per_s(case, sum(map(versions.empty_pages_of, found)))


def _cores(case: Case) -> float | None:
    empty = _empty(case)
    return None if empty is None else empty * versions.PAGE_S


RULE = rule_of("bloated-tables", say("tables are mostly empty pages"), judge, _cores)
