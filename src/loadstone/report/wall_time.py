"""A note on where a run's wall time went, if much of it was not the load."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.model.figure import Seconds
from loadstone.model.message import Joined, Message, say
from loadstone.model.result import WallTime

LONG_S = 10.0
"""[P] Seconds besides the load from which a reader wonders where they went."""

LARGE = 1 / 3
"""[P] The same as a share of the wall time."""

_SHOWN_S = 0.5
"""Shorter phases round to zero seconds."""


def wall_time_notes(wall: WallTime | None) -> Iterator[Message]:
    """One line with all phases, or none where the load took most of the time."""
    if wall is None:
        return
    besides_s = wall.besides_load_s
    if besides_s <= LONG_S or besides_s <= LARGE * wall.total_s:
        return
    yield say(
        "the run took {total}, of which {load} under load: {phases}",
        total=Seconds(wall.total_s),
        load=Seconds(wall.load_s),
        phases=Joined(_phases(wall)),
    )


def _phases(wall: WallTime) -> Iterator[Message]:
    """Those that took time, in their order."""
    phases = (
        (say("preparing {time}", time=Seconds(wall.preparing_s)), wall.preparing_s),
        (say("connecting {time}", time=Seconds(wall.connecting_s)), wall.connecting_s),
        (say("warm-up {time}", time=Seconds(wall.warmup_s)), wall.warmup_s),
        (say("windows {time}", time=Seconds(wall.window_s)), wall.window_s),
        (say("closing steps {time}", time=Seconds(wall.closing_s)), wall.closing_s),
        (
            say("evaluating and clearing up {time}", time=Seconds(wall.evaluating_s)),
            wall.evaluating_s,
        ),
    )
    yield from (said for said, seconds in phases if seconds >= _SHOWN_S)
