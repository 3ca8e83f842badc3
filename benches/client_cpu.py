"""The generator's CPU per query and the rate it reaches, compared with sysbench and the floor."""

from __future__ import annotations

from benches.contest import (
    ENGINE,
    FLOOR,
    RUN,
    SYSBENCH,
    Ratio,
    at_least,
    at_most,
    contest,
    cost,
    cost_table,
    own_clock_table,
    prepare,
    rate,
)
from benches.place import Place
from benches.report import Report
from benches.tables import how_measured
from benches.workload import TABLE_SIZE, TABLES, Step

USERS = (8, 64, 512, 4000)
# Thousands of users need some seconds until each has used each table.
_MANY, _WARMUP_S = 1000, 5.0
OF_FLOOR = Ratio(
    "of the floor's",
    FLOOR,
    cost,
    at_most([ENGINE], dict.fromkeys(USERS, 1.1)) | at_most([RUN], dict.fromkeys(USERS, 1.15)),
)
# The first goals were 0.50 at 64 users and 0.33 at 512.
OF_SYSBENCH = Ratio(
    "of sysbench's",
    SYSBENCH,
    cost,
    at_most([RUN, ENGINE], {8: 0.7, 64: 0.45, 512: 0.25, 4000: 0.1}),
)
RATE = Ratio("of sysbench's rate", SYSBENCH, rate, at_least([RUN], {8: 1.0, 512: 1.3, 4000: 1.8}))


def steps(place: Place, *, tls: bool = False) -> list[Step]:
    """Prepared point selects for each number of users."""
    return [
        Step(users, 0.0, warmup_s=_WARMUP_S if users >= _MANY else 0.0, tls=tls)
        for users in place.asked.users or USERS
    ]


def measure(place: Place) -> Report:
    """Measure all contestants against a server without TLS."""
    prepare(place)
    readings, failed = contest(place, "client-cpu", steps(place), [SYSBENCH, RUN, ENGINE, FLOOR])
    return Report(
        title="Client CPU a query: oltp_point_select, prepared, loopback TCP without TLS",
        tables=(
            cost_table(readings, [OF_FLOOR, OF_SYSBENCH, RATE]),
            own_clock_table(readings),
        ),
        readings=[reading.as_json() for reading in readings],
        notes=(
            f"{TABLES} tables of {TABLE_SIZE:,} rows, uniform keys; "
            + how_measured(place.asked.pairs, place.asked.seconds),
            "The floor has one thread, and so has the engine compared with it; loadstone run has"
            " its default number of event loops.",
            *failed,
        ),
    )
