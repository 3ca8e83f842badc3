"""Statements read whole tables for the few rows that they want."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.other_clients import long_statement_s
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import StatementSpot
from loadstone.model.message import say
from loadstone.model.numbers import num

WASTE = 10.0
"""[P] rows read in scans for one that is given back or changed."""

BY_EVENT = 500.0
"""[P] rows that an event reads in scans: smaller tables are as well read whole."""

LONG = 5_000.0
"""[P] rows of an index that an event walks through: more than any range of the usual loads."""

LONG_WASTE = 100.0
"""[P] of them for one that is given back or changed: sums and counts walk tens for one."""

FEWEST = 50_000.0
"""[P] a second: asking for counters scans some thousand rows a second itself."""

MOST = 0.5
"""[P] of all rows that are read."""

ROW_BYTES = 8.0
"""[P] that a row takes on its way at the least: four for its packet, two for a short column."""

OURS = 0.05
"""[P] scans by event, below which they are those of a statement that is none of the load's."""

ROW_S = 0.15e-6
"""[P] CPU of reading one row in a scan."""


def judge(case: Case) -> Finding | None:
    """Rows read in scans against rows sent and changed; temporary tables are scanned as well."""
    scanned = case.needed(case.rate("handler_read_rnd_next"))
    walked = case.rate("handler_read_next") or 0.0
    changed = sum(case.rate(f"rows_{what}") or 0.0 for what in ("inserted", "updated", "deleted"))
    sent = case.rate("rows_sent")
    if sent is None:  # MySQL does not count them
        sent = max(case.needed(case.rate("com_select")), _most_rows_sent(case))
    useful = max(sent + changed, 1.0)
    few = max(FEWEST, BY_EVENT * case.tps, WASTE * useful)
    is_walk = walked >= max(FEWEST, LONG * case.tps, LONG_WASTE * useful)
    if is_walk and walked > scanned:
        few, scanned = max(FEWEST, LONG * case.tps, LONG_WASTE * useful), walked
    if scanned < few or _rows_share(case, scanned) < MOST:
        return None
    if _is_of_others(case):
        return None
    how = "through an index that tells too little" if scanned == walked else "in table scans"
    cores = server_cores(case)
    cpu = min(scanned * ROW_S / cores, 1.0) if cores else None
    worst = _worst(case)
    return Finding(
        cause="missing-index",
        group="setting",
        sentence=(
            f"An index is missing or not used: {num(scanned)} rows a second are read {how} for "
            f"{num(useful)} that are given back or changed, {num(scanned / useful)} for one"
            + (f". Most by: {worst.statement}" if worst else ".")
        ),
        evidence=(
            case.seen(
                "handler_read_next" if scanned == walked else "handler_read_rnd_next",
                scanned,
                "/s",
                few,
            ),
            case.seen("select_scan", case.rate("select_scan") or 0.0, "/s"),
        ),
        share=max(cpu or 0.0, _rows_share(case, scanned)),
        confidence=0.9,
        remedy=(
            "An index on the columns of the WHERE clause; EXPLAIN shows what is read now. Where "
            "there is one: ANALYZE TABLE, and no hint that forces another."
        ),
        acts_on="server CPU",
    )


def _most_rows_sent(case: Case) -> float:
    """How many rows a second the bytes may hold: long ranges give back what they read."""
    sent = case.rate("bytes_sent")
    if sent is None and case.step.seconds:
        sent = case.step.bytes_in / case.step.seconds
    return (sent or 0.0) / ROW_BYTES


def _is_of_others(case: Case) -> bool:
    """Whether somebody else's long statement reads them: ours would scan again and again."""
    could_scan = ("select_scan", "select_full_join", "com_update", "com_delete")
    scans = sum(case.rate(name) or 0.0 for name in could_scan)
    return scans < OURS * case.tps and long_statement_s(case) is not None


def _rows_share(case: Case, scanned: float) -> float:
    """Of all rows that are read, those that are read so."""
    how = ("key", "next", "rnd_next")
    everything = sum(case.rate(f"handler_read_{one}") or 0.0 for one in how)
    return min(scanned / everything, 1.0) if everything else 0.0


def _worst(case: Case) -> StatementSpot | None:
    """The statement that examines the most rows for one that it returns."""
    spots = case.step.hot_spots.statements if case.step.hot_spots else ()
    wasteful = [
        spot
        for spot in spots
        if spot.rows_examined >= WASTE * max(spot.rows_sent + spot.rows_affected, 1)
        and spot.no_index_used
    ]
    return max(wasteful, key=lambda spot: spot.time_s) if wasteful else None


RULE = Rule("missing-index", say("a missing index"), judge)
