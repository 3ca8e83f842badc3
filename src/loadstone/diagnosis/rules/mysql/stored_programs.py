"""Statements that no client sent: triggers, routines and events of the server."""

from __future__ import annotations

from loadstone.analyse.cores import client_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

STATEMENT_S = 1e-6
"""[P] Least CPU of a statement in a procedure, such as an assignment."""

LONGEST = 100_000
"""[P] Statements that a call executes, at most."""

INSIDE = 0.2
"""[P] Share of the statements that the server executes."""

FEWEST = 50.0
"""[P] Such statements a second."""

CALLED = 0.5
"""[P] Calls per statement inside, from which the load itself asks for them."""


def judge(case: Case) -> Finding | None:
    """[S] both manuals: Queries counts statements inside stored programs, Questions does not."""
    every, sent = case.needed(case.rate("queries")), case.needed(case.rate("questions"))
    # Queries also counts preparing and closing statements, Questions does not.
    inside = every - sent - 2 * (case.rate("com_stmt_prepare") or 0.0)
    called = case.rate("com_call_procedure") or 0.0
    # Other clients' procedures execute as many as their work on a core is enough for.
    of_others = min(client_cores(case.step) / STATEMENT_S, called * LONGEST)
    if inside - of_others < max(FEWEST, INSIDE * every):
        return None
    if called >= CALLED * inside:
        return None
    part = inside / every
    return Finding(
        cause="stored-programs",
        group="setting",
        sentence=say(
            "The server executes more than it receives: on top of {sent} statements a second, "
            "{inside} ({part} of all) run inside triggers, routines or events.",
            sent=Number(sent),
            inside=Number(inside),
            part=Percent(part),
        ),
        evidence=(
            case.seen(plain("queries"), every, say_in("unit", "/s")),
            case.seen(say("statements inside stored programs"), part, say("of all"), INSIDE),
        ),
        share=part,
        confidence=0.7,
        remedy=say(
            "Find them with SHOW TRIGGERS and SHOW EVENTS on the tables of the load; remove them, "
            "or make their statements cheaper."
        ),
        acts_on="server CPU",
    )


RULE = Rule("stored-programs", say("triggers, routines or events"), judge, holds=part_of(*CORES))
