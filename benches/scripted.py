"""A script written for sysbench, compared with the built-in workload that does the same, and
sysbench.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from benches.client_cpu import steps
from benches.contest import (
    DRIVERS,
    NATIVE,
    SCRIPTED,
    SYSBENCH,
    Ratio,
    at_most,
    contest,
    cost,
    cost_table,
    prepare,
)
from benches.figures import slope
from benches.place import Place
from benches.progress import announce
from benches.report import Report
from benches.tables import how_measured, table
from benches.workload import Outcome, Step

USERS = (8, 64, 512, 4000)
FEW, MANY = 100, 4000
TARGET_KB = 64
OF_NATIVE = Ratio("of the built-in's", NATIVE, cost, at_most([SCRIPTED], {64: 1.6}))
OF_SYSBENCH = Ratio("of sysbench's", SYSBENCH, cost, at_most([SCRIPTED], dict.fromkeys(USERS, 1.0)))
_SECONDS, _QUICK_SECONDS = 5.0, 2.0


@dataclass(frozen=True)
class Held:
    """Resident memory at one number of users."""

    contestant: str
    users: int
    outcome: Outcome


def measure(place: Place) -> Report:
    """Measure the cost of a query, then memory."""
    prepare(place)
    readings, failed = contest(place, "scripted", steps(place), [SYSBENCH, NATIVE, SCRIPTED])
    held = [_held(place, one, users) for one in (NATIVE, SCRIPTED) for users in (FEW, MANY)]
    return Report(
        title="Scripts in Lua: sysbench's oltp_point_select.lua, prepared, loopback TCP",
        tables=(cost_table(readings, [OF_NATIVE, OF_SYSBENCH]), memory_table(held)),
        readings=[*(one.as_json() for one in readings), *map(asdict, held)],
        notes=(
            how_measured(place.asked.pairs, place.asked.seconds),
            "The script is the one that Debian's package of sysbench installs, as it is.",
            "Memory: the greatest resident memory seen under load.",
            *failed,
        ),
    )


def _held(place: Place, contestant: str, users: int) -> Held:
    announce(f"scripted: memory of {users:,} users, {contestant}")
    seconds = _QUICK_SECONDS if place.asked.quick else _SECONDS
    step = Step(users, seconds, watch_memory=True)
    return Held(contestant, users, DRIVERS[contestant](place, step))


def memory_table(held: list[Held]) -> str:
    """One row per contestant."""
    rows = []
    for contestant in dict.fromkeys(one.contestant for one in held):
        at = [(one.users, one.outcome.memory_kb) for one in held if one.contestant == contestant]
        megabytes = [f"{kilobytes / 1024:,.1f}" for _, kilobytes in at]
        wanted = f"≤ {TARGET_KB}" if contestant == SCRIPTED else ""
        rows.append([contestant, *megabytes, f"{slope(at):,.1f}", wanted])
    return table(["", *(f"{n:,} users, MB" for n in (FEW, MANY)), "KB a user", "wanted"], rows)
