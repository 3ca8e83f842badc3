"""Whether events of an open loop begin when they are due, against a server that costs nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from benches import loadstone
from benches.figures import spread
from benches.place import Place
from benches.processes import run
from benches.progress import say
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.workload import Step
from loadstone import engine
from loadstone.model.null_server import NullServerSettings

RATES = (1_000, 5_000, 20_000)
USERS = 64
_WANTED_STARTED = 0.999
_WANTED_P99_US = 200.0


@dataclass(frozen=True)
class Reading:
    """One run at one rate with even gaps."""

    rate: int
    round: int
    due: int
    started: int
    late_p50_us: float
    late_p99_us: float
    late_max_us: float

    @property
    def started_share(self) -> float:
        """Of the events that were due."""
        return self.started / self.due


def measure(place: Place) -> Report:
    """Each rate in turn, so many rounds; one event loop, and the null server on another thread."""
    seconds = 2.0 if place.asked.quick else 10.0
    server = engine.null_server(NullServerSettings())
    try:
        readings = [
            _read(place, server.port, rate, seconds, number)
            for number in range(place.asked.pairs)
            for rate in RATES
        ]
    finally:
        server.stop()
    head = ["due/s", "started of due", "wanted", "late p50 µs", "late p99 µs", "wanted", "max µs"]
    return Report(
        title="Open loop: events begin when they are due (even gaps, null server)",
        tables=(table(head, [_row(readings, rate) for rate in RATES]),),
        readings=[asdict(reading) for reading in readings],
        notes=(
            f"{counted(place.asked.pairs, 'run')} of {seconds:g} s each, {USERS} users on one event"
            " loop; median (least–greatest). Late: start minus due.",
        ),
    )


def _read(place: Place, port: int, rate: int, seconds: float, number: int) -> Reading:
    say(f"timers: {rate:,} events/s, round {number + 1} of {place.asked.pairs}")
    plan = loadstone.plan(place, Step(USERS, seconds, warmup_s=1.0, shards=1))
    plan["targets"][0]["port"] = port
    plan["arrival"] = {"kind": "open", "rate": rate, "gaps": "uniform"}
    ran = run([place.engine], stdin=json.dumps(plan))
    return reading_of_records([json.loads(line) for line in ran.stdout.splitlines()], rate, number)


def reading_of_records(records: list[dict[str, Any]], rate: int, number: int) -> Reading:
    """Read the engine's records: what was due in the window, and how late it began."""
    window = [one for one in records if one["kind"] == "sample" and one["phase"] == "window"]
    lines = [line for sample in window for line in sample["hlog"]]
    late = engine.merge_hlog(lines)["bench/late"]
    return Reading(
        rate=rate,
        round=number,
        due=sum(sample["counts"]["due"] for sample in window),
        started=late.count,
        late_p50_us=(late.p50 or 0) / 1000,
        late_p99_us=(late.p99 or 0) / 1000,
        late_max_us=(late.max or 0) / 1000,
    )


def _row(readings: list[Reading], rate: int) -> list[str]:
    mine = [reading for reading in readings if reading.rate == rate]
    return [
        f"{rate:,}",
        with_spread(spread([reading.started_share for reading in mine]), 4),
        f"≥ {_WANTED_STARTED:g}",
        with_spread(spread([reading.late_p50_us for reading in mine])),
        with_spread(spread([reading.late_p99_us for reading in mine])),
        f"≤ {_WANTED_P99_US:g}",
        with_spread(spread([reading.late_max_us for reading in mine]), 0),
    ]
