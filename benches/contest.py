"""Programs that do the same work in turn: what a query costs each of them, and their rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benches import floor, loadstone, pgbench, sysbench
from benches.figures import mirrored, spread, steady_cost_us
from benches.place import LOADSTONE, Place
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.tables import interval, table, with_spread
from benches.workload import TABLE_SIZE, TABLES, Outcome, Step

SYSBENCH, RUN, ENGINE, FLOOR = "sysbench", "loadstone run", "engine, one shard", "floor"
PGBENCH = "pgbench"
NATIVE, SCRIPTED = "loadstone sysbench", "the same with the script"
_STANDS_IN = (LOADSTONE, "sysbench")
DRIVERS: dict[str, Callable[[Place, Step], Outcome]] = {
    SYSBENCH: sysbench.drive,
    RUN: loadstone.drive,
    ENGINE: loadstone.drive_engine_with_one_shard,
    FLOOR: floor.drive,
    PGBENCH: pgbench.drive,
    NATIVE: lambda place, step: sysbench.drive(place, step, _STANDS_IN),
    SCRIPTED: lambda place, step: sysbench.drive(place, step, _STANDS_IN, script_of(step)),
}

BY_WORD = {
    "sysbench": SYSBENCH,
    "run": RUN,
    "engine": ENGINE,
    "floor": FLOOR,
    "pgbench": PGBENCH,
    "native": NATIVE,
    "scripted": SCRIPTED,
}
"""The contestants, as `--contestants` names them."""

# Where Debian's package puts sysbench's own scripts.
_SCRIPTS = Path("/usr/share/sysbench")


def script_of(step: Step) -> str:
    """sysbench's own script of a workload."""
    return str(_SCRIPTS / f"{step.workload}.lua")


@dataclass(frozen=True)
class Reading:
    """One contestant in one pair: a short run followed by a long one."""

    pair: int
    step: Step
    contestant: str
    short: Outcome
    long: Outcome

    @property
    def cost_us(self) -> float:
        """The steady cost of a query by the whole process's CPU."""
        return steady_cost_us(self.short.spent, self.long.spent)

    @property
    def rate(self) -> float:
        """Queries per second of the long run."""
        return self.long.queries_per_s

    def as_json(self) -> dict[str, Any]:
        """The reading as saved to the file."""
        return {**asdict(self), "cost_us": self.cost_us}


@dataclass(frozen=True)
class Ratio:
    """A column: a figure relative to another contestant's, computed within each pair."""

    title: str
    base: str
    of: Callable[[Reading], float]
    wanted: Mapping[tuple[str, int], str]
    """The goals, by contestant and users."""


def cost(reading: Reading) -> float:
    """CPU microseconds per query."""
    return reading.cost_us


def rate(reading: Reading) -> float:
    """Queries per second."""
    return reading.rate


def at_most(contestants: Sequence[str], limits: Mapping[int, float]) -> dict[tuple[str, int], str]:
    """Upper limits for these contestants, by users."""
    return {(one, users): f"≤ {most:g}" for one in contestants for users, most in limits.items()}


def at_least(contestants: Sequence[str], limits: Mapping[int, float]) -> dict[tuple[str, int], str]:
    """Lower limits for these contestants, by users."""
    return {(one, users): f"≥ {least:g}" for one in contestants for users, least in limits.items()}


def prepare(place: Place, *, tls: bool = False) -> None:
    """Create the tables of the load with Loadstone."""
    place.empty_schema()
    layout = ["--tables", str(TABLES), "--table-size", str(TABLE_SIZE)]
    target = ["--target", place.url(tls=tls)]
    run([LOADSTONE, "prepare", *target, *layout], environment=loadstone.environment(place))


def contest(
    place: Place, name: str, steps: Sequence[Step], contestants: Sequence[str]
) -> tuple[list[Reading], list[str]]:
    """At each step, pairs in the order A B B A; also returns why figures are missing.

    Raises:
        ProgramFailed: none of the contestants is asked for.
    """
    contestants = taking_part(place.asked.contestants, name, contestants)
    readings: list[Reading] = []
    failed: list[str] = []
    for step in steps:
        what = f"{name}: {step.users} users"
        announce(f"{what}, warming up")
        loadstone.drive(place, replace(step, seconds=1.0))  # the server's caches fill
        for pair, order in enumerate(mirrored(contestants, place.asked.pairs)):
            for contestant in order:
                announce(f"{what}, pair {pair + 1} of {place.asked.pairs}, {contestant}")
                try:
                    readings.append(_read(place, step, pair, contestant))
                except ProgramFailed as error:
                    # Ours must not fail; sysbench may, if its threads do not start in time.
                    if contestant != SYSBENCH:
                        raise
                    failed.append(f"{what}, pair {pair + 1}: {str(error)[-200:]}")
                except ValueError as error:
                    failed.append(f"{what}, pair {pair + 1}, {contestant}: no figure: {error}")
    return readings, failed


