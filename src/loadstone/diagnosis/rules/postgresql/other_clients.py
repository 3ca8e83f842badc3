"""Other clients drive the server that is measured."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES
from loadstone.diagnosis.others_work import (
    by_cpu,
    by_length,
    finding,
    not_of_ours,
    part_of_the_cores,
    rule_of,
)
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import say

SHARE = 0.2
"""[P] Part of the sessions at work that are none of the load's, where no CPU was counted."""

FEWEST = 0.5
"""[P] Such sessions at any moment: what watches a server is at work for less."""

_REMEDY = say("Find them (pg_stat_activity), and measure without them.")


def judge(case: Case) -> Finding | None:
    """CPU, a long statement, or sessions at work that are none of our users'.

    The length of statements is that of those at work: who waits for a lock, or sleeps, has none.
    """
    longest = not_of_ours(case)
    by_statement = None if longest is None else by_length(case, longest, _REMEDY)
    return by_cpu(case, _REMEDY) or by_statement or _by_sessions(case)


def _by_sessions(case: Case) -> Finding | None:
    """Where nobody counts whose the CPU is, those who want a core have their part of it."""
    account = case.step.account
    if account is None or account.others is None or part_of_the_cores(case) is not None:
        return None
    ours = account.users * account.share_of(*CORES)
    working = account.others + ours
    if account.others < FEWEST or account.others < SHARE * working:
        return None
    part = account.others / working
    return finding(
        say(
            "Others use the server: {others} sessions of other clients are at work at any moment, "
            "{part} of all that are. Do not compare these figures.",
            others=Number(account.others),
            part=Percent(part),
        ),
        (case.seen(say("sessions of others at work"), part, say("of all"), SHARE),),
        part,
        _REMEDY,
    )


RULE = rule_of(judge)
