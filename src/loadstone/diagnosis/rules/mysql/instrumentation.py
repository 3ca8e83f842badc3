"""performance_schema times each lock and each stage of each statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.holds import CORES, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import at_start
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import WaitSpot
from loadstone.model.message import Message, plain, say, say_in, sentences

FINE = ("wait/synch/", "stage/")
"""Instruments that are off by default: there are dozens per statement."""

EVENT_S = 0.25e-6
"""[P] CPU of one timed event: two readings of the clock, and the sums by thread and by name."""

SHARE = 0.05
"""[P] Share of the server's CPU from which it would be noticed."""


def judge(case: Case) -> Finding | None:
    """Timed events a second times the cost of one."""
    if not case.needed(case.is_on("performance_schema")):
        return None
    case.reads.append(say("performance_schema's waits"))
    spots = case.needed(case.step.hot_spots)
    cores, window = case.needed(server_cores(case)), case.step.window
    fine = [spot for spot in spots.waits if spot.event.startswith(FINE)]
    timed = spots.fine_events or sum(spot.count for spot in fine)
    if not timed or window is None or not cores:
        return None
    events = timed / window.to_s
    share = min(events * EVENT_S / cores, 1.0)
    if share < SHARE:
        return None
    return Finding(
        cause="instrumentation",
        group="setting",
        sentence=sentences(
            say(
                "performance_schema times {events} lock and stage events a second, which takes "
                "about {share} of the server's CPU.",
                events=Number(events),
                share=Percent(share),
            ),
            *_most(fine),
        ),
        evidence=(
            case.seen(say("events timed"), events, say_in("unit", "/s")),
            case.seen(
                say("instruments' share of the server's CPU (estimate)"), share, plain(""), SHARE
            ),
        ),
        share=share,
        confidence=0.6,
        remedy=say(
            "Switch off the instruments that nobody reads in performance_schema.setup_instruments: "
            "UPDATE ... SET ENABLED='NO' WHERE NAME LIKE 'wait/synch/%' OR NAME LIKE 'stage/%'."
        ),
        # Instruments are rows of a table, which no journal of variables would put back.
        trial=at_start(case, {"performance_schema": "OFF"}, say("performance_schema")),
        acts_on="server CPU",
    )


def _most(fine: Sequence[WaitSpot]) -> Iterator[Message]:
    most = max(fine, key=lambda spot: spot.count, default=None)
    if most is not None:
        yield say(
            "Of waits for locks, the most are {event} ({count} in all).",
            event=most.event,
            count=Number(most.count),
        )


RULE = Rule(
    "instrumentation",
    say("performance_schema's instruments"),
    judge,
    holds=part_of(*CORES, is_priced=True),
)
