"""Estimates how far another machine's monotonic clock is ahead of ours, with an error bound.

Cristian's algorithm (F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3,
1989): the other clock was read at some moment between our question and its answer. The middle of
the two is the best estimate and half the round trip its error bound, so the shortest round trip is
the most precise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Exchange:
    """One question and its answer, in nanoseconds; the middle reading is the other clock's."""

    sent_ns: int
    remote_ns: int
    received_ns: int

    @property
    def round_trip_ns(self) -> int:
        """The time from the question to the answer."""
        return self.received_ns - self.sent_ns


@dataclass(frozen=True)
class Offset:
    """What to add to our clock to get the other's: `offset_ns`, give or take `bound_ns`.

    Clocks drift apart: by 50 ppm, the usual bound of a quartz, 3 ms in a minute. So they are read
    again before each step.
    """

    offset_ns: int
    bound_ns: int

    def there(self, here_ns: int) -> int:
        """Convert a time of our clock to the other clock."""
        return here_ns + self.offset_ns


def offset_of(exchanges: Sequence[Exchange]) -> Offset:
    """The offset from the exchange with the shortest round trip.

    Raises:
        ValueError: there is no exchange, or one whose answer came before its question.
    """
    if not exchanges or any(each.round_trip_ns < 0 for each in exchanges):
        raise ValueError("an offset wants exchanges whose answers came after their questions")
    best = min(exchanges, key=lambda each: each.round_trip_ns)
    bound_ns = -(-best.round_trip_ns // 2)
    return Offset(best.remote_ns - best.sent_ns - best.round_trip_ns // 2, bound_ns)
