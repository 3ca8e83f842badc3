"""InnoDB delays changes until purge has caught up."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic, mysql_release
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

SHARE = 0.1
"""[P] Share of the users' time."""

FROM, FROM_SINCE_8_0_14 = 0.5, 0.9995
EACH_S = 0.010
"""[S] MySQL's manual, "Purge configuration", and trx_purge_dml_delay in trx0purge.cc of both
servers: a row is delayed by (history / lag - 0.5) × 10 ms, of MySQL since 8.0.14 by 0.9995, and by
innodb_max_purge_lag_delay at most, by default not at all."""


_NEW = (8, 0, 14)


def judge(case: Case) -> Finding | None:
    """Rows changed a second, times the delay of each, are the users that are delayed."""
    lag = case.needed(case.number("innodb_max_purge_lag"))
    most_us = case.needed(case.number("innodb_max_purge_lag_delay"))
    history = case.needed(case.mean("history_length"))
    if not lag or not most_us or history <= max(lag, _batches(case)):
        return None
    is_new = mysql_release(case.variable("version") or "") >= _NEW
    begins = FROM_SINCE_8_0_14 if is_new else FROM
    delay_s = min((history / lag - begins) * EACH_S, most_us / 1e6)
    rows = sum(case.rate(f"rows_{what}") or 0.0 for what in ("inserted", "updated", "deleted"))
    share = min(rows * delay_s / case.users, 1.0)
    if share < SHARE:
        return None
    return Finding(
        cause="purge-delay",
        group="wait",
        sentence=say(
            "Changes are delayed on purpose: innodb_max_purge_lag={lag} and the history has "
            "{history} entries, so each changed row waits {delay} ms. That is {share} of the "
            "users' time.",
            lag=Number(lag),
            history=Number(history),
            delay=Number(1000 * delay_s),
            share=Percent(share),
        ),
        evidence=(
            case.seen(plain("history_length"), history, say_in("unit", "entries"), lag),
            case.seen(say("rows changed"), rows, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.85,
        remedy=say("Set innodb_max_purge_lag to 0, and look for what slows purge down."),
        trial=dynamic(case, {"innodb_max_purge_lag": "0"}, say("delaying changes for purge")),
    )


def _batches(case: Case) -> float:
    """A history that newer servers purge in one go, which delays nobody."""
    if mysql_release(case.variable("version") or "") < _NEW:
        return 0.0
    threads, batch = case.number("innodb_purge_threads"), case.number("innodb_purge_batch_size")
    return (threads or 0.0) * (batch or 0.0)


RULE = Rule(
    "purge-delay", say("changes are delayed for purge"), judge, holds=time_at("paused", "other")
)
