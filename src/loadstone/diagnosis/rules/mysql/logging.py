"""The server logs each statement."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.holds import CORES, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

LINE_S = 20e-6
"""[P] CPU of logging one statement: formatting and a write, under one lock for all."""

OFTEN = 0.5
"""[P] Share of the statements that are in the slow log."""

FEWEST = 100.0
"""[P] Statements a second below which logging each of them costs nothing noticeable."""

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
        sentence=say(
            "The general log is on: {statements} statements a second are written to a table, one "
            "after the other.",
            statements=Number(questions),
        )
        if "TABLE" in output
        else say(
            "The general log is on: {statements} statements a second are written to a file, one "
            "after the other.",
            statements=Number(questions),
        ),
        evidence=(case.seen(plain("questions"), questions, say_in("unit", "/s"), FEWEST),),
        share=_cost(case, questions),
        confidence=0.9,
        remedy=say("SET GLOBAL general_log = OFF."),
        trial=dynamic(case, {"general_log": "OFF"}, say("the general log")),
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
        sentence=say(
            "{part} of the statements are written to the slow log (long_query_time={limit}): "
            "{slow} a second.",
            part=Percent(min(slow / questions, 1.0)),
            limit=limit,
            slow=Number(slow),
        ),
        evidence=(case.seen(plain("slow_queries"), slow / questions, say("of statements"), OFTEN),),
        share=_cost(case, slow),
        confidence=0.9,
        remedy=say("Raise long_query_time, or switch slow_query_log off."),
        trial=dynamic(case, {"slow_query_log": "OFF"}, say("the slow log")),
        acts_on="server CPU",
    )


def judge_audit(case: Case) -> Finding | None:
    """A plugin logs who does what: MariaDB's server_audit, or audit_log."""
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
        sentence=say(
            "The audit log is on: {statements} statements a second are logged, one after the "
            "other.",
            statements=Number(questions),
        ),
        evidence=(case.seen(plain("questions"), questions, say_in("unit", "/s"), FEWEST),),
        share=_cost(case, questions),
        confidence=0.85,
        remedy=say("Audit only logins and changes of privileges, where your policy allows it."),
        trial=dynamic(case, {"server_audit_logging": "OFF"}, say("the audit log")),
        acts_on="server CPU",
    )


def _cost(case: Case, lines: float) -> float | None:
    """Logging's share of the server's CPU, or of the one lock's time where that is larger."""
    cores = server_cores(case)
    return min(max(lines * LINE_S, lines * LINE_S / cores), 1.0) if cores else None


RULE = Rule(
    "general-log", say("the general log is on"), judge, holds=part_of(*CORES, "latch", "disk write")
)
AUDIT_RULE = Rule(
    "audit-log",
    say("the audit log is on"),
    judge_audit,
    holds=part_of(*CORES, "latch", "disk write"),
)
SLOW_RULE = Rule(
    "slow-log",
    say("the slow log takes nearly everything"),
    judge_slow,
    holds=part_of(*CORES, "latch", "disk write"),
)
