"""A page with 200 runs of a day each, and a day of watching: how long, and how much memory."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

import psutil
from playwright.sync_api import Browser, sync_playwright

from benches.days import DAY_S, FIRST_UNIX_S, Day, many
from benches.figures import spread
from benches.place import LOADSTONE, Asked
from benches.processes import ProgramFailed
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.watching import Viewers, events, viewers

RUNS = 200
VIEWERS = 3
WANTED_CHART_S = 1.0
WANTED_MB = 150.0
_STOP_S = 20.0
_MB = 1024 * 1024
_READ_EVERY = 300
"""Simulated seconds between two readings of the memory: less than the page keeps for viewers."""

_BEHIND_S = 120.0
_LOOK_S = 0.02
_WANTED = f"≤ {WANTED_CHART_S:g}"

_FIRST_CHART = """() => {
  const canvas = document.querySelector("#timeline-rates canvas");
  if (!canvas || !canvas.width) { return null; }
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size > 10 ? performance.now() / 1000 : null;
}"""
"""Seconds since the navigation began, once the chart of the rates is drawn."""


@dataclass(frozen=True)
class Opened:
    """One start of the page, and one look at a run."""

    list_s: float
    """From the request to the list of all runs, which nobody had read before."""
    first_chart_s: float
    """In the first browser, right after that."""
    next_chart_s: float
    """In the next browser, of another run."""
    cpu_s: float
    """CPU time of the page's process for all of it, its start included."""
    rss_mb: float


@dataclass(frozen=True)
class Watched:
    """The page's process while a day was watched."""

    at_s: int
    """Seconds of the run."""
    rss_mb: float


def measure(asked: Asked, folder: Path) -> Report:
    """Make the runs, open the page repeatedly, and watch a day go by."""
    seconds = max(round(DAY_S * asked.part), 900)
    number = max(round(RUNS * asked.part), 4)
    runs = folder / "runs"
    announce(f"opening: {number} runs of {seconds:,} s are written")
    names = [run.name for run in many(runs, number, seconds)]
    opened = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for turn in range(asked.pairs):
            announce(f"opening: {turn + 1} of {asked.pairs}")
            opened.append(_open(runs, names, browser))
        browser.close()
    watched = _watch(folder / "watched", seconds)
    return Report(
        title=f"The live page with {number} runs of {seconds:,} s each",
        tables=(opening_table(opened), memory_table(opened, watched)),
        readings=[*map(asdict, opened), *map(asdict, watched)],
        broken=_broken(opened, watched),
        notes=(
            f"{counted(asked.pairs, 'start')} of the page; median (least–greatest). A run has an"
            " engine's record and two sources each second. The day was watched by"
            f" {counted(VIEWERS, 'viewer')} at an accelerated clock.",
        ),
    )


def _chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise ProgramFailed("opening: there is no Chromium here")
    return found


@contextmanager
def _serving(runs: Path) -> Iterator[tuple[str, psutil.Process]]:
    """`loadstone serve` as its own process: its link, and the process."""
    words = [LOADSTONE, "serve", "--out", str(runs), "--address", "127.0.0.1:0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        link = re.match(r"live  (http\S+)", said := server.stdout.readline())
        if link is None:
            raise ProgramFailed(f"opening: the page did not start: {said}")
        yield link[1], psutil.Process(server.pid)
    finally:
        server.terminate()
        server.communicate(timeout=_STOP_S)


def _open(runs: Path, names: Sequence[str], browser: Browser) -> Opened:
    with _serving(runs) as (link, page):
        begun = time.monotonic()
        listed = next(data for name, data in events(link, "/api/events") if name == "runs")
        list_s = time.monotonic() - begun
        if len(listed["runs"]) != len(names):
            raise ProgramFailed(f"opening: {len(listed['runs'])} of {len(names)} runs are listed")
        first = _chart_s(browser, link, names[-1])
        following = _chart_s(browser, link, names[0])
        used = page.cpu_times()
        return Opened(list_s, first, following, used.user + used.system, _rss_mb(page))


def _chart_s(browser: Browser, link: str, run: str) -> float:
    """Seconds from navigation to the first drawn chart of a run, in a browser that is new to it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{link}#run={quote(run)}", wait_until="commit")
    found = page.wait_for_function(_FIRST_CHART, polling="raf", timeout=120_000).json_value()
    context.close()
    return float(found)


def _rss_mb(process: psutil.Process) -> float:
    return float(process.memory_info().rss / _MB)


def _watch(runs: Path, seconds: int) -> list[Watched]:
    """A run of a day is written while viewers get all of it."""
    day = Day(runs, FIRST_UNIX_S)
    (step,) = day.steps
    with ExitStack() as stack:
        link, page = stack.enter_context(_serving(runs))
        day.begin(step)
        day.second(step)
        seen = stack.enter_context(viewers(link, runs, VIEWERS))
        found = [Watched(0, _rss_mb(page))]
        for second in range(1, seconds):
            day.second(step)
            if second % _READ_EVERY == 0:
                announce(f"opening: {second:,} of {seconds:,} s watched")
                _wait_for(seen, second)
                found.append(Watched(second, _rss_mb(page)))
        day.end(step)
        day.end_run()
        seen.join()
        found.append(Watched(seconds, _rss_mb(page)))
    if len(seen.ended) < VIEWERS:
        raise ProgramFailed(f"opening: {len(seen.ended)} of {VIEWERS} viewers saw the run's end")
    return found


def _wait_for(seen: Viewers, second: int) -> None:
    """Wait until each viewer has this second: the clock is not faster than the page."""
    deadline = time.monotonic() + _BEHIND_S
    while len(seen.newest_s) < VIEWERS or min(seen.newest_s.values()) < second:
        if time.monotonic() > deadline:
            raise ProgramFailed(f"opening: second {second} did not reach all viewers")
        time.sleep(_LOOK_S)


def opening_table(readings: Sequence[Opened]) -> str:
    """How long people wait."""
    rows = [
        ["list of all runs, s", _of([one.list_s for one in readings], 2), ""],
        [
            "first chart, page just started, s",
            _of([one.first_chart_s for one in readings], 2),
            _WANTED,
        ],
        ["first chart of another run, s", _of([one.next_chart_s for one in readings], 2), _WANTED],
        ["CPU of the page's process for it, s", _of([one.cpu_s for one in readings], 2), ""],
    ]
    return table(["", "measured", "wanted"], rows)


def memory_table(opened: Sequence[Opened], watched: Sequence[Watched]) -> str:
    """Resident memory of the page's process."""
    wanted = f"≤ {WANTED_MB:g}"
    rows = [
        ["after two runs were opened", _of([one.rss_mb for one in opened], 0), wanted],
        ["while a day was watched: at its start", f"{watched[0].rss_mb:.0f}", wanted],
        ["greatest", f"{max(one.rss_mb for one in watched):.0f}", wanted],
        ["after its end", f"{watched[-1].rss_mb:.0f}", wanted],
    ]
    return table(["page's process, resident", "MB", "wanted"], rows)


def _broken(opened: Sequence[Opened], watched: Sequence[Watched]) -> tuple[str, ...]:
    """The memory alone is a promise: how long something takes depends on the machine's load."""
    greatest = max([one.rss_mb for one in opened] + [one.rss_mb for one in watched])
    return () if greatest <= WANTED_MB else (f"the page's process took {greatest:.0f} MB",)


def _of(values: Sequence[float], digits: int) -> str:
    return with_spread(spread(values), digits)
