"""Creating and filling tables, compared with `sysbench prepare` and with the server's own way to
load a ready file.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benches import loadstone, plain_client, psql, sysbench
from benches.figures import Spread, mirrored, spread
from benches.place import LOADSTONE, Place
from benches.postgresql_place import PostgresqlPlace
from benches.processes import Ran, run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread

_CONTESTANTS = ("sysbench", "loadstone", "ready file")
_MOST_PAIRS = 3
_CPU_WANTED = 0.10
_OF_READY_FILE_WANTED = 1.1
_LIMIT = (
    "One table with AUTO_INCREMENT has no goal on MariaDB: its limit is the table's AUTO-INC lock,"
    " which one LOAD DATA holds at a time, at some 210,000 rows a second."
)


@dataclass(frozen=True)
class Layout:
    """Tables to create."""

    tables: int
    table_size: int
    faster_wanted: float | None = None
    """The required speed as a multiple of sysbench's."""

    @property
    def rows(self) -> int:
        """Rows in all tables."""
        return self.tables * self.table_size

    def __str__(self) -> str:
        return f"{self.tables} × {self.table_size:,}"


LAYOUTS = (Layout(1, 1_000_000), Layout(10, 100_000, 1.15))
START = Layout(1, 10)
"""Almost no rows: measures the program's start."""


@dataclass(frozen=True)
class Reading:
    """One load."""

    layout: Layout
    contestant: str
    wall_s: float
    cpu_s: float


def measure(place: Place) -> Report:
    """Measure the usual layouts."""
    return measure_layouts(place, LAYOUTS)


def measure_layouts(place: Place, layouts: Sequence[Layout]) -> Report:
    """Rounds in the order A B C, C B A, each load into an empty schema with empty binary logs."""
    rounds = 1 if place.asked.quick else min(place.asked.pairs, _MOST_PAIRS)
    readings = [
        _read(place, layout, contestant, f"round {number + 1} of {rounds}")
        for layout in (*layouts, START)
        for number, order in enumerate(mirrored(_CONTESTANTS, rounds))
        for contestant in order
    ]
    place.empty_schema()
    return Report(
        title=f"Bulk loading: prepare, {place.sandbox.flavour} {place.sandbox.version}",
        tables=(wall_table(readings, layouts), cpu_table(readings, layouts)),
        readings=[asdict(reading) for reading in readings],
        notes=(
            f"{counted(rounds, 'round')}; median (least–greatest), ratios within a round. The whole"
            " process: tables, rows, the index on k, and Loadstone's check of the row counts."
            " sysbench has a thread a table, Loadstone its default of two connections a core;"
            f" the ready file goes by {_way(place)}, a process a table.",
            "Less its start: CPU less that of the same program's load of ten rows.",
            *([_LIMIT] if place.sandbox.flavour == "mariadb" else []),
        ),
    )


def _way(place: Place) -> str:
    if isinstance(place, PostgresqlPlace):
        return "COPY from the server's own disk, then the index and VACUUM (ANALYZE)"
    return f"LOAD DATA LOCAL with {plain_client.NAME}"


def _read(place: Place, layout: Layout, contestant: str, which: str) -> Reading:
    announce(f"prepare: {layout}, {which}, {contestant}")
    place.empty_schema()
    load = {"sysbench": _sysbench, "loadstone": _loadstone, "ready file": _ready_file}[contestant]
    ran = load(place, layout)
    return Reading(layout, contestant, ran.wall_s, ran.cpu_s)


def _loadstone(place: Place, layout: Layout) -> Ran:
    options = ["--tables", str(layout.tables), "--table-size", str(layout.table_size)]
    return run(
        [LOADSTONE, "prepare", "--target", place.url(), *options],
        environment=loadstone.environment(place),
    )


def _sysbench(place: Place, layout: Layout) -> Ran:
    tables = [f"--tables={layout.tables}", f"--table_size={layout.table_size}"]
    threads = f"--threads={layout.tables}"
    return run(sysbench.command(place, [threads, *tables, "oltp_read_write", "prepare"]))


