"""What the live page costs a run: the rate with 20 viewers, compared with that without any."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benches import loadstone
from benches.contest import prepare
from benches.figures import Spread, median_within, mirrored, spread
from benches.place import Place
from benches.processes import ProgramFailed
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.watching import viewers
from benches.workload import Step
from loadstone.web.address import MARK, Address, found
from loadstone.web.sidecar import live_page

USERS = 64
VIEWERS = 20
WANTED_RATE = 0.99
"""Of the rate without viewers."""

WANTED_S = 2.0
"""From the start of a run until it is on the screen; a second has half of that."""

_WATCHED, _ALONE = f"{VIEWERS} viewers", "nobody"
_GONE_S = 30.0


@dataclass(frozen=True)
class Driven:
    """One run; what viewers saw is empty where there were none."""

    pair: int
    contestant: str
    queries_per_s: float
    page_cpu: float | None = None
    """Of the page's process during the run, as a share of a core."""
    shown_s: Sequence[float] = ()
    late_s: Sequence[float] = ()


def measure(place: Place) -> Report:
    """Alternating; the page is the one that `--live` starts, with its priority."""
    prepare(place)
    step = Step(USERS, place.asked.seconds[1])
    readings = []
    for pair, order in enumerate(mirrored([_WATCHED, _ALONE], place.asked.pairs)):
        for contestant in order:
            announce(f"viewers: pair {pair + 1} of {place.asked.pairs}, {contestant}")
            drive = _watched if contestant == _WATCHED else _alone
            readings.append(drive(place, step, pair))
    return Report(
        title=f"The cost of being watched: {VIEWERS} viewers of the live page",
        tables=(rate_table(readings), delay_table(readings)),
        readings=[asdict(one) for one in readings],
        notes=(
            f"{counted(place.asked.pairs, 'pair')} of {step.seconds:g} s, oltp_point_select with"
            f" {USERS} users, in the order A B B A; median (least–greatest). Page and viewers are"
            " on the generator's machine, so what they use is missing there."
            " Interval: 95 % for the median of the pairs' ratios.",
        ),
    )


def _alone(place: Place, step: Step, pair: int) -> Driven:
    return Driven(pair, _ALONE, loadstone.drive(place, step).queries_per_s)


def _watched(place: Place, step: Step, pair: int) -> Driven:
    with live_page(place.folder, Address("127.0.0.1", 0)) as link:
        page = _page_of(place.folder)
        with viewers(link, place.folder, VIEWERS) as seen:
            begun, before = time.monotonic(), _cpu_s(page)
            outcome = loadstone.drive(place, step)
            share = (_cpu_s(page) - before) / (time.monotonic() - begun)
    _wait_until_gone(place.folder)
    if len(seen.shown_s) < VIEWERS or not seen.late_s:
        raise ProgramFailed(f"{len(seen.shown_s)} of {VIEWERS} viewers saw the run")
    return Driven(pair, _WATCHED, outcome.queries_per_s, share, seen.shown_s, seen.late_s)


def _page_of(runs: Path) -> psutil.Process:
    """The page's process, once it serves."""
    deadline = time.monotonic() + _GONE_S
    while time.monotonic() < deadline:
        if found(runs):
            return psutil.Process(json.loads((runs / MARK).read_text())["pid"])
        time.sleep(0.1)
    raise ProgramFailed("the live page did not start")


def _wait_until_gone(runs: Path) -> None:
    """The page stays for a while after its last viewer, but not into the next run."""
    deadline = time.monotonic() + _GONE_S
    while found(runs):
        if time.monotonic() > deadline:
            raise ProgramFailed("the live page did not end")
        time.sleep(0.1)


def _cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def rate_table(readings: Sequence[Driven]) -> str:
    """The rates, and their ratio within each pair."""
    watched, alone = (_of(readings, name) for name in (_WATCHED, _ALONE))
    rates = [[one.queries_per_s for one in side] for side in (watched, alone)]
    ratios = [a / b for a, b in zip(*rates, strict=True)]
    rows = [
        [
            _WATCHED,
            with_spread(spread(rates[0]), 0),
            with_spread(spread(ratios), 3),
            _interval(ratios),
            f"≥ {WANTED_RATE:g}",
        ],
        [_ALONE, with_spread(spread(rates[1]), 0), "", "", ""],
    ]
    return table(["", "queries/s", "of the other's", "interval", "wanted"], rows)


def _interval(ratios: Sequence[float]) -> str:
    """Between which ratios the median lies; empty if there are too few pairs."""
    between = median_within(ratios)
    return "" if between is None else f"{between[0]:.3f} to {between[1]:.3f}"


def delay_table(readings: Sequence[Driven]) -> str:
    """How long viewers waited, and the CPU time of the page's process."""
    watched = _of(readings, _WATCHED)
    shown = spread([each for one in watched for each in one.shown_s])
    late = _to_95([each for one in watched for each in one.late_s])
    cpu = spread([100 * one.page_cpu for one in watched if one.page_cpu is not None])
    rows = [
        ["a new run is in the list after, s", with_spread(shown, 2), f"≤ {WANTED_S:g}"],
        ["a finished second is shown after, s (least–95 %)", with_spread(late, 2), "≤ 1"],
        ["page's process, % of a core", with_spread(cpu, 1), ""],
    ]
    return table(["", "seen", "wanted"], rows)


def _to_95(values: Sequence[float]) -> Spread:
    """The median, the least, and the 95th percentile."""
    ordered = sorted(values)
    whole = spread(ordered)
    return Spread(whole.median, whole.least, ordered[int(0.95 * (len(ordered) - 1))])


def _of(readings: Sequence[Driven], contestant: str) -> list[Driven]:
    return [
        one for one in sorted(readings, key=lambda one: one.pair) if one.contestant == contestant
    ]
