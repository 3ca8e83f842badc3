"""Ten thousand connections from one process, and the memory of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from benches import loadstone, sysbench
from benches.contest import RUN, SYSBENCH, prepare
from benches.figures import slope
from benches.place import Place, other_server
from benches.progress import announce
from benches.report import Report
from benches.tables import table
from benches.workload import Outcome, Step

FEW, MANY, MOST = 100, 1_000, 10_000
TARGET_KB = 16
SETTINGS = {"thread_handling": "pool-of-threads"}
# The readings' own connection, and what a login that is being aborted still holds.
_SPARE = 200
_SECONDS, _QUICK_SECONDS = 5.0, 2.0
_HELD_S, _QUICK_HELD_S = 60.0, 3.0

_DRIVERS: dict[str, tuple[Callable[[Place, Step], Outcome], tuple[int, ...]]] = {
    # A thread per connection, some 300 KB each: more of them would show nothing new.
    SYSBENCH: (sysbench.drive, (FEW, MANY)),
    "engine alone": (loadstone.drive_engine, (FEW, MANY, MOST)),
    RUN: (loadstone.drive, (FEW, MANY, MOST)),
}


@dataclass(frozen=True)
class Reading:
    """One contestant at one level, once: resident memory hardly varies."""

    contestant: str
    step: Step
    outcome: Outcome


def measure(place: Place) -> Report:
    """Use a server with a thread pool: it does not need a thread per connection either."""
    with other_server(place, SETTINGS, MOST + _SPARE) as inner:
        prepare(inner)
        readings = [
            _read(inner, contestant, drive, users)
            for contestant, (drive, levels) in _DRIVERS.items()
            for users in levels
        ]
    return Report(
        title="Connections: oltp_point_select, prepared, against a server with a thread pool",
        tables=(held_table(readings), memory_table(readings)),
        readings=[asdict(reading) for reading in readings],
        notes=(
            "Memory: the greatest resident memory seen under load; the slope from the first level"
            " to the last. What the kernel keeps for a socket is in no figure. errors: error"
            " packets, failed attempts to connect, and connections that were lost.",
        ),
    )


def _read(
    place: Place, contestant: str, drive: Callable[[Place, Step], Outcome], users: int
) -> Reading:
    announce(f"connections: {users:,} users, {contestant}")
    quick = place.asked.quick
    seconds = _QUICK_SECONDS if quick else _SECONDS
    if users == MOST:
        seconds = _QUICK_HELD_S if quick else _HELD_S
    step = Step(users, seconds, watch_memory=True)
    return Reading(contestant, step, drive(place, step))


def held_table(readings: Sequence[Reading]) -> str:
    """The outcome for the highest number of connections."""
    rows = [
        [
            one.contestant,
            f"{one.step.users:,}",
            f"{one.outcome.users or 0:,}",
            f"{one.step.seconds:g}",
            f"{one.outcome.queries:,}",
            str(one.outcome.errors),
            "0",
        ]
        for one in readings
        if one.step.users == MOST
    ]
    head = ["", "connections", "at the end", "held for s", "queries", "errors", "wanted"]
    return table(head, rows)


def memory_table(readings: Sequence[Reading]) -> str:
    """One row per contestant."""
    levels = (FEW, MANY, MOST)
    head = ["", *(f"{users:,} users, MB" for users in levels), "KB a connection", "wanted"]
    rows = []
    for contestant in dict.fromkeys(one.contestant for one in readings):
        at = {
            one.step.users: one.outcome.memory_kb
            for one in readings
            if one.contestant == contestant
        }
        rows.append(
            [
                contestant,
                *(f"{at[users] / 1024:,.1f}" if users in at else "" for users in levels),
                f"{slope(sorted(at.items())):,.1f}",
                "" if contestant == SYSBENCH else f"≤ {TARGET_KB}",
            ]
        )
    return table([*head, "errors"], [[*row, _errors(readings, row[0])] for row in rows])


def _errors(readings: Sequence[Reading], contestant: str) -> str:
    return str(sum(one.outcome.errors for one in readings if one.contestant == contestant))
