"""Waits that end when another session's thread has gone on: they are for whatever that waits for.

Who waits for a latch, for a place, or for the leader of a commit group waits for one of the threads
that wait for no other. Where those are was not seen one by one: the waits are divided as the
threads on their own are. [P]
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.holds import CORES, PAGE_READS
from loadstone.model.account import Account, Place

FOR_THREADS: tuple[Place, ...] = ("admission", "latch", "commit")
"""Where users wait for another session's thread."""

_ON_THEIR_OWN: tuple[Place, ...] = (
    *CORES,
    *PAGE_READS,
    *("disk write", "log sync", "binlog sync"),
)
"""Where a thread is that waits for no other."""


def with_waits_for(
    account: Account, parts: Mapping[Place, float], own: Mapping[Place, float]
) -> dict[Place, float]:
    """The parts of places that a cause holds, and of the waits for threads that it holds up.

    Args:
        account: of the users' time.
        parts: of places the part that the cause holds.
        own: the part that it holds of places where a thread waits for no other.
    """
    everywhere = account.share_of(*_ON_THEIR_OWN)
    if account.view != "threads" or not everywhere:
        return dict(parts)
    held = sum(part * account.share_of(place) for place, part in own.items()) / everywhere
    return dict(parts) | {
        place: 1 - (1 - parts.get(place, 0.0)) * (1 - held) for place in FOR_THREADS
    }
