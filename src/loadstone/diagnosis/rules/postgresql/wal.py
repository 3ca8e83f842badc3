"""The write-ahead log by the server's own counters: its syncs, and who waits for them.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-WAL-VIEW
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import state_share
from loadstone.diagnosis.holds import SYNC_WAITS
from loadstone.diagnosis.slow_syncs import disk_flush_s
from loadstone.model.result import StepResult

_SYNCS = ("pg_stat_io.wal.fsyncs", "pg_stat_wal.wal_sync")
_WRITES = ("pg_stat_io.wal.writes", "pg_stat_wal.wal_write")
"""Counters by version, those from 18 on first."""

_SYNC_TIMES = ("pg_stat_io.wal.fsync_time", "pg_stat_wal.wal_sync_time")
_WRITE_TIMES = ("pg_stat_io.wal.write_time", "pg_stat_wal.wal_write_time")
"""Milliseconds; only where `track_wal_io_timing` is on."""

_EACH_WRITE_SYNCS = ("open_datasync", "open_sync")
"""Values of `wal_sync_method` with which a write returns once it is on disk, and no sync is
counted."""

_STATES = ("IO:WALSync", "IO:WalSync", "IO:WALWrite", "IO:WalWrite", "LWLock:WALWrite")
"""Wait events of who writes or syncs the log, and of who waits until another session has; their
spelling differs between versions."""


class Counted(NamedTuple):
    """A counter of the server."""

    name: str
    per_s: float


def syncs(case: Case) -> Counted | None:
    """How often the log is synced; `None`: not counted, as before version 14."""
    return _first(case, _WRITES if _each_write_syncs(case) else _SYNCS)


def writes(case: Case) -> Counted | None:
    """How often the log is written; `None`: not counted."""
    return _first(case, _WRITES)


def sync_s(case: Case) -> float | None:
    """Time of a sync: the longest of three measures, `None`: there is none.

    The disk's flushes, the server's own clock, and the number of sessions that sync at a moment
    divided by the syncs a second (Little's law).
    """
    counted = syncs(case)
    timed = _first(case, _WRITE_TIMES if _each_write_syncs(case) else _SYNC_TIMES)
    seen = case.time_at("log sync")
    known = [disk_flush_s(case)]
    if counted and counted.per_s:
        known += [timed.per_s / 1000 / counted.per_s] if timed else []
        known += [seen * case.users / counted.per_s] if seen is not None else []
    return max((each for each in known if each is not None), default=None)


def wait_share(case: Case) -> float | None:
    """Share of the users' time in which they wait until the log is on disk; `None`: not seen."""
    seen = case.time_at(*SYNC_WAITS)
    return state_share(case, *_STATES) if seen is None else seen


def is_waited_for(case: Case) -> bool:
    """Whether commits wait until the log is on disk, by the settings of the load's sessions."""
    return case.is_on("fsync") is not False and case.variable("synchronous_commit") != "off"


def as_synced(case: Case) -> Case:
    """The same case, in whose figures a write counts as a sync where it is one."""
    if not _each_write_syncs(case):
        return case
    return replace(
        case, step=_as_synced(case.step), ladder=tuple(_as_synced(step) for step in case.ladder)
    )


def _as_synced(step: StepResult) -> StepResult:
    server = step.server
    found = server.rates.get("log_writes") if server else None
    if server is None or not found:
        return step
    changed = server.model_copy(
        update={
            "rates": {**server.rates, "log_syncs": found},
            "log_syncs_per_s": found,
            "transactions_per_sync": _ratio(server.commits_per_s, found),
            "bytes_per_sync": _ratio(server.log_bytes_per_s, found),
        }
    )
    return step.model_copy(update={"server": changed})


def _ratio(part: float | None, whole: float) -> float | None:
    return None if part is None else part / whole


def _each_write_syncs(case: Case) -> bool:
    return case.variable("wal_sync_method") in _EACH_WRITE_SYNCS


def _first(case: Case, names: tuple[str, ...]) -> Counted | None:
    """The first of these counters that the server has."""
    for name in names:
        value = case.rate(name)
        if value is not None:
            return Counted(name, value)
    return None
