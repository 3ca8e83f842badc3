"""Prepared statements are planned each time that they are executed, as a setting wants it.

Source: https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-PLAN-CACHE-MODE
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import part_of_cores, parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import counted
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

PLAN_S = 10e-6
"""[P] CPU of planning a statement on one table: measured 10 to 19 µs for a lookup by its key
(PostgreSQL 15, an EPYC). Joins and partitions take more, so that it is a lower bound. Where
pg_stat_statements times planning, that time counts instead."""

SHARE = 0.05
"""[P] Part of the server's CPU."""

PREPARED = ("prepared", "pipelined")
"""Protocols with which a statement is prepared once."""


def is_prepared(case: Case) -> bool:
    """Whether the load's statements may be prepared, and so keep a plan: others' are not known."""
    return case.drive.get("protocol", "prepared") in PREPARED


def is_forced(case: Case) -> bool:
    """Whether a setting has prepared statements planned each time."""
    return is_prepared(case) and case.variable("plan_cache_mode") == "force_custom_plan"


def is_generic(case: Case) -> bool:
    """Whether a setting has statements that are known to be prepared planned without values."""
    return case.drive.get("protocol") in PREPARED and wants_generic(case)


def wants_generic(case: Case) -> bool:
    """Whether the setting keeps the plans of all statements that are prepared."""
    return case.variable("plan_cache_mode") == "force_generic_plan"


def judge(case: Case) -> Finding | None:
    """Statements a second times a plan, where generic plans are ruled out."""
    case.needed(case.variable("plan_cache_mode"))
    statements = case.step.qps or 0.0
    if not is_forced(case) or not statements:
        return None
    used = _cores(case)
    share = case.needed(part_of_cores(case, used))
    if share < SHARE:
        return None
    return Finding(
        cause="plan-cache",
        group="setting",
        sentence=sentences(
            _said(case, statements, used, share),
            *counted.most_by(case, lambda one: one.plan_s),
        ),
        evidence=(
            case.seen(say("statements that are planned"), statements, say_in("unit", "/s")),
            case.seen(say("planning's part of the CPU (estimate)"), share, plain(""), SHARE),
        ),
        share=share,
        confidence=0.7,
        remedy=say(
            "Set plan_cache_mode=auto, which keeps a plan where plans for single values are no "
            "better."
        ),
        trial=dynamic(case, {"plan_cache_mode": "auto"}, say("planning each time")),
        acts_on="server CPU",
    )


def _said(case: Case, statements: float, used: float, share: float) -> Message:
    figures = {
        "statements": Number(statements),
        "each": Number(1e6 * used / statements),
        "share": Percent(share),
    }
    if server_cores(case):
        return say(
            "With plan_cache_mode=force_custom_plan {statements} prepared statements a second are "
            "planned again: at {each} µs or more that is {share} of the server's CPU.",
            **figures,
        )
    return say(
        "With plan_cache_mode=force_custom_plan {statements} prepared statements a second are "
        "planned again: at {each} µs or more that is {share} of the users' time in the server.",
        **figures,
    )


def _cores(case: Case) -> float:
    """Cores that plan."""
    timed = counted.cores_of(case, counted.planning(case))
    return (case.step.qps or 0.0) * PLAN_S if timed is None else timed


def _holds(case: Case) -> Holds | None:
    parts = parts_of_work(case, _cores(case))
    is_timed = counted.planning(case) is not None
    return (parts_of(parts) if is_timed else priced(parts)) if parts else None


RULE = Rule(
    "plan-cache",
    say("prepared statements are planned each time"),
    judge,
    holds=part_of(*CORES),
    holds_in=_holds,
)
