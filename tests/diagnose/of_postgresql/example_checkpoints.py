"""Checkpoints that come early, images after any of them, and buffers of the log that are full."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.healthy import per_second
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.rules.postgresql import (
    checkpoint_spikes,
    forced_checkpoints,
    full_pages,
    wal_buffers,
    wal_size,
)
from loadstone.model.account import PlaceGain, SlowSeconds

_TIME = an_account(on_core=0.2, waiting_for_a_core=0.2, log_sync=0.05, commit=0.25)
_DISK = {"disk_busy": 0.6, "disk_write_bytes_per_s": 195e6}
_IMAGES: dict[str, float | None] = {
    "pg_stat_wal.wal_fpi": 8400.0,
    "pg_stat_wal.wal_bytes": 70e6,
    "pg_stat_wal.wal_records": 60_000.0,
    "pg_stat_bgwriter.buffers_checkpoint": 7200.0,
}
EARLY = at(_TIME, rates=_IMAGES, host=_DISK, totals={"pg_stat_bgwriter.checkpoints_req": 30.0})
_TINY = {"max_wal_size": "32MB"}
_NEWER: dict[str, float | None] = {
    "pg_stat_bgwriter.buffers_checkpoint": None,
    "pg_stat_checkpointer.buffers_written": 7200.0,
}
_TIMED = at(_TIME, rates=_IMAGES, host=_DISK, totals={"pg_stat_bgwriter.checkpoints_req": 0.0})
_SOME: dict[str, float | None] = {"pg_stat_wal.wal_fpi": 2000.0, "pg_stat_wal.wal_bytes": 4e6}
_FULL: dict[str, float | None] = {"pg_stat_wal.wal_buffers_full": 8000.0}
_WRITES = {"pg_stat_wal.wal_write": 1500.0}

_SLOW = SlowSeconds(
    count=3,
    of=10,
    spans=((4.0, 7.0),),
    tps=200.0,
    tps_others=1000.0,
    lost=0.24,
    looks=45.0,
    places=(PlaceGain(place="commit", slow=0.7, others=0.1, known="sampled", low=0.5, high=0.7),),
    counters=(),
)
_STALLED = at(_TIME.model_copy(update={"slow": _SLOW}))
_PAGES: Source = "server"


def _writing(*pages: float) -> dict[tuple[Source, str], Series]:
    """Seconds in which a checkpoint wrote so many pages."""
    return {(_PAGES, "pg_stat_bgwriter.buffers_checkpoint"): per_second(*pages)}


_IN_A_SPIKE = _writing(0, 0, 0, 0, 900, 900, 900, 0, 0, 0)
_ENDED: dict[tuple[Source, str], Series] = {
    **_writing(*[0] * 10),
    (_PAGES, "pg_stat_bgwriter.checkpoint_write_time"): per_second(*[0] * 6, 2000, 0, 0, 0),
    (_PAGES, "pg_stat_bgwriter.checkpoint_sync_time"): per_second(*[0] * 6, 1000, 0, 0, 0),
}

EXAMPLES = (
    Example(
        checkpoint_spikes.RULE,
        a_case(_STALLED, seconds=_IN_A_SPIKE),
        # It writes all the time: then the slow seconds have another reason.
        a_case(_STALLED, seconds=_writing(*[300] * 10)),
        a_case(_STALLED),
        needs="server.parquet's pg_stat_checkpointer.buffers_written",
    ),
    # What it wrote at once is counted when it ends, as is how long that took.
    Example(
        checkpoint_spikes.RULE,
        a_case(_STALLED, seconds=_ENDED),
        a_case(at(_TIME), seconds=_ENDED),
        a_case(_STALLED),
        needs="server.parquet's pg_stat_checkpointer.buffers_written",
    ),
    Example(
        wal_size.RULE,
        a_case(EARLY, variables=_TINY),
        a_case(_TIMED, variables=_TINY),
        a_case(EARLY, variables={"max_wal_size": None}),
        needs="variable max_wal_size",
    ),
    # From 17 on checkpoints have a view of their own.
    Example(
        wal_size.RULE,
        a_case(
            EARLY.but(
                rates=_NEWER,
                totals={
                    "pg_stat_bgwriter.checkpoints_req": None,
                    "pg_stat_checkpointer.num_requested": 30.0,
                },
            ),
            variables=_TINY,
        ),
        a_case(EARLY.but(host={"disk_busy": 0.01}, rates={"pg_stat_wal.wal_fpi": 50.0})),
        a_case(EARLY.but(totals={"pg_stat_bgwriter.checkpoints_req": None})),
        needs="server counter pg_stat_checkpointer.num_requested",
    ),
    Example(
        full_pages.RULE,
        a_case(_TIMED),
        a_case(EARLY, variables=_TINY),
        a_case(at(rates={"pg_stat_wal.wal_fpi": None})),
        needs="server counter pg_stat_wal.wal_bytes",
    ),
    # Few images, but each is compressed by the slow way.
    Example(
        full_pages.RULE,
        a_case(at(_TIME, rates=_SOME), variables={"wal_compression": "pglz"}),
        a_case(at(_TIME, rates=_SOME), variables={"wal_compression": "lz4"}),
        a_case(at(rates={"pg_stat_wal.wal_fpi": None})),
        needs="server counter pg_stat_wal.wal_bytes",
    ),
    # Two a second, where the log's growth asks for one every eight seconds.
    Example(
        forced_checkpoints.RULE,
        a_case(EARLY.but(rates={"pg_stat_bgwriter.checkpoints_req": 2.0})),
        # No more often than by checkpoint_timeout.
        a_case(
            EARLY.but(
                rates={
                    "pg_stat_bgwriter.checkpoints_req": 2.0,
                    "pg_stat_bgwriter.checkpoints_timed": 2.0,
                }
            )
        ),
        a_case(at(_TIME, rates={"pg_stat_bgwriter.checkpoints_req": None})),
        needs="server counter pg_stat_checkpointer.num_requested",
    ),
    Example(
        wal_buffers.RULE,
        a_case(at(_TIME, rates={**_FULL, **_WRITES})),
        a_case(at(_TIME, rates=_WRITES)),
        a_case(Figures(rates={"pg_stat_wal.wal_buffers_full": None})),
        needs="server counter pg_stat_wal.wal_buffers_full",
    ),
)