def taking_part(words: Sequence[str] | None, bench: str, contestants: Sequence[str]) -> list[str]:
    """The contestants of this bench that these words of `--contestants` name; `None` names all.

    Raises:
        ProgramFailed: they name none of them.
    """
    if words is None:
        return list(contestants)
    wanted = {BY_WORD[word] for word in words}
    mine = [one for one in contestants if one in wanted]
    if not mine:
        known = ", ".join(word for word, one in BY_WORD.items() if one in contestants)
        raise ProgramFailed(f"{bench} has none of these contestants; it has {known}")
    return mine


def _read(place: Place, step: Step, pair: int, contestant: str) -> Reading:
    short, long = (
        _drive(place, replace(step, seconds=seconds), contestant) for seconds in place.asked.seconds
    )
    reading = Reading(pair, step, contestant, short, long)
    _ = reading.cost_us  # a run that was disturbed so much that it has none must say so now
    return reading


def _drive(place: Place, step: Step, contestant: str) -> Outcome:
    place.wait_until_alone()
    return DRIVERS[contestant](place, step)


def cost_table(readings: Sequence[Reading], ratios: Sequence[Ratio]) -> str:
    """One row for each number of users and contestant; each ratio is followed by the interval that
    has its median with 95 %, and by its goal. A ratio to a contestant that did not take part has no
    column.
    """
    there = {reading.contestant for reading in readings}
    ratios = [ratio for ratio in ratios if ratio.base in there]
    groups: dict[tuple[int, str], list[Reading]] = {}
    for reading in sorted(readings, key=lambda reading: reading.pair):
        groups.setdefault((reading.step.users, reading.contestant), []).append(reading)
    rows = [
        _row(mine, [(ratio, groups.get((users, ratio.base), [])) for ratio in ratios])
        for (users, _), mine in groups.items()
    ]
    titles = [title for ratio in ratios for title in (ratio.title, "median, 95 %", "wanted")]
    head = ["", "users", "shards", "CPU µs a query", "queries/s", *titles, "errors"]
    return table(head, rows)


def _row(mine: Sequence[Reading], ratios: Sequence[tuple[Ratio, Sequence[Reading]]]) -> list[str]:
    first = mine[0]
    shards = first.long.shards
    return [
        first.contestant,
        f"{first.step.users:,}",
        "" if shards is None else str(shards),
        with_spread(spread([reading.cost_us for reading in mine])),
        with_spread(spread([reading.rate for reading in mine]), 0),
        *(cell for ratio, base in ratios for cell in _ratio_cells(ratio, mine, base)),
        str(sum(reading.short.errors + reading.long.errors for reading in mine)),
    ]


def _ratio_cells(ratio: Ratio, mine: Sequence[Reading], base: Sequence[Reading]) -> list[str]:
    ratios = [ratio.of(a) / ratio.of(b) for a in mine for b in base if a.pair == b.pair]
    if not ratios or mine[0].contestant == ratio.base:
        return ["", "", ""]
    wanted = ratio.wanted.get((mine[0].contestant, mine[0].step.users), "")
    return [with_spread(spread(ratios), 2), interval(ratios), wanted]


def own_clock_table(readings: Sequence[Reading]) -> str:
    """The generators' own CPU clock compared with the difference of two runs."""
    groups: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for one in readings:
        if one.long.own_cpu_us is not None:
            known = groups.setdefault((one.contestant, one.step.users), [])
            known.append((one.long.own_cpu_us, one.cost_us))
    rows = [
        [
            contestant,
            f"{users:,}",
            with_spread(spread([own for own, _ in known])),
            with_spread(spread([(whole / own - 1) * 100 for own, whole in known]), 0),
        ]
        for (contestant, users), known in groups.items()
    ]
    return table(["", "users", "own clock, µs a query", "process beyond it, %"], rows)
