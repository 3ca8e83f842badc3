"""The cost of observing server and host: CPU on both sides, and whether the rate falls."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches import loadstone
from benches.contest import prepare
from benches.figures import mirrored, spread
from benches.place import LOADSTONE, Place
from benches.processes import run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.workload import Step

USERS = 64
WANTED_PERCENT = 1.0
_WITH, _WITHOUT = "observed", "not observed"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Idle:
    """A server without load, observed and not observed; CPU in shares of one core."""

    pair: int
    server_watched: float
    server_alone: float
    generator: float
    """The observing program's reading threads, by their own count."""


@dataclass(frozen=True)
class Driven:
    """One run under load."""

    pair: int
    contestant: str
    queries_per_s: float


def measure(place: Place) -> Report:
    """Measure CPU without load, where nothing hides it, and the rate with and without observing."""
    prepare(place)
    seconds = place.asked.seconds[1]
    idle = []
    for pair in range(place.asked.pairs):
        announce(f"observing: CPU, {pair + 1} of {place.asked.pairs}")
        idle.append(_idle(place, pair, seconds))
    driven = []
    step = Step(USERS, seconds)
    for pair, order in enumerate(mirrored([_WITH, _WITHOUT], place.asked.pairs)):
        for contestant in order:
            announce(f"observing: rate, pair {pair + 1} of {place.asked.pairs}, {contestant}")
            outcome = loadstone.drive(place, step, observe=contestant == _WITH)
            driven.append(Driven(pair, contestant, outcome.queries_per_s))
    return Report(
        title="The cost of observing: counters of server and host, each second",
        tables=(cpu_table(idle), rate_table(driven)),
        readings=[*map(asdict, idle), *map(asdict, driven)],
        notes=(
            f"{counted(place.asked.pairs, 'pair')} of {seconds:g} s; median (least–greatest)."
            " CPU of the server: of its process without load, watched less left alone. Rates are"
            f" oltp_point_select with {USERS} users, in the order A B B A.",
        ),
    )


def _idle(place: Place, pair: int, seconds: float) -> Idle:
    alone = _share(place, lambda: time.sleep(seconds))
    result: dict[str, Any] = {}

    def watch() -> None:
        words = ["--target", place.url(), "--duration", f"{seconds:g}s", "--json"]
        ran = run(
            [LOADSTONE, "watch", *words, "--out", str(place.folder)],
            environment=loadstone.environment(place),
        )
        result.update(json.loads(ran.stdout))

    watched = _share(place, watch)
    (step,) = result["steps"]
    return Idle(pair, watched, alone, step["observing"]["cpu_share"])


def _share(place: Place, what: Any) -> float:
    """The server process's CPU per second while something happens."""
    begun, before = time.monotonic(), _cpu_s(place)
    what()
    return (_cpu_s(place) - before) / (time.monotonic() - begun)


def _cpu_s(place: Place) -> float:
    mark = place.sandbox.state.server
    assert mark is not None, "a running sandbox has a process"
    fields = Path(f"/proc/{mark.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def cpu_table(readings: Sequence[Idle]) -> str:
    """Both sides, in percent of a core."""
    server = [100 * (one.server_watched - one.server_alone) for one in readings]
    generator = [100 * one.generator for one in readings]
    rows = [
        ["generator", with_spread(spread(generator), 2), f"≤ {WANTED_PERCENT:g}"],
        ["server", with_spread(spread(server), 2), f"≤ {WANTED_PERCENT:g}"],
    ]
    return table(["CPU of", "% of a core", "wanted"], rows)


def rate_table(readings: Sequence[Driven]) -> str:
    """The rates with and without observing, and their ratio within each pair."""
    rates = {
        name: [
            one.queries_per_s
            for one in sorted(readings, key=lambda one: one.pair)
            if one.contestant == name
        ]
        for name in (_WITH, _WITHOUT)
    }
    ratios = [a / b for a, b in zip(rates[_WITH], rates[_WITHOUT], strict=True)]
    rows = [
        [
            _WITH,
            with_spread(spread(rates[_WITH]), 0),
            with_spread(spread(ratios), 3),
            "1 within the spread",
        ],
        [_WITHOUT, with_spread(spread(rates[_WITHOUT]), 0), "", ""],
    ]
    return table(["", "queries/s", "of the other's", "wanted"], rows)
