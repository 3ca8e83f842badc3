"""Which of the users' time a cause takes: the places of the account that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from loadstone.model.account import PLACES, Place

By = Literal["part", "time", "rest"]
"""How much of its places a cause holds: so large a part of each as its share says, so much of the
users' time as its share says, or whatever no other cause holds."""

CORES: tuple[Place, ...] = ("on core", "waiting for a core", "in the server")
SYNC_WAITS: tuple[Place, ...] = ("log sync", "binlog sync", "commit")
COMMIT: tuple[Place, ...] = (*SYNC_WAITS, "commit delay", "replica")
PAGE_READS: tuple[Place, ...] = ("disk read",)
PAGE_WAITS: tuple[Place, ...] = ("disk write", "latch", "paused", "other")
"""Where a thread is that needs a page written before it can go on."""
WAY: tuple[Place, ...] = ("way", "sending")
CLIENT: tuple[Place, ...] = ("generator", "answer unread")
SERVER: tuple[Place, ...] = tuple(
    place for place in PLACES if place not in ("idle", *CLIENT, "connecting", "way")
)

STATIONS: tuple[tuple[Place, ...], ...] = (
    CORES,
    COMMIT,
    ("disk read", "disk write"),
    ("row lock",),
    ("table lock",),
    ("admission",),
    ("latch", "paused", "other"),
    WAY,
    ("connecting",),
    CLIENT,
)
"""Places by the station of the queueing network that they belong to: what a user is served by, and
the wait for it. Causes of one station are alternatives."""

Slot = str
"""A place, or that part of a place of the generator in which it waits for a core of the server."""

STARVED: Mapping[Place, Slot] = {place: f"{place}, without a core" for place in CLIENT}
"""By place of the generator: its part in which a generator on the server's host has no core."""

PLACE_OF: Mapping[Slot, Place] = {
    **{place: place for place in PLACES},
    **{slot: place for place, slot in STARVED.items()},
}
"""The place of each slot."""

STATION_OF: Mapping[Slot, int] = {
    **{place: number for number, places in enumerate(STATIONS) for place in places},
    **dict.fromkeys(STARVED.values(), STATIONS.index(CORES)),
}
"""The index of a slot's station."""


@dataclass(frozen=True)
class Holds:
    """The places that a cause is about, and how much of them it holds."""

    places: tuple[Place, ...]
    by: By
    is_timed: bool = False
    """Whether its share is a measured share of the users' time: of what the looks at the server
    could not name, or tell from work, it holds so much."""
    leads: bool = True
    """Whether it comes before the rest of its station from a tenth of it on. What comes and goes,
    as other guests of the machine do, comes first only where it explains the most."""

    parts: Mapping[Place, float] = field(default_factory=dict)
    """Of a place the part that it holds, 0 to 1, where that was found out place by place; of the
    others its finding's share."""

    is_priced: bool = False
    """Whether its work on a core is what was counted times a constant: the time of one piece."""

    outer: bool = False
    """Whether it takes its part before the server's own work is divided: others use, or a
    limit keeps, the cores that its threads wait for, while the work on a core is the server's."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The places; what is about the cores holds the generator's wait for them as well."""
        about_cores = "waiting for a core" in self.places
        return (*self.places, *(STARVED.values() if about_cores else ()))

    @property
    def prolongs(self) -> bool:
        """Whether what it holds makes transactions keep their rows for longer.

        Not what is left of the cores: that is what the transaction does with its rows. Nor others
        who have the cores: their part is how much they use, not for how long a holder waited.
        """
        is_work = self.by == "rest" and set(self.places) <= set(CORES)
        return not is_work and not (self.outer and set(self.parts) != set(self.places))

    def part_of(self, slot: Slot, share: float) -> float:
        """The part of a slot that it holds, where its finding's share is `share`."""
        # The generator waits for the same cores.
        place = "waiting for a core" if slot in STARVED.values() else PLACE_OF[slot]
        return self.parts.get(place, share)


SEEN_BY_THREADS: frozenset[Place] = frozenset((*PAGE_READS, *PAGE_WAITS, "admission"))
"""Places that the lists of sessions do not tell from work."""

NOTHING = Holds((), "rest")
"""About no time of the users: a doubt about figures, or a remark."""


def part_of(*places: Place, is_priced: bool = False) -> Holds:
    """Of each of these places the part that the finding's share says.

    `is_priced`: that share is what was counted times what one piece of it takes.
    """
    return Holds(places, "part", is_priced=is_priced)


def parts_of(parts: Mapping[Place, float], *, outer: bool = False) -> Holds:
    """Of each of these places its own part, 0 to 1."""
    return Holds(tuple(parts), "part", parts=parts, outer=outer)


def priced(parts: Mapping[Place, float], *, outer: bool = False) -> Holds:
    """The same, where the work on a core is what was counted times what one piece of it takes."""
    return replace(parts_of(parts, outer=outer), is_priced=True)


def part_of_waits(also: Mapping[Place, float] | None = None) -> Holds:
    """Of the wait for a core the part that the finding's share says: others have the cores.

    `also`: other places, each with its part.
    """
    parts = also or {}
    return Holds(("waiting for a core", "in the server", *parts), "part", parts=parts, outer=True)


def part_of_stolen_cores() -> Holds:
    """Of the time on a core, too: a thread that was stopped there counts as running."""
    return Holds(CORES, "part", leads=False, outer=True)


def time_at(*places: Place) -> Holds:
    """As much of these places as the finding's share of the users' time says."""
    return Holds(places, "time", is_timed=True)


def rest_of(*places: Place, is_timed: bool = False) -> Holds:
    """All of these places that no other cause holds."""
    return Holds(places, "rest", is_timed=is_timed)
