"""Each statement is written down by the server."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

LINE_S = 20e-6
"""[P] of one statement's line: formatting and a write, under one lock for all."""

OFTEN = 0.5
"""[P] of the statements that are in the slow log."""

FEWEST = 100.0
"""[P] statements a second below which a line each costs nothing that shows."""

_ALL_STATEMENTS = ("ALL", "QUERIES")


def judge(case: Case) -> Finding | None:
    """The general log is on, and there are statements."""
    on = case.needed(case.is_on("general_log"))
    questions = case.needed(case.rate("questions"))
    output = (case.variable("log_output") or "FILE").upper()
    if not on or questions < FEWEST or output == "NONE":
        return None
    return Finding(
        cause="general-log",
        group="setting",
        sentence=(
            f"The general log is on: {num(questions)} statements a second are written to "
            f"{'a table' if 'TABLE' in output else 'its file'}, one after the other."
        ),
        evidence=(case.seen("questions", questions, "/s", FEWEST),),
        share=_cost(case, questions),
        confidence=0.9,
        remedy="SET GLOBAL general_log = OFF.",
        trial=dynamic(case, {"general_log": "OFF"}, "the general log"),
        acts_on="server CPU",
    )


def judge_slow(case: Case) -> Finding | None:
    """The slow log takes most statements."""
    on = case.needed(case.is_on("slow_query_log"))
    slow, questions = case.needed(case.rate("slow_queries")), case.needed(case.rate("questions"))
    if not on or questions < FEWEST or slow < OFTEN * questions:
        return None
    limit = case.variable("long_query_time") or ""
    return Finding(
        cause="slow-log",
        group="setting",
        sentence=(
            f"{pct(min(slow / questions, 1.0))} of the statements are written to the slow log "
            f"(long_query_time={limit}): {num(slow)} a second."
        ),
        evidence=(case.seen("slow_queries", slow / questions, "of statements", OFTEN),),
        share=_cost(case, slow),
        confidence=0.9,
        remedy="Raise long_query_time, or switch slow_query_log off.",
        trial=dynamic(case, {"slow_query_log": "OFF"}, "the slow log"),
        acts_on="server CPU",
    )


def judge_audit(case: Case) -> Finding | None:
    """A plugin writes down who does what: MariaDB's server_audit, or audit_log."""
    by_mariadb = case.is_on("server_audit_logging")
    policy = (case.variable("audit_log_policy") or "NONE").upper()
    questions = case.needed(case.rate("questions"))
    if questions < FEWEST or not (by_mariadb or policy in _ALL_STATEMENTS):
        return None
    events = (case.variable("server_audit_events") or "").upper()
    if by_mariadb and events and not any(kind in events for kind in ("QUERY", "TABLE")):
        return None  # logins only
    return Finding(
        cause="audit-log",
        group="setting",
        sentence=(
            f"The audit log is on: {num(questions)} statements a second are written down, one "
            "after the other."
        ),
        evidence=(case.seen("questions", questions, "/s", FEWEST),),
        share=_cost(case, questions),
        confidence=0.85,
        remedy="Audit logins and changes of rights only, where the rules of the house allow it.",
        trial=dynamic(case, {"server_audit_logging": "OFF"}, "the audit log"),
        acts_on="server CPU",
    )


def _cost(case: Case, lines: float) -> float | None:
    """Of the server's CPU, and at least of the one lock's time."""
    cores = server_cores(case)
    return min(max(lines * LINE_S, lines * LINE_S / cores), 1.0) if cores else None


RULE = Rule("general-log", say("the general log is on"), judge)
AUDIT_RULE = Rule("audit-log", say("the audit log is on"), judge_audit)
SLOW_RULE = Rule("slow-log", say("the slow log takes nearly everything"), judge_slow)
