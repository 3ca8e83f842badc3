"""Others drive the same server, besides the load that is measured."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.words import num, pct
from loadstone.model.finding import Finding

SHARE = 0.2
"""[P] of the statements that the server was sent."""

FEWEST = 50.0
"""[P] a second: our own looks at the counters, and those of others who watch, are some ten."""


def judge(case: Case) -> Finding | None:
    """Statements that the server counted, less those that our users sent.

    What a connection is told when it begins is counted as well: with many new ones nothing is said.
    """
    counted = case.needed(case.rate("questions"))
    new = case.needed(case.rate("connections"))
    ours = _ours(case)
    others = counted - ours - new * 2
    if others < max(FEWEST, SHARE * counted) or new > SHARE * case.tps:
        return None
    part = others / counted
    return Finding(
        cause="other-clients",
        group="validity",
        sentence=(
            f"Others use the server: of {num(counted)} statements a second that it was sent, "
            f"{num(others)} ({pct(part)}) are not of this load: do not compare these figures."
        ),
        evidence=(
            case.seen("questions", counted, "/s"),
            case.seen("statements of others", part, "of all", SHARE),
        ),
        share=part,
        confidence=0.85,
        remedy="Find them (SHOW PROCESSLIST), and measure without them.",
        acts_on="server CPU",
    )


def _ours(case: Case) -> float:
    """Statements a second that went to the server whose counters these are."""
    step = case.step
    if len(step.targets) > 1 and step.seconds:
        return step.targets[0].queries / step.seconds
    return step.qps or 0.0


RULE = Rule("other-clients", judge)
