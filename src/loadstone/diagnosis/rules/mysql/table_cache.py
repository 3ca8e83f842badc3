"""Tables are opened again and again: the cache is small, or somebody empties it."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores, state_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import say
from loadstone.model.numbers import num

BY_STATEMENT = 0.02
"""[P] tables opened by statement: with a cache that is large enough it goes to nought."""

STEADY = 0.5
"""[P] of the opening that throws another table out: less is a cache that fills."""

OPEN_S = 100e-6
"""[P] of CPU for opening a table anew."""

FLUSHES = 0.2
"""[P] FLUSH statements a second: one in five seconds is no administrator at work."""

REOPENED = 5.0
"""[P] tables opened by FLUSH, at the least: FLUSH LOGS and the like close none."""


def judge(case: Case) -> Finding | None:
    """Opened tables by statement, and that others were thrown out of the cache for them."""
    opened = case.needed(case.rate("opened_tables"))
    questions = case.needed(case.rate("questions"))
    size = case.needed(case.number("table_open_cache"))
    thrown = case.rate("table_open_cache_overflows")
    if not questions or opened < BY_STATEMENT * questions:
        return None
    held = case.mean("open_tables")
    if (thrown or 0.0) < STEADY * opened and (held is None or held < 0.9 * size):
        return None
    cores = server_cores(case)
    return Finding(
        cause="table-cache-small",
        group="setting",
        sentence=(
            f"{num(opened)} tables a second are opened anew, {num(opened / questions)} a "
            f"statement: table_open_cache={num(size)} does not hold those in use."
        ),
        evidence=(
            case.seen("opened_tables", opened / questions, "by statement", BY_STATEMENT),
            case.seen("table_open_cache_overflows", thrown or 0.0, "/s"),
        ),
        share=min(opened * OPEN_S / cores, 1.0) if cores else None,
        confidence=0.9,
        remedy="Raise table_open_cache (and table_definition_cache) above users × tables.",
        trial=_larger(case, max(4000, 8 * int(size))),
        acts_on="server CPU",
    )


def _larger(case: Case, wanted: int) -> Trial | None:
    """Definitions are kept apart, and are to be as many."""
    definitions = max(wanted, int(case.number("table_definition_cache") or 0))
    return dynamic(
        case,
        {"table_open_cache": str(wanted), "table_definition_cache": str(definitions)},
        "so small a table cache",
    )


def judge_flushed(case: Case) -> Finding | None:
    """FLUSH TABLES, or flush_time: all tables are closed, and opened by all users anew."""
    flushes = case.needed(case.rate("com_flush"))
    opened = case.needed(case.rate("opened_tables"))
    every_s = case.number("flush_time") or 0.0
    closings = flushes + (1 / every_s if every_s else 0.0)
    if closings < FLUSHES or opened < REOPENED * closings:
        return None
    cores = server_cores(case)
    waiting = state_share(case, "table flush") or 0.0
    cost = min(opened * OPEN_S / cores, 1.0) if cores else 0.0
    return Finding(
        cause="tables-flushed",
        group="setting",
        sentence=(
            f"All tables are closed {num(closings)} times a second (FLUSH TABLES, or flush_time), "
            f"and {num(opened)} a second are opened anew."
        ),
        evidence=(
            case.seen("com_flush", flushes, "/s", FLUSHES),
            case.seen("opened_tables", opened, "/s", REOPENED * closings),
            case.seen("users waiting for FLUSH", waiting, "of the users"),
        ),
        share=max(cost, waiting),
        confidence=0.85,
        remedy="Find who sends FLUSH (backups and monitors do); set flush_time to 0.",
        acts_on="server CPU",
    )


RULE = Rule("table-cache-small", say("the table cache is too small"), judge)
FLUSHED_RULE = Rule("tables-flushed", say("tables are closed again and again"), judge_flushed)
