"""The event loop at full load: it never waits, so that CPU a query is its capacity.

At part load a query's CPU is mostly that of sleeping and waking up. Here answers always wait for
the loop. A null server on another core does not achieve that by itself, since an answer costs it
about half as much again as the floor: the loop shares its core with a process that never sleeps,
so that the server has twice the core that the loop has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches import hog
from benches.contest import ENGINE, FLOOR, taking_part
from benches.figures import mirrored, spread
from benches.loadstone import plan_on
from benches.null_servers import NullServer, null_server, on_core
from benches.place import Asked, allow_descriptors, build_program, build_programs
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, interval, table, with_spread
from benches.workload import TABLE_SIZE, TABLES, Step

USERS = (8, 64, 512, 4000)
LEAST_BUSY = 0.95
MOST_OF_FLOOR = 1.10
_LOOP_CORE, _SERVER_CORE = 0, 1
_WARMUP_S, _MANY = 1.0, 1000
_WARMUP_MANY_S = 5.0


@dataclass(frozen=True)
class Reading:
    """One contestant in one pair."""

    pair: int
    users: int
    contestant: str
    queries: int
    seconds: float
    cpu_us: float
    """Of the event loop's thread."""
    run_delay_us: float
    """How long it was ready to run while the other process had its core."""
    server_cpu_s: float
    """Of the null server, from its start to the run's end."""

    @property
    def busy(self) -> float:
        """The share of the time in which the loop ran or was ready to."""
        return (self.cpu_us + self.run_delay_us) / 1e6 / self.seconds

    @property
    def cost_us(self) -> float:
        """CPU a query."""
        return self.cpu_us / self.queries

    def as_json(self) -> dict[str, Any]:
        """The reading as saved to the file."""
        return {**asdict(self), "busy": self.busy, "cost_us": self.cost_us}


def measure(asked: Asked, folder: Path) -> Report:
    """Measure engine and floor at each level, in pairs in the order A B B A.

    Raises:
        ProgramFailed: the machine has a single core, or no connection came about.
    """
    if not {_LOOP_CORE, _SERVER_CORE} <= os.sched_getaffinity(0):
        raise ProgramFailed("saturated needs cores 0 and 1: the null server has one")
    allow_descriptors()
    engine, floor = build_programs()
    programs = {ENGINE: engine, FLOOR: floor}
    null = build_program("null-server")
    contestants = taking_part(asked.contestants, "saturated", (ENGINE, FLOOR))
    seconds = asked.seconds[1]
    readings = []
    for users in asked.users or USERS:
        for pair, order in enumerate(mirrored(contestants, asked.pairs)):
            for contestant in order:
                announce(f"saturated: {users} users, pair {pair + 1}, {contestant}")
                with null_server(null, core=_SERVER_CORE) as server, hog.beside(_LOOP_CORE):
                    drive = _engine if contestant == ENGINE else _floor
                    seen = drive(programs[contestant], server, users, seconds)
                    cpu_s = server.cpu_s()
                readings.append(Reading(pair, users, contestant, *seen, cpu_s))
    return Report(
        title="The event loop at full load: oltp_point_select, prepared, null server, TCP",
        tables=(cost_table(readings),),
        readings=[one.as_json() for one in readings],
        notes=(
            f"{counted(asked.pairs, 'pair')} of {seconds:g} s in the order A B B A; median"
            " (least–greatest), and the interval that has the ratios' median with 95 % (sign"
            f" test). The loop is on core {_LOOP_CORE}, which it shares with a process that never"
            f" sleeps, the null server on core {_SERVER_CORE}. CPU of the loop's thread by its own"
            " clock, of the floor in the middle half of its run. Busy: the loop ran, or was ready"
            f" to. A pair counts if both were for at least {LEAST_BUSY:g} of the time; CPU a query"
            " is then what limits the rate.",
        ),
    )


def _engine(
    program: str, server: NullServer, users: int, seconds: float
) -> tuple[int, float, float, float]:
    """Queries, seconds, CPU and waiting microseconds of the loop in the window."""
    warmup_s = _WARMUP_MANY_S if users >= _MANY else _WARMUP_S
    plan = plan_on(server.engine_target(), Step(users, seconds, warmup_s=warmup_s), shards=1)
    ran = run([*on_core(_LOOP_CORE), program], stdin=json.dumps(plan))
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    window = [one for one in records if one["kind"] == "sample" and one["phase"] == "window"]
    loops = [one["generator"] for one in window]
    wall_s = sum(loop["wall_us"] for loop in loops) / 1e6
    return (
        sum(one["counts"]["reads"] for one in window),
        wall_s,
        sum(loop["cpu_us"] for loop in loops),
        sum(loop["run_delay_us"] or 0 for loop in loops),
    )


def _floor(
    program: str, server: NullServer, users: int, seconds: float
) -> tuple[int, float, float, float]:
    """The same of the middle half of its run."""
    options = {
        "--users": str(users),
        "--seconds": f"{seconds:g}",
        "--tables": str(TABLES),
        "--table-size": str(TABLE_SIZE),
    }
    words = [word for option in options.items() for word in option]
    # Scheduled as the engine's event loops are.
    command = [*on_core(_LOOP_CORE), "chrt", "--batch", "0", program, *server.floor_login()]
    ran = run([*command, *words, "--steady"])
    steady = json.loads(ran.stdout)["steady"]
    return steady["queries"], steady["seconds"], steady["cpu_us"], steady["run_delay_us"]


def ratios(readings: Sequence[Reading]) -> list[float]:
    """The engine's cost in the floor's, of each pair in which both were busy."""
    pairs = {one.pair for one in readings}
    found = []
    for pair in sorted(pairs):
        both = {one.contestant: one for one in readings if one.pair == pair}
        if len(both) == len((ENGINE, FLOOR)) and all(
            one.busy >= LEAST_BUSY for one in both.values()
        ):
            found.append(both[ENGINE].cost_us / both[FLOOR].cost_us)
    return found


def cost_table(readings: Sequence[Reading]) -> str:
    """One row for each level and contestant."""
    head = ["", "users", "CPU µs a query", "queries/s", "busy", "pairs that count"]
    head += ["of the floor's", "median, 95 %", "wanted"]
    levels = dict.fromkeys((one.users, one.contestant) for one in readings)
    rows = []
    for users, contestant in levels:
        level = [one for one in readings if one.users == users]
        mine = [one for one in level if one.contestant == contestant]
        row = [
            contestant,
            f"{users:,}",
            with_spread(spread([one.cost_us for one in mine]), 2),
            with_spread(spread([one.queries / one.seconds for one in mine]), 0),
            with_spread(spread([one.busy for one in mine]), 2),
        ]
        rows.append([*row, *(_of_floor(level) if contestant == ENGINE else [""] * 4)])
    return table(head, rows)


def _of_floor(level: Sequence[Reading]) -> list[str]:
    found = ratios(level)
    shown = [with_spread(spread(found), 2), interval(found)] if found else ["", ""]
    return [f"{len(found)} of {len({one.pair for one in level})}", *shown, f"≤ {MOST_OF_FLOOR:g}"]
