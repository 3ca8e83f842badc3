"""The server records how it plans or carries out each statement, for whom nobody may ask.

Sources: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_OPT_TRACE.html and
https://dev.mysql.com/doc/refman/8.0/en/show-profile.html
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Joined, plain, say, say_in, sentences

TRACE_S = 14e-6
PROFILE_S = 32e-6
"""[P] CPU of a statement whose plan is traced, and of one that is profiled: measured 11 and 32 µs
with MySQL 9.7, 17 and 32 with MariaDB 10.11 (point selects of 27 to 30)."""

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

_OFF: Mapping[str, str] = {"optimizer_trace": "enabled=off", "profiling": "OFF"}
"""By the settings, the values with which nothing is recorded."""


def judge(case: Case) -> Finding | None:
    """Statements times what recording one costs."""
    questions, costs = case.needed(case.rate("questions")), _each_s(case)
    if not costs:
        return None
    share = case.needed(share_of(case, questions * sum(costs.values())))
    if share < MATTERS:
        return None
    return Finding(
        cause="statement-tracing",
        group="setting",
        sentence=sentences(
            say(
                "The server records how it plans and carries out each of {statements} statements a "
                "second ({settings}).",
                statements=Number(questions),
                settings=Joined([f"{name}={case.variable(name)}" for name in costs]),
            ),
            say("This takes {share} of the users' time.", share=Percent(share)),
        ),
        evidence=(case.seen(plain("questions"), questions, say_in("unit", "/s")),),
        share=share,
        confidence=0.8,
        remedy=say("Switch it off, also where sessions do it for themselves."),
        trial=dynamic(case, {name: _OFF[name] for name in costs}, say("recording statements")),
        acts_on="server CPU",
    )


def _each_s(case: Case) -> dict[str, float]:
    """By setting that is on, seconds of each statement."""
    found: dict[str, float] = {}
    if "enabled=on" in (case.variable("optimizer_trace") or "").lower():
        found["optimizer_trace"] = TRACE_S
    if case.is_on("profiling"):
        found["profiling"] = PROFILE_S
    return found


def _cores(case: Case) -> float | None:
    questions = case.rate("questions")
    return None if questions is None else questions * sum(_each_s(case).values())


RULE = rule_of("statement-tracing", say("each statement is recorded"), judge, _cores)
