"""Statements read whole tables for a few rows."""

from __future__ import annotations

from collections.abc import Collection

from loadstone.analyse.cores import client_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import (
    COMMIT,
    CORES,
    PAGE_READS,
    SERVER,
    Holds,
    part_of,
    priced,
)
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.other_clients import long_statement_s
from loadstone.diagnosis.wasted_rows import LONG_WASTE, MOST, WASTE, RowsRead, rows_read, sums_up
from loadstone.model.account import Account
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import StatementSpot
from loadstone.model.message import Message, plain, say, say_in, sentences

ROW_BYTES = 8.0
"""[P] Lower bound of a row's bytes on the wire: four for its packet, two for a short column."""

OURS = 0.05
"""[P] Scans per event below which they come from a statement that is none of the load's."""

ROW_S = 0.2e-6
"""[P] CPU of reading one row in a scan, where no statement's time is known: that of short rows with
a simple condition. Measured 0.21 µs with MariaDB 10.11 and 0.39 with MySQL 9.7 (sysbench's tables
on an EPYC, point selects without the primary key)."""

NEARLY_ALL = 0.9
"""[P] Part of the statements that the known ones must be to say how many rows all have sent."""

LEAVES = 2.0
"""Leaves that a lookup reads: its index's, and that of the row."""


_ENDS = ("BEGIN", "START", "COMMIT", "ROLLBACK")


def judge(case: Case) -> Finding | None:
    """Far more rows are scanned than sent or changed; temporary tables are scanned as well."""
    rows = _rows(case)
    if rows.read < rows.few or _rows_share(case, rows.read) < MOST:
        return None
    if _is_of_others(case):
        return None
    cores = server_cores(case)
    wasteful = _wasteful(case, rows)
    useful = [spot for spot in wasteful if rows.by_index and sums_up(spot.statement)]
    if wasteful and len(useful) == len(wasteful):
        return None
    others = [spot for spot in wasteful if spot not in useful]
    worst = max(others, key=lambda spot: spot.time_s, default=None)
    return Finding(
        cause="missing-index",
        group="setting",
        sentence=_sentence(rows.said, worst),
        evidence=(
            case.seen(
                plain("handler_read_next" if rows.by_index else "handler_read_rnd_next"),
                rows.read,
                say_in("unit", "/s"),
                rows.few,
            ),
            case.seen(plain("select_scan"), case.rate("select_scan") or 0.0, say_in("unit", "/s")),
        ),
        share=min(rows.wasted * ROW_S / cores, 1.0) if cores else None,
        confidence=0.9,
        remedy=say(
            "Create an index on the columns of the WHERE clause; EXPLAIN shows what is read now. "
            "Where there is one, run ANALYZE TABLE, and remove hints that force another index."
        ),
        acts_on="server CPU",
    )


def _rows(case: Case) -> RowsRead:
    """Rows read in scans, or through an index where these are more and far too many."""
    scanned = case.needed(case.rate("handler_read_rnd_next"))
    walked = case.rate("handler_read_next") or 0.0
    changed = sum(case.rate(f"rows_{what}") or 0.0 for what in ("inserted", "updated", "deleted"))
    sent = case.rate("rows_sent")
    if sent is None:  # MySQL does not count them
        by_digests = _rows_sent(case)
        most = _most_rows_sent(case) if by_digests is None else by_digests
        sent = max(case.needed(case.rate("com_select")), most)
    useful = max(sent + changed, 1.0)
    return rows_read(case, scanned=scanned, led_to=walked, useful=useful)


def _holds(case: Case) -> Holds | None:
    """The time of reading rows for nothing: on a core, waiting for one, and waiting for pages.

    Row locks that a search keeps follow from that. performance_schema's time of the statements
    says the most; otherwise the CPU of so many rows, and the pages that lookups do not explain.
    """
    account = case.step.account
    if account is None:
        return None
    rows = _rows(case)
    by_statements = _part_by_statements(case, account, _wasteful(case, rows))
    if by_statements is not None:
        # How much of their time an index saves is not measured: what an ordinary one takes stays.
        return priced(dict.fromkeys((*CORES, *PAGE_READS), by_statements))
    parts = parts_of_work(case, rows.wasted * ROW_S)
    return priced(parts | dict.fromkeys(PAGE_READS, _part_of_pages(case))) if parts else None


