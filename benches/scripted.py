"""A script written for sysbench, compared with the built-in workload that does the same, and
sysbench.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benches.client_cpu import steps
from benches.contest import (
    BY_WORD,
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
    script_of,
)
from benches.figures import slope, spread
from benches.place import Place, build_example
from benches.processes import run
from benches.progress import announce
from benches.report import Report
from benches.tables import how_measured, table, with_spread
from benches.workload import Outcome, Step

USERS = (8, 64, 512, 4000)
FEW, MANY = 100, 4000
TARGET_KB = 16
OF_NATIVE = Ratio(
    "of the built-in's",
    NATIVE,
    cost,
    at_most([SCRIPTED], {8: 1.3, 64: 1.3, 512: 1.5, 4000: 1.5}),
)
OF_SYSBENCH = Ratio("of sysbench's", SYSBENCH, cost, at_most([SCRIPTED], dict.fromkeys(USERS, 1.0)))
_SECONDS, _QUICK_SECONDS = 5.0, 2.0
A_STATE = 64
"""Users that share a Lua state, and with it a collector."""

LONGEST_US = 1000.0
_EVENTS, _QUICK_EVENTS = 10_000, 1_000
_PAUSES = ("oltp_point_select", "oltp_read_write")


@dataclass(frozen=True)
class Pauses:
    """Turns of a script's users in one Lua state, by the thread's CPU clock."""

    workload: str
    users: int
    events: int
    """Of each user."""
    turns: int
    rounds: int
    """How often the collector has been through the state."""
    step_us: float
    """The longest step of a round of the collector, in the median of rounds at the end."""
    median_us: float
    p9999_us: float
    longest_us: float


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
    asked = place.asked.contestants
    compared = [one for one in (NATIVE, SCRIPTED) if asked is None or one in _named(asked)]
    held = [_held(place, one, users) for one in compared for users in (FEW, MANY)]
    pauses = _measure_pauses(place)
    return Report(
        title="Scripts in Lua: sysbench's oltp_point_select.lua, prepared, loopback TCP",
        tables=(
            cost_table(readings, [OF_NATIVE, OF_SYSBENCH]),
            memory_table(held),
            pauses_table(pauses),
        ),
        readings=[*(one.as_json() for one in readings), *map(asdict, held), *map(asdict, pauses)],
        notes=(
            how_measured(place.asked.pairs, place.asked.seconds),
            "The script is the one that Debian's package of sysbench installs, as it is.",
            "Memory: the greatest resident memory seen under load.",
            f"Turns: {A_STATE} users of one Lua state are resumed one after another, without a"
            " server, once LuaJIT has compiled their script; CPU of the thread. The collector works"
            " within turns, so none of its pauses is longer than the longest turn. What else runs"
            " on the machine lengthens single turns, but hardly the collector's longest step, which"
            " is the median of 31 rounds.",
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


def _named(words: Sequence[str]) -> set[str]:
    return {BY_WORD[word] for word in words}


def _measure_pauses(place: Place) -> list[Pauses]:
    """As many runs of each script as there are pairs."""
    program = build_example("script", "pauses")
    events = _QUICK_EVENTS if place.asked.quick else _EVENTS
    measured = []
    for workload in _PAUSES:
        for number in range(place.asked.pairs):
            announce(f"scripted: turns of {workload}, run {number + 1}")
            script = script_of(Step(A_STATE, 0.0, workload=workload))
            ran = run([program, script, str(A_STATE), str(events)])
            measured.append(Pauses(workload=workload, **json.loads(ran.stdout)))
    return measured


def pauses_table(measured: Sequence[Pauses]) -> str:
    """One row per script."""
    head = ["turns in one Lua state", "users", "collector's rounds", "its longest step µs"]
    head += ["median µs", "99.99 % µs"]
    rows = []
    for workload in dict.fromkeys(one.workload for one in measured):
        mine = [one for one in measured if one.workload == workload]
        rows.append(
            [
                f"{workload}.lua",
                str(mine[0].users),
                with_spread(spread([one.rounds for one in mine]), 0),
                with_spread(spread([one.step_us for one in mine]), 0),
                with_spread(spread([one.median_us for one in mine]), 2),
                with_spread(spread([one.p9999_us for one in mine]), 0),
                with_spread(spread([one.longest_us for one in mine]), 0),
                f"≤ {LONGEST_US:,.0f}",
            ]
        )
    return table([*head, "longest µs", "wanted"], rows)
