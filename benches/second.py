"""What the end of a second costs an event loop: handing over all that it has counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benches.figures import Spread, spread
from benches.place import ROOT, Asked
from benches.processes import run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread

WANTED_US = 50.0
# Part of the engine, since what it measures is private there.
_TEST = "metering::cost::the_turn_of_a_second"


@dataclass(frozen=True)
class Reading:
    """The seconds of one run of the measurement."""

    round: int
    users: int
    per_user: bool
    """Whether each user is counted separately."""
    turns_us: list[float]
    """CPU of the thread for each second, in ascending order."""


def measure(asked: Asked, folder: Path) -> Report:
    """Run the engine's own measurement so many times."""
    manifest = ["--manifest-path", str(ROOT / "Cargo.toml")]
    command = ["cargo", "test", "--release", "--quiet", *manifest, "-p", "loadstone-drive", "--lib"]
    readings = []
    for number in range(asked.pairs):
        announce(f"second: run {number + 1} of {asked.pairs}")
        ran = run([*command, "--", "--ignored", "--exact", "--nocapture", _TEST])
        readings += readings_of(ran.stdout, number)
    return Report(
        title="The end of a second on an event loop",
        tables=(turns_table(readings),),
        readings=[asdict(one) for one in readings],
        notes=(
            f"{counted(asked.pairs, 'run')} of {len(readings[0].turns_us)} seconds with 20,000"
            " events each, while another thread adds the seconds up; CPU of the loop's thread for"
            " taking what was counted and sending it; median (least–greatest) of all seconds.",
        ),
    )


def readings_of(said: str, number: int) -> list[Reading]:
    """The lines of JSON in the measurement's output.

    Raises:
        ValueError: there are none.
    """
    lines = [line[line.index("{") :] for line in said.splitlines() if line.endswith("}")]
    if not lines:
        raise ValueError(f"no figures of {_TEST}: {said[-300:]!r}")
    return [Reading(round=number, **json.loads(line)) for line in lines]


def turns_table(readings: Sequence[Reading]) -> str:
    """With and without figures of each user."""
    head = ["", "users", "seconds", "CPU µs a second", "wanted"]
    rows = []
    for per_user in (False, True):
        mine = [one for one in readings if one.per_user == per_user]
        turns: Spread = spread([turn for one in mine for turn in one.turns_us])
        title = "each user counted separately" if per_user else "all users together"
        seconds = sum(len(one.turns_us) for one in mine)
        wanted = f"≤ {WANTED_US:g}"
        rows.append([title, f"{mine[0].users:,}", str(seconds), with_spread(turns), wanted])
    return table(head, rows)
