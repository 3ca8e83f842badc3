"""How soon `loadstone demo` puts its throwaway server under load: the first time and later ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benches.figures import spread
from benches.place import LOADSTONE, Asked
from benches.processes import ProgramFailed
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, interval, table, with_spread

WANTED_S = 5.0
_LATER, _LATER_QUICK = 5, 1
_LONGEST_S, _END_S, _LOOK_S = 120.0, 60.0, 0.01
_CONNECTED, _SAMPLE = '"record":{"kind":"connected"', '"record":{"kind":"sample"'


@dataclass(frozen=True)
class Started:
    """One demo, ended as soon as it had a sample. Times are from the command's start."""

    number: int
    """0: nothing was cached."""
    load_s: float
    """When all users of the first step were connected."""
    sample_s: float
    """When the first second of load was in the journal."""
    on_kept_tables: bool


def measure(asked: Asked, folder: Path) -> Report:
    """A demo with an empty cache, then others with what it has left."""
    later = max(asked.pairs, _LATER_QUICK if asked.quick else _LATER)
    cache = folder / "cache"
    started = []
    for number in range(later + 1):
        announce(f"demo-start: demo {number + 1} of {later + 1}")
        started.append(_start(folder, cache, number))
    return Report(
        title="From `loadstone demo` to load on its throwaway server",
        tables=(start_table(started),),
        readings=[asdict(one) for one in started],
        notes=(
            f"The first with an empty cache, then {counted(later, 'demo')}; median"
            " (least–greatest), and the interval that has the median with 95 %. Load: all users of"
            " the first step are connected. Each is ended by SIGINT after its first sample.",
        ),
    )


def _start(folder: Path, cache: Path, number: int) -> Started:
    out = folder / f"demo-{number}"
    used = _last_use(cache)
    begun = time.monotonic()
    with _demo(out, cache, folder / f"demo-{number}.txt") as process:
        load_s = _wait_for(_CONNECTED, process, out) - begun
        sample_s = _wait_for(_SAMPLE, process, out) - begun
    # The folder of tables says when it was used last; it is written when it is made, too.
    return Started(number, load_s, sample_s, used is not None and _last_use(cache) != used)


@contextmanager
def _demo(out: Path, cache: Path, said: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A demo with this cache; it is ended as by Ctrl-C."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program keeps its bytecode
    command = [LOADSTONE, "demo", "--out", str(out)]
    with said.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        yield process
    except ProgramFailed as error:
        raise ProgramFailed(f"{error}: {said.read_text()[-300:]}") from None
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(mark: str, process: subprocess.Popen[bytes], out: Path) -> float:
    """When a line with this mark is in the run's journal.

    Raises:
        ProgramFailed: the demo ended before, or takes too long.
    """
    deadline = time.monotonic() + _LONGEST_S
    while time.monotonic() < deadline:
        for journal in out.glob("*/journal.jsonl"):
            if mark in journal.read_text():
                return time.monotonic()
        if process.poll() is not None:
            raise ProgramFailed(f"loadstone demo ended with {process.returncode} before its load")
        time.sleep(_LOOK_S)
    raise ProgramFailed(f"loadstone demo had no load within {_LONGEST_S:g} s")


def _last_use(cache: Path) -> float | None:
    """When kept tables were last used; `None`: there are none."""
    told = (json.loads(about.read_text()) for about in cache.glob("loadstone/tables/*/about.json"))
    return max((each["used_s"] for each in told), default=None)


def start_table(started: Sequence[Started]) -> str:
    """The first demo, and the others."""
    head = ["", "demos", "on kept tables", "to load, s", "median, 95 %", "wanted"]
    head += ["to the first sample, s"]
    first, later = started[:1], started[1:]
    rows = [_row("the first", first, ""), _row("later ones", later, f"≤ {WANTED_S:g}")]
    return table(head, rows)


def _row(title: str, mine: Sequence[Started], wanted: str) -> list[str]:
    load_s = [one.load_s for one in mine]
    return [
        title,
        str(len(mine)),
        str(sum(one.on_kept_tables for one in mine)),
        with_spread(spread(load_s), 2),
        interval(load_s),
        wanted,
        with_spread(spread([one.sample_s for one in mine]), 2),
    ]
