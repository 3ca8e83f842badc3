"""Somebody stops the server's process for a while, again and again."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.unexplained import stalled
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import pct

SHARE = 0.1
"""[P] of the looks at the process, one a second, that find it stopped."""

LOOKS = 2.0
"""[P] of them at the least: one may have met a single moment. Where users stand still again and
again one is enough, as looks are few in a short step."""


def judge(case: Case) -> Finding | None:
    """State T (proc(5)): SIGSTOP, SIGTSTP or a debugger. Whoever waits for cores is in state R."""
    stopped = case.needed(case.host_mean("process.stopped"))
    enough = 1.0 if stalled(case) else LOOKS
    if stopped < SHARE or round(stopped * case.step.seconds, 3) < enough:
        return None
    return Finding(
        cause="server-paused",
        group="ceiling",
        sentence=(
            f"The server's process is stopped (state T) {pct(stopped)} of the time: whoever sends "
            "it a statement then waits until it is let go on."
        ),
        evidence=(case.seen("process.stopped", stopped, "of the time", SHARE),),
        share=min(stopped, 1.0),
        confidence=0.95,
        remedy="Find who stops it: a debugger, gcore or pstack, a backup that sends SIGSTOP.",
    )


RULE = Rule("server-paused", say("somebody stops the server's process"), judge)
