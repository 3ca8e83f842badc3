"""performance_schema times each lock and each stage of each statement."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import at_start
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import WaitSpot
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

FINE = ("wait/synch/", "stage/")
"""Instruments that are off unless somebody switches them on: there are dozens by statement."""

EVENT_S = 0.25e-6
"""[P] of CPU for one timed event: two readings of the clock and the sums by thread and by name."""

SHARE = 0.05
"""[P] of the server's CPU from which it would be seen."""


def judge(case: Case) -> Finding | None:
    """Events that were timed by second, at the cost of one; those of the longest kinds only."""
    if not case.needed(case.is_on("performance_schema")):
        return None
    case.reads.append("performance_schema's waits")
    spots = case.needed(case.step.hot_spots).waits
    cores, window = case.needed(server_cores(case)), case.step.window
    fine = [spot for spot in spots if spot.event.startswith(FINE)]
    if not fine or window is None or not cores:
        return None
    events = sum(spot.count for spot in fine) / window.to_s
    share = min(events * EVENT_S / cores, 1.0)
    if share < SHARE:
        return None
    most = max(fine, key=lambda spot: spot.count)
    return Finding(
        cause="instrumentation",
        group="setting",
        sentence=(
            f"performance_schema times {num(events)} events of locks and stages a second, which "
            f"takes about {pct(share)} of the server's CPU; most are {_called(most)}."
        ),
        evidence=(
            case.seen("events timed", events, "/s"),
            case.seen("instruments' part of the server's CPU (estimate)", share, "", SHARE),
        ),
        share=share,
        confidence=0.6,
        remedy=(
            "Switch off in performance_schema.setup_instruments what nobody reads: "
            "UPDATE ... SET ENABLED='NO' WHERE NAME LIKE 'wait/synch/%' OR NAME LIKE 'stage/%'."
        ),
        # Instruments are rows of a table, that no journal of variables would put back.
        trial=at_start(case, {"performance_schema": "OFF"}, "performance_schema"),
        acts_on="server CPU",
    )


def _called(spot: WaitSpot) -> str:
    return f"{spot.event} ({num(spot.count)} in all)"


RULE = Rule("instrumentation", say("performance_schema's instruments"), judge)
