"""Statements that nobody sent: triggers, routines and events of the server."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

INSIDE = 0.2
"""[P] of the statements that the server carried out."""

FEWEST = 50.0
"""[P] a second."""

CALLED = 0.5
"""[P] calls by statement inside, from which it is the load's own wish."""


def judge(case: Case) -> Finding | None:
    """[S] both manuals: Queries counts statements inside stored programs, Questions does not."""
    every, sent = case.needed(case.rate("queries")), case.needed(case.rate("questions"))
    # Preparing and closing are in the former, too, and in the latter not.
    inside = every - sent - 2 * (case.rate("com_stmt_prepare") or 0.0)
    if inside < max(FEWEST, INSIDE * every):
        return None
    if (case.rate("com_call_procedure") or 0.0) >= CALLED * inside:
        return None
    part = inside / every
    return Finding(
        cause="stored-programs",
        group="setting",
        sentence=(
            f"The server carries out more than it is sent: beside {num(sent)} statements a second "
            f"there are {num(inside)} ({pct(part)} of all) inside triggers, routines or events."
        ),
        evidence=(
            case.seen("queries", every, "/s"),
            case.seen("statements inside stored programs", part, "of all", INSIDE),
        ),
        share=part,
        confidence=0.7,
        remedy=(
            "SHOW TRIGGERS, and SHOW EVENTS, on the tables of the load: do without them, or make "
            "their statements cheaper."
        ),
        acts_on="server CPU",
    )


RULE = Rule("stored-programs", say("triggers, routines or events"), judge)
