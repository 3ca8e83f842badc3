"""What the live page costs a run: the rate with 20 viewers, compared with that without any."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psutil

from benches import loadstone
from benches.contest import prepare
from benches.figures import Spread, median_within, mirrored, spread
from benches.place import Place
from benches.processes import ProgramFailed
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.watching import Viewers, viewers
from benches.workload import Step
from loadstone.model.records import Counts
from loadstone.runs.rebuild import read_log
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
_LEAD_S = 10.0
"""Seconds of the run before the first part: what viewers wait for is taken from them."""

_SETTLE_S = 1.5
"""Of each part, left out: a page that goes on first sends what it has missed."""

_LOOK_S = 0.05


@dataclass(frozen=True)
class Part:
    """Some seconds of the run, with the page at work or stopped."""

    pair: int
    contestant: str
    from_unix_s: float
    to_unix_s: float
    page_cpu: float
    """Of the page's process, as a share of a core."""
    viewers_cpu: float
    """Of the viewers' process, likewise."""
    queries_per_s: float = 0.0


@dataclass
class _Turns:
    """The parts, and what the viewers waited for before the first one."""

    shown_s: Sequence[float] = ()
    late_s: Sequence[float] = ()
    parts: list[Part] = field(default_factory=list)


def measure(place: Place) -> Report:
    """One run, in parts: in every other one the page is stopped, so that nobody is served.

    Rates of different runs differ by much more than a page can cost.
    """
    prepare(place)
    order = [
        (pair, contestant)
        for pair, both in enumerate(mirrored([_WATCHED, _ALONE], place.asked.pairs))
        for contestant in both
    ]
    length_s = place.asked.seconds[1]
    step = Step(USERS, _LEAD_S + len(order) * length_s + _SETTLE_S)
    turns = _Turns()
    with live_page(place.folder, Address("127.0.0.1", 0)) as link:
        page = _page_of(place.folder)
        with viewers(link, place.folder, VIEWERS) as seen:
            taking = threading.Thread(target=_take_turns, args=(page, seen, turns, order, length_s))
            taking.start()
            loadstone.drive(place, step)
            taking.join()
    _wait_until_gone(place.folder)
    if len(turns.shown_s) < VIEWERS or not turns.late_s or len(turns.parts) < len(order):
        raise ProgramFailed(f"{len(turns.shown_s)} of {VIEWERS} viewers saw the run")
    readings = _with_rates(turns.parts, max(place.folder.glob("*/journal.jsonl")).parent)
    return Report(
        title=f"The cost of being watched: {VIEWERS} viewers of the live page",
        tables=(rate_table(readings), delay_table(readings, turns.shown_s, turns.late_s)),
        readings=[*map(asdict, readings), {"shown_s": turns.shown_s, "late_s": turns.late_s}],
        notes=(
            f"{counted(place.asked.pairs, 'pair')} of parts of {length_s:g} s of one run,"
            f" oltp_point_select with {USERS} users, in the order A B B A; in the parts of"
            f" {_ALONE} the page's process is stopped. Median (least–greatest). The page"
            " is on the generator's machine, so what it uses is missing there; of the viewers only"
            " what the kernel does to bring them their events is."
            " Interval: 95 % for the median of the pairs' ratios.",
        ),
    )


def _take_turns(
    page: psutil.Process,
    seen: Viewers,
    turns: _Turns,
    order: Sequence[tuple[int, str]],
    length_s: float,
) -> None:
    """Stop the page in the parts of nobody; it goes on at the end, in whatever way that comes."""
    deadline = time.monotonic() + _GONE_S
    while len(seen.newest_s) < VIEWERS and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    time.sleep(_LEAD_S)
    turns.shown_s, turns.late_s = tuple(seen.shown_s), tuple(seen.late_s)
    seen.are_elsewhere.set()
    us = psutil.Process()
    try:
        for pair, contestant in order:
            (page.suspend if contestant == _ALONE else page.resume)()
            begun, before, of_ours = time.time(), _cpu_s(page), _cpu_s(us)
            time.sleep(length_s)
            ended = time.time()
            share, ours = (
                (now - then) / (ended - begun)
                for now, then in ((_cpu_s(page), before), (_cpu_s(us), of_ours))
            )
            turns.parts.append(Part(pair, contestant, begun, ended, share, ours))
    finally:
        page.resume()


def _with_rates(parts: Sequence[Part], run: Path) -> list[Part]:
    """The parts with their rates, by the seconds that lie wholly within them."""
    log = read_log(run)
    assert log.begin is not None, "a run that was driven has begun"
    (step,) = log.steps
    started = log.begin.unix_s + step.load_began_s
    seconds = [
        (started + one.from_s, started + one.to_s, _statements(one.counts))
        for one in step.samples()
    ]
    found = []
    for part in parts:
        whole = [
            (to_s - from_s, queries)
            for from_s, to_s, queries in seconds
            if part.from_unix_s + _SETTLE_S <= from_s and to_s <= part.to_unix_s
        ]
        if not whole:
            raise ProgramFailed(f"no second of the run is in a part of {part.contestant}")
        length_s, queries = map(sum, zip(*whole, strict=True))
        found.append(replace(part, queries_per_s=queries / length_s))
    return found


def _statements(counts: Counts) -> int:
    return counts.reads + counts.writes + counts.other


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


def rate_table(readings: Sequence[Part]) -> str:
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


def delay_table(readings: Sequence[Part], shown_s: Sequence[float], late_s: Sequence[float]) -> str:
    """How long viewers waited, and the CPU time of the page's process."""
    watched = _of(readings, _WATCHED)
    cpu, theirs = (
        spread([100 * share for share in shares])
        for shares in (
            [one.page_cpu for one in watched],
            [one.viewers_cpu for one in watched],
        )
    )
    rows = [
        ["a new run is in the list after, s", with_spread(spread(shown_s), 2), f"≤ {WANTED_S:g}"],
        ["a finished second is shown after, s (least–95 %)", with_spread(_to_95(late_s), 2), "≤ 1"],
        ["page's process, % of a core", with_spread(cpu, 1), ""],
        ["viewers' process, % of a core", with_spread(theirs, 1), ""],
    ]
    return table(["", "seen", "wanted"], rows)


def _to_95(values: Sequence[float]) -> Spread:
    """The median, the least, and the 95th percentile."""
    ordered = sorted(values)
    whole = spread(ordered)
    return Spread(whole.median, whole.least, ordered[int(0.95 * (len(ordered) - 1))])


def _of(readings: Sequence[Part], contestant: str) -> list[Part]:
    return [
        one for one in sorted(readings, key=lambda one: one.pair) if one.contestant == contestant
    ]
