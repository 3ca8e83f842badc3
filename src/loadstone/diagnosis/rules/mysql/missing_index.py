"""Statements read whole tables for a few rows."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.holds import CORES, PAGE_READS, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.other_clients import long_statement_s
from loadstone.model.figure import Number
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import StatementSpot
from loadstone.model.message import Message, plain, say, say_in, sentences

WASTE = 10.0
"""[P] Rows read in scans for each one returned or changed."""

BY_EVENT = 500.0
"""[P] Rows that an event reads in scans: smaller tables are as well read whole."""

LONG = 5_000.0
"""[P] Rows of an index that an event walks through: more than any range of the usual loads."""

LONG_WASTE = 100.0
"""[P] Such rows for each one returned or changed: sums and counts walk tens for one."""

FEWEST = 50_000.0
"""[P] Rows a second: reading the counters scans some thousand rows a second itself."""

MOST = 0.5
"""[P] Share of all rows that are read."""

ROW_BYTES = 8.0
"""[P] Lower bound of a row's bytes on the wire: four for its packet, two for a short column."""

OURS = 0.05
"""[P] Scans per event below which they come from a statement that is none of the load's."""

ROW_S = 0.15e-6
"""[P] CPU of reading one row in a scan."""


def judge(case: Case) -> Finding | None:
    """Far more rows are scanned than sent or changed; temporary tables are scanned as well."""
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
    is_index = scanned == walked
    cores = server_cores(case)
    cpu = min(scanned * ROW_S / cores, 1.0) if cores else None
    worst = _worst(case)
    return Finding(
        cause="missing-index",
        group="setting",
        sentence=_sentence(_wasted(scanned, useful, by_index=is_index), worst),
        evidence=(
            case.seen(
                plain("handler_read_next" if is_index else "handler_read_rnd_next"),
                scanned,
                say_in("unit", "/s"),
                few,
            ),
            case.seen(plain("select_scan"), case.rate("select_scan") or 0.0, say_in("unit", "/s")),
        ),
        share=max(cpu or 0.0, _rows_share(case, scanned)),
        confidence=0.9,
        remedy=say(
            "Create an index on the columns of the WHERE clause; EXPLAIN shows what is read now. "
            "Where there is one, run ANALYZE TABLE, and remove hints that force another index."
        ),
        acts_on="server CPU",
    )


def _sentence(wasted: Message, worst: StatementSpot | None) -> Message:
    if worst is None:
        return wasted
    return sentences(wasted, say("Most by: {statement}", statement=worst.statement))


def _wasted(scanned: float, useful: float, *, by_index: bool) -> Message:
    figures = {"rows": Number(scanned), "useful": Number(useful), "each": Number(scanned / useful)}
    if by_index:
        return say(
            "An index is missing or not used: {rows} rows a second are read through an index that "
            "is not selective, for {useful} rows returned or changed, {each} for each of them.",
            **figures,
        )
    return say(
        "An index is missing or not used: {rows} rows a second are read in table scans, for "
        "{useful} rows returned or changed, {each} for each of them.",
        **figures,
    )


def _most_rows_sent(case: Case) -> float:
    """How many rows a second the bytes may hold: long ranges return what they read."""
    sent = case.rate("bytes_sent")
    if sent is None and case.step.seconds:
        sent = case.step.bytes_in / case.step.seconds
    return (sent or 0.0) / ROW_BYTES


def _is_of_others(case: Case) -> bool:
    """Whether another client's long statement reads them: ours would scan again and again."""
    could_scan = ("select_scan", "select_full_join", "com_update", "com_delete")
    scans = sum(case.rate(name) or 0.0 for name in could_scan)
    return scans < OURS * case.tps and long_statement_s(case) is not None


def _rows_share(case: Case, scanned: float) -> float:
    """The share of all rows read that are read this way."""
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


RULE = Rule(
    "missing-index", say("a missing index"), judge, holds=part_of(*CORES, *PAGE_READS, "row lock")
)
