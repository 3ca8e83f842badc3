"""The benches on PostgreSQL: what a query costs the client, and what loading takes."""

from __future__ import annotations

from pathlib import Path

from benches import contest, postgresql_place, prepare
from benches.contest import ENGINE, FLOOR, PGBENCH, RUN, SYSBENCH, Ratio, at_least, at_most
from benches.place import Asked
from benches.report import Report
from benches.tables import how_measured
from benches.workload import TABLE_SIZE, Step

USERS = (8, 64, 512)
OF_FLOOR = Ratio(
    "of the floor's", FLOOR, contest.cost, at_most([ENGINE], dict.fromkeys(USERS, 1.15))
)
OF_PGBENCH = Ratio("of pgbench's", PGBENCH, contest.cost, at_most([ENGINE], {64: 0.5}))
RATE = Ratio("of pgbench's rate", PGBENCH, contest.rate, at_least([RUN], dict.fromkeys(USERS, 1)))
RATE_OF_SYSBENCH = Ratio(
    "of sysbench's rate", SYSBENCH, contest.rate, at_least([RUN], dict.fromkeys(USERS, 1))
)
_LAYOUTS = (
    prepare.Layout(1, 1_000_000),
    prepare.Layout(10, 100_000),
    prepare.Layout(10, 500_000),
)


def measure_cpu(asked: Asked, folder: Path) -> Report:
    """Measure all contestants by prepared point selects over the unix socket."""
    steps = [Step(users, 0.0, tables=1) for users in asked.users or USERS]
    with postgresql_place.open_place(asked, folder) as place:
        contest.prepare(place)
        readings, failed = contest.contest(
            place, "postgresql-cpu", steps, [SYSBENCH, PGBENCH, RUN, ENGINE, FLOOR]
        )
    return Report(
        title="Client CPU a query on PostgreSQL: oltp_point_select, prepared, unix socket",
        tables=(
            contest.cost_table(readings, [OF_FLOOR, OF_PGBENCH, RATE, RATE_OF_SYSBENCH]),
            contest.own_clock_table(readings),
        ),
        readings=[reading.as_json() for reading in readings],
        notes=(
            f"A table of {TABLE_SIZE:,} rows, uniform keys; "
            + how_measured(asked.pairs, asked.seconds),
            "The floor has one thread, and so has the engine compared with it; pgbench has a thread"
            " a core, and loadstone run its default number of event loops.",
            *failed,
        ),
    )


def measure_prepare(asked: Asked, folder: Path) -> Report:
    """Measure loading, compared with COPY of a file that the server itself reads."""
    with postgresql_place.open_place(asked, folder) as place:
        return prepare.measure_layouts(place, _LAYOUTS)