def _ready_file(place: Place, layout: Layout) -> Ran:
    """Load all tables at once; the wall time is that of the slowest."""
    file = _file(place, layout.table_size)

    def load(number: int) -> Ran:
        name = f"sbtest{number}"
        if isinstance(place, PostgresqlPlace):
            words, environment = psql.command(place, file, name)
        else:
            words, environment = plain_client.command(place, file, name)
        return run(words, environment=environment)

    with ThreadPoolExecutor(layout.tables) as pool:
        ran = list(pool.map(load, range(1, layout.tables + 1)))
    return Ran("", max(one.wall_s for one in ran), sum(one.cpu_s for one in ran))


def _file(place: Place, rows: int) -> Path:
    file = place.folder / f"rows-{rows}.tsv"
    if not file.exists():
        announce(f"prepare: writing a file of {rows:,} rows")
        plain_client.write_file(file, rows)
    return file


def wall_table(readings: Sequence[Reading], layouts: Sequence[Layout]) -> str:
    """How long each took, and the related goals."""
    head = ["", "tables × rows", "seconds", "rows/s", "times sysbench's", "wanted"]
    head += ["of the ready file's seconds", "wanted"]
    rows = [_wall_row(readings, layout, name) for layout in layouts for name in _CONTESTANTS]
    return table(head, rows)


def _wall_row(readings: Sequence[Reading], layout: Layout, contestant: str) -> list[str]:
    mine, theirs, ready = (
        [one.wall_s for one in _of(readings, layout, name)]
        for name in (contestant, "sysbench", "ready file")
    )
    row = [contestant, str(layout), with_spread(spread(mine))]
    row.append(with_spread(spread([layout.rows / wall_s for wall_s in mine]), 0))
    if contestant != "loadstone":
        return row + [""] * 4
    row += [with_spread(_ratios(theirs, mine), 2), _wanted(layout)]
    return [*row, with_spread(_ratios(mine, ready), 2), f"≤ {_OF_READY_FILE_WANTED:.2f}"]


def _wanted(layout: Layout) -> str:
    return "" if layout.faster_wanted is None else f"≥ {layout.faster_wanted:.2f}"


def cpu_table(readings: Sequence[Reading], layouts: Sequence[Layout]) -> str:
    """What the generators used, with and without their start."""
    head = ["", "tables × rows", "generator CPU s", "of sysbench's", "wanted"]
    head += ["less its start, s", "of sysbench's"]
    names = ("sysbench", "loadstone")
    rows = [_cpu_row(readings, layout, name) for layout in (*layouts, START) for name in names]
    return table(head, rows)


def _cpu_row(readings: Sequence[Reading], layout: Layout, contestant: str) -> list[str]:
    (mine, my_rows), (theirs, their_rows) = (
        _cpu(readings, layout, name) for name in (contestant, "sysbench")
    )
    row = [contestant, str(layout), with_spread(spread(mine), 2)]
    is_ours, is_start = contestant == "loadstone", layout == START
    row += [with_spread(_ratios(mine, theirs), 2) if is_ours else ""]
    row += [f"≤ {_CPU_WANTED:.2f}" if is_ours and not is_start else ""]
    row += ["" if is_start else with_spread(spread(my_rows), 2)]
    return [*row, with_spread(_ratios(my_rows, their_rows), 2) if is_ours and not is_start else ""]


def _cpu(readings: Sequence[Reading], layout: Layout, name: str) -> tuple[list[float], list[float]]:
    """The CPU of each load, with and without the program's start."""
    start = spread([one.cpu_s for one in _of(readings, START, name)]).median
    whole = [one.cpu_s for one in _of(readings, layout, name)]
    return whole, [cpu_s - start for cpu_s in whole]


def _of(readings: Sequence[Reading], layout: Layout, contestant: str) -> list[Reading]:
    return [one for one in readings if (one.layout, one.contestant) == (layout, contestant)]


def _ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    # A start that took as long as the load leaves nothing to divide by.
    pairs = zip(above, below, strict=True)
    return spread([a / b if b > 0 else float("nan") for a, b in pairs])
