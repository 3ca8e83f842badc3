"""Whether events of an open loop begin when they are due, against a server that costs little."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.figures import spread
from benches.loadstone import plan_on
from benches.null_servers import NullServer, null_server
from benches.place import Asked, allow_descriptors, build_example, build_program
from benches.processes import run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, interval, table, with_spread
from benches.workload import Step
from loadstone import engine

RATE = 20_000
USERS = (64, 4000)
WANTED_P99_US = 200.0
_WANTED_STARTED = 0.999
_WARMUP_S, _MANY, _WARMUP_MANY_S = 1.0, 1000, 5.0


@dataclass(frozen=True)
class Reading:
    """One run with even gaps."""

    users: int
    round: int
    due: int
    started: int
    late_p50_us: float
    late_p99_us: float
    late_max_us: float
    busy: float
    """The event loop's share of a core."""
    errors: int

    @property
    def started_share(self) -> float:
        """Of the events that were due."""
        return self.started / self.due


def measure(asked: Asked, folder: Path) -> Report:
    """Each number of connections in turn, so many rounds, on one event loop."""
    allow_descriptors()
    program, null = build_example("drive", "step"), build_program("null-server")
    seconds = asked.seconds[1]
    readings = []
    for number in range(asked.pairs):
        for users in asked.users or USERS:
            announce(f"open-loop: {users:,} users, round {number + 1} of {asked.pairs}")
            with null_server(null) as server:
                readings.append(_read(program, server, (users, seconds), number))
    return Report(
        title=f"Open loop: {RATE:,} events a second begin when they are due (even gaps)",
        tables=(late_table(readings),),
        readings=[asdict(one) for one in readings],
        notes=(
            f"{counted(asked.pairs, 'run')} of {seconds:g} s each, point selects against the null"
            " server over loopback TCP, one event loop; median (least–greatest), and the interval"
            " that has the median with 95 %. Late: start minus due, of all events of the window.",
        ),
    )


def _read(program: str, server: NullServer, way: tuple[int, float], number: int) -> Reading:
    users, seconds = way
    # Statements are prepared at their first use: by then each user has used its tables.
    warmup_s = _WARMUP_MANY_S if users >= _MANY else _WARMUP_S
    plan = plan_on(server.engine_target(), Step(users, seconds, warmup_s=warmup_s), shards=1)
    plan["arrival"] = {"kind": "open", "rate": RATE, "gaps": "uniform"}
    ran = run([program], stdin=json.dumps(plan))
    return reading_of([json.loads(line) for line in ran.stdout.splitlines()], users, number)


def reading_of(records: Sequence[dict[str, Any]], users: int, number: int) -> Reading:
    """Read the engine's records: what was due in the window, and how late it began."""
    window = [one for one in records if one["kind"] == "sample" and one["phase"] == "window"]
    lines = [line for sample in window for line in sample["hlog"]]
    late = engine.merge_hlog(lines)["bench/late"]
    loops = [sample["generator"] for sample in window]
    return Reading(
        users=users,
        round=number,
        due=sum(sample["counts"]["due"] for sample in window),
        started=late.count,
        late_p50_us=(late.p50 or 0) / 1000,
        late_p99_us=(late.p99 or 0) / 1000,
        late_max_us=(late.max or 0) / 1000,
        busy=sum(loop["cpu_us"] for loop in loops) / sum(loop["wall_us"] for loop in loops),
        errors=sum(sum(sample["errors"].values()) for sample in window),
    )


def late_table(readings: Sequence[Reading]) -> str:
    """One row for each number of connections."""
    head = ["connections", "started of due", "wanted", "late p50 µs", "late p99 µs"]
    head += ["median, 95 %", "wanted", "max µs", "busy", "errors"]
    levels = dict.fromkeys(one.users for one in readings)
    return table(head, [_row([one for one in readings if one.users == n]) for n in levels])


def _row(mine: Sequence[Reading]) -> list[str]:
    p99 = [one.late_p99_us for one in mine]
    return [
        f"{mine[0].users:,}",
        with_spread(spread([one.started_share for one in mine]), 4),
        f"≥ {_WANTED_STARTED:g}",
        with_spread(spread([one.late_p50_us for one in mine])),
        with_spread(spread(p99)),
        interval(p99, 1),
        f"≤ {WANTED_P99_US:g}",
        with_spread(spread([one.late_max_us for one in mine]), 0),
        with_spread(spread([one.busy for one in mine]), 2),
        str(sum(one.errors for one in mine)),
    ]
