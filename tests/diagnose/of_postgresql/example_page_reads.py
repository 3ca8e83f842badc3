"""Pages that are not in shared_buffers: always, and until caches are warm."""

from __future__ import annotations

from typing import Any

from diagnose.accounts import an_account
from diagnose.examples import FULL_OF_SERVER, Example
from diagnose.healthy import per_second
from diagnose.of_postgresql.figures import Figures, a_case, at
from diagnose.of_postgresql.tables import a_table
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.rules.postgresql import cold_caches, reads_one_by_one, shared_buffers
from loadstone.model.hot_spots import HotSpots, IndexOfVersions

_BUSY = an_account(on_core=0.2, waiting_for_a_core=0.6)
_COPIES = at(
    _BUSY,
    tps=10_000.0,
    host={**FULL_OF_SERVER, "memory_available_bytes": 8e9},
    rates={"pg_stat_database.target.blks_read": 80_000.0},
    totals={"pg_stat_database.target.blks_read": 900_000.0},
)
_FROM_DISK = at(
    an_account(disk_read=0.5, on_core=0.1),
    rates={"pg_stat_database.target.blks_read": 5000.0},
    totals={"pg_stat_database.target.blks_read": 60_000.0},
    host_rates={"process.read_bytes": 40e6},
)
_STEADY: dict[tuple[Source, str], Series] = {
    ("server", "pg_stat_database.target.blks_read"): per_second(*[5000.0] * 10),
    ("load", "tps"): per_second(*[1000.0] * 10),
}
_FALLS = {
    **_STEADY,
    ("server", "pg_stat_database.target.blks_read"): per_second(
        *[9000.0] * 3, *[5000.0] * 4, *[900.0] * 3
    ),
}
_UNSEEN = Figures(step={"account": None}, rates={"pg_stat_database.target.blks_read": 5000.0})

_BY_BITMAPS = HotSpots(
    versions=(
        a_table(
            indexes=(IndexOfVersions(index="k_1", columns=("k",), entries=120_000, fetched=9000),)
        ),
    )
)
_WAITING: dict[str, Any] = {"host_rates": {"process.read_bytes": 300e3}}

EXAMPLES = (
    Example(
        reads_one_by_one.RULE,
        a_case(at(an_account(disk_read=0.6), step={"hot_spots": _BY_BITMAPS}, **_WAITING)),
        a_case(at(an_account(disk_read=0.6), **_WAITING)),
        a_case(at(an_account(disk_read=0.6), step={"hot_spots": None}, **_WAITING)),
        needs="the server's views of its tables",
    ),
    Example(
        reads_one_by_one.RULE,
        a_case(at(an_account(disk_read=0.6), step={"hot_spots": _BY_BITMAPS}, **_WAITING)),
        a_case(
            at(an_account(disk_read=0.6), step={"hot_spots": _BY_BITMAPS}, **_WAITING),
            variables={"effective_io_concurrency": "16"},
        ),
        a_case(variables={"effective_io_concurrency": None}),
        needs="variable effective_io_concurrency",
    ),
    Example(
        shared_buffers.RULE,
        a_case(_COPIES),
        a_case(at(_BUSY, rates={"pg_stat_database.target.blks_read": 800.0})),
        a_case(_UNSEEN),
        needs="the account of the users' time",
    ),
    # There is room for all that was read, but reads go on as before.
    Example(
        shared_buffers.RULE,
        a_case(_FROM_DISK, variables={"shared_buffers": "1GB"}, seconds=_STEADY),
        a_case(_FROM_DISK, variables={"shared_buffers": "1GB"}, seconds=_FALLS),
        a_case(_FROM_DISK.but(totals={"pg_stat_database.target.blks_read": None})),
        needs="server counter pg_stat_database.target.blks_read",
    ),
    # The server counts the pages that had to make room (from 16 on).
    Example(
        shared_buffers.RULE,
        a_case(_FROM_DISK.but(rates={"pg_stat_io.client.relation.evictions": 4900.0})),
        a_case(_FROM_DISK.but(rates={"pg_stat_io.client.relation.evictions": 0.0})),
        a_case(_UNSEEN),
        needs="the account of the users' time",
    ),
    Example(
        cold_caches.RULE,
        a_case(_FROM_DISK, seconds=_FALLS),
        a_case(_FROM_DISK, seconds=_STEADY),
        a_case(_FROM_DISK),
        needs="server.parquet's pg_stat_database.target.blks_read",
    ),
)
