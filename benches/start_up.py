"""How long a command takes that only says something."""

from __future__ import annotations

from benches.figures import spread
from benches.place import LOADSTONE, Place
from benches.processes import run
from benches.progress import say
from benches.report import Report
from benches.tables import table, with_spread

TARGET_S = 0.15
_TIMES = 15


def measure(place: Place) -> Report:
    """Each command some times, after once that is not counted: files are in memory then."""
    commands = {
        "loadstone --version": [LOADSTONE, "--version"],
        "loadstone --help": [LOADSTONE, "--help"],
        "sysbench --version": [place.sysbench, "--version"],
    }
    rows, readings = [], []
    for name, command in commands.items():
        say(f"start-up: {name}")
        run(command)
        wall = [run(command).wall_s for _ in range(_TIMES)]
        wanted = f"< {TARGET_S * 1000:.0f}" if name.startswith("loadstone") else ""
        rows.append([name, with_spread(spread([one * 1000 for one in wall]), 0), wanted])
        readings.append({"command": name, "wall_s": wall})
    return Report(
        title="Start-up",
        tables=(table(["", "wall ms", "wanted"], rows),),
        readings=readings,
        notes=(f"{_TIMES} times each; median (least–greatest).",),
    )
