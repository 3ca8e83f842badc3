"""The names of the locks that sessions wait for, by their places in memory."""

from __future__ import annotations

from collections import Counter

from loadstone.observe.sessions import Seat

_NAMED_OFTEN = 0.25
"""Part of the waits at a lock that must have a name of their own for the others to be named so."""

_LOCKS_KEPT = 50_000
"""Each session has some locks of its own; those of sessions that have left are forgotten."""


class Locks:
    """What sessions waited for at each futex.

    A wait may be over before the list of sessions is read. Then the name counts that other waits
    at the same place in memory had, which is the same lock.
    """

    def __init__(self) -> None:
        self._names: dict[int, Counter[Seat]] = {}

    def named(self, address: int, seat: Seat | None) -> Seat | None:
        """The seat of a session that waits there, if it is known by itself or by others."""
        if len(self._names) > _LOCKS_KEPT:
            self._names.clear()
        names = self._names.setdefault(address, Counter())
        if seat is not None:
            names[seat] += 1
        return self._usual(names) if seat in (None, "latch") else seat

    def _usual(self, names: Counter[Seat]) -> Seat | None:
        """The most common name; a wait that was over soon has mostly been taken for a latch's."""
        named = [(count, name) for name, count in names.items() if name != "latch"]
        most, name = max(named, default=(0, None))
        if most >= _NAMED_OFTEN * names.total():
            return name
        return "latch" if names["latch"] else name
