"""The server's process is stopped repeatedly."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import SERVER, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say

SHARE = 0.1
"""[P] Share of the time: 20 looks a second at a process of this machine, one at that of another."""


def judge(case: Case) -> Finding | None:
    """State T (proc(5)): SIGSTOP, SIGTSTP or a debugger. A process that waits for cores is in R."""
    stopped = case.needed(case.host_mean("process.stopped"))
    if stopped < SHARE:
        return None
    return Finding(
        cause="server-paused",
        group="ceiling",
        sentence=say(
            "The server's process is stopped (state T), or its control group frozen, {share} of "
            "the time: a user that sends it a statement then waits until it continues.",
            share=Percent(stopped),
        ),
        evidence=(case.seen(plain("process.stopped"), stopped, say("of the time"), SHARE),),
        share=min(stopped, 1.0),
        confidence=0.95,
        remedy=say(
            "Find what stops it: a debugger, gcore or pstack, a backup that sends SIGSTOP or "
            "freezes its container."
        ),
    )


RULE = Rule(
    "server-paused",
    say("somebody stops the server's process"),
    judge,
    # A look waits until the server goes on, and then what was sent to it meanwhile is on its way.
    holds=part_of(*SERVER, "way"),
)