def _part_by_statements(
    case: Case, account: Account, wasteful: Collection[StatementSpot]
) -> float | None:
    """Their part of the users' time in the server without locks and commits; `None`: not timed."""
    window = case.step.window
    if not wasteful or window is None or not case.step.hot_spots:
        return None
    seconds = window.to_s * account.users
    rows = account.share_of("row lock")
    spots = case.step.hot_spots.statements
    locking = sum(spot.time_s for spot in spots if _locks(spot.statement))
    reading = sum(spot.time_s for spot in wasteful if not _locks(spot.statement)) / seconds
    changing = sum(spot.time_s for spot in wasteful if _locks(spot.statement)) / seconds
    # Statements that lock rows wait for them, each for its part of their time.
    waits = min(rows * seconds / locking, 1.0) if locking else 0.0
    inside = account.share_of(*(place for place in SERVER if place not in ("row lock", *COMMIT)))
    return min((reading + changing * (1 - waits)) / inside, 1.0) if inside else None


def _locks(statement: str) -> bool:
    """Whether a statement may wait for rows: not the ends of transactions, nor plain reads."""
    text = statement.upper()
    if text.startswith(_ENDS):
        return False
    return not text.startswith("SELECT") or "FOR UPDATE" in text or " SHARE" in text


def _part_of_pages(case: Case) -> float:
    """The part of the pages read from the disk that lookups do not explain, 0 to 1.

    A lookup through an index reads a leaf of it at most, and the leaf that has its row; all others
    come with the rows that are read one after the other.
    """
    reads, lookups = case.rate("buffer_pool_reads"), case.rate("handler_read_key")
    if not reads or lookups is None:
        return 0.0
    return max(1 - LEAVES * lookups / reads, 0.0)


def _sentence(wasted: Message, worst: StatementSpot | None) -> Message:
    if worst is None:
        return wasted
    return sentences(wasted, say("Most by: {statement}", statement=worst.statement))


def _rows_sent(case: Case) -> float | None:
    """Rows a second that performance_schema's statements have sent; `None`: some are not known.

    They are counted from the start of the load on.
    """
    spots, window = case.step.hot_spots, case.step.window
    known, asked = spots.statements if spots else (), case.rate("questions")
    if not known or window is None or not asked:
        return None
    if sum(spot.count for spot in known) < NEARLY_ALL * asked * window.to_s:
        return None
    return sum(spot.rows_sent for spot in known) / window.to_s


def _most_rows_sent(case: Case) -> float:
    """How many rows a second the bytes may hold: long ranges return what they read."""
    sent = case.rate("bytes_sent")
    if sent is None and case.step.seconds:
        sent = case.step.bytes_in / case.step.seconds
    return (sent or 0.0) / ROW_BYTES


def _is_of_others(case: Case) -> bool:
    """Whether another client's long statement reads them: ours would scan again and again.

    Reads that scan are counted. A change may scan as well, unless other clients' work on a core is
    enough for all the rows.
    """
    if long_statement_s(case) is None:
        return False
    scans = sum(case.rate(name) or 0.0 for name in ("select_scan", "select_full_join"))
    changes = sum(case.rate(name) or 0.0 for name in ("com_update", "com_delete"))
    theirs = _rows(case).wasted * ROW_S <= client_cores(case.step)
    return scans + (0.0 if theirs else changes) < OURS * case.tps


def _rows_share(case: Case, scanned: float) -> float:
    """The share of all rows read that are read this way."""
    how = ("key", "next", "rnd_next")
    everything = sum(case.rate(f"handler_read_{one}") or 0.0 for one in how)
    return min(scanned / everything, 1.0) if everything else 0.0


def _wasteful(case: Case, rows: RowsRead) -> list[StatementSpot]:
    """The statements that examine far more rows than they return or change, by no good index."""
    spots = case.step.hot_spots.statements if case.step.hot_spots else ()
    each = LONG_WASTE if rows.by_index else WASTE
    return [
        spot
        for spot in spots
        if spot.rows_examined >= each * max(spot.rows_sent + spot.rows_affected, 1)
        and (rows.by_index or spot.no_index_used)
    ]


RULE = Rule(
    "missing-index",
    say("a missing index"),
    judge,
    holds=part_of(*CORES, *PAGE_READS, "row lock", is_priced=True),
    holds_in=_holds,
)
