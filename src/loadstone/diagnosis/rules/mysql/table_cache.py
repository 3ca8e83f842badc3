"""Tables are opened again and again: the cache is too small, or a client empties it."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores, state_share
from loadstone.diagnosis.holds import CORES, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in

BY_STATEMENT = 0.02
"""[P] Tables opened per statement: with a cache that is large enough it goes to zero."""

STEADY = 0.5
"""[P] Share of the opened tables that push another out: less is a cache that is filling."""

OPEN_S = 100e-6
"""[P] CPU of opening a table again."""

FLUSHES = 0.2
"""[P] FLUSH statements a second: no administrator sends one every five seconds."""

REOPENED = 5.0
"""[P] Lower bound of the tables opened per FLUSH: FLUSH LOGS and the like close none."""


def judge(case: Case) -> Finding | None:
    """Tables are opened often, and others are pushed out of the cache for them."""
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
        sentence=say(
            "{opened} tables a second are opened again, {each} per statement: "
            "table_open_cache={size} does not hold all tables in use.",
            opened=Number(opened),
            each=Number(opened / questions),
            size=Number(size),
        ),
        evidence=(
            case.seen(
                plain("opened_tables"), opened / questions, say("per statement"), BY_STATEMENT
            ),
            case.seen(plain("table_open_cache_overflows"), thrown or 0.0, say_in("unit", "/s")),
        ),
        share=min(opened * OPEN_S / cores, 1.0) if cores else None,
        confidence=0.9,
        remedy=say("Raise table_open_cache (and table_definition_cache) above users × tables."),
        trial=_larger(case, max(4000, 8 * int(size))),
        acts_on="server CPU",
    )


def _larger(case: Case, proposed: int) -> Trial | None:
    """Definitions have a cache of their own, which must be as large."""
    definitions = max(proposed, int(case.number("table_definition_cache") or 0))
    return dynamic(
        case,
        {"table_open_cache": str(proposed), "table_definition_cache": str(definitions)},
        say("the small table cache"),
    )


def judge_flushed(case: Case) -> Finding | None:
    """FLUSH TABLES, or flush_time: all tables are closed, and all users open them again."""
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
        sentence=say(
            "All tables are closed {closings} times a second (FLUSH TABLES, or flush_time), and "
            "{opened} a second are opened again.",
            closings=Number(closings),
            opened=Number(opened),
        ),
        evidence=(
            case.seen(plain("com_flush"), flushes, say_in("unit", "/s"), FLUSHES),
            case.seen(plain("opened_tables"), opened, say_in("unit", "/s"), REOPENED * closings),
            case.seen(say("users waiting for FLUSH"), waiting, say("of the users")),
        ),
        share=max(cost, waiting),
        confidence=0.85,
        remedy=say(
            "Find the client that sends FLUSH (backups and monitoring do), and set flush_time to 0."
        ),
        acts_on="server CPU",
    )


RULE = Rule(
    "table-cache-small",
    say("the table cache is too small"),
    judge,
    holds=part_of(*CORES, "latch", is_priced=True),
)
FLUSHED_RULE = Rule(
    "tables-flushed",
    say("tables are closed again and again"),
    judge_flushed,
    holds=part_of(*CORES, "latch", "table lock", is_priced=True),
)
