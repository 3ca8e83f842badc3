"""Builds the one question that reads a server's statistics, from the columns that its views have.

What a version has is asked of its catalog once: columns move from one view to another (those of
checkpoints in 17, of the write-ahead log in 18), and compatible servers lack some.
Source: https://www.postgresql.org/docs/current/monitoring-stats.html
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Columns = Mapping[str, Collection[str]]
"""The columns with numbers of each view that this account may read."""

WHOLE_VIEWS = ("pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_wal")
"""Views of one row, whose numbers all grow."""

DATABASES = "pg_stat_database"
IO = "pg_stat_io"
REPLICAS = "pg_stat_replication"
SLOTS = "pg_replication_slots"
PREPARED = "pg_prepared_xacts"
PROGRESS = "pg_stat_progress_"
VIEWS = (*WHOLE_VIEWS, DATABASES, IO, REPLICAS, SLOTS, PREPARED)

CATALOG = f"""
SELECT c.relname, a.attname, has_table_privilege(c.oid, 'SELECT'),
  format_type(a.atttypid, NULL) IN
    ('smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision', 'xid')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = 'pg_catalog'::regnamespace AND a.attnum > 0
  AND (c.relname IN ({", ".join(f"'{name}'" for name in VIEWS)})
    OR c.relname LIKE '{PROGRESS.replace("_", chr(92) + "_")}%')
"""
"""Lists views, columns, whether this account may read the view, whether it is a number."""

_NO_FIGURES = frozenset({"datid", "pid", "op_bytes"})
_NOT_GROWING = frozenset({"numbackends"})
_TIMED = {
    DATABASES: ("blk_read_time", "blk_write_time"),
    "pg_stat_wal": ("wal_write_time", "wal_sync_time"),
}
"""Times that are zero as long as the server does not measure them."""

_COUNTED_ON_REQUEST = ("blks_", "tup_", "temp_", "deadlocks", "conflicts")
"""Beginnings of the columns that are zero without track_counts."""

_MEASURES = {DATABASES: "track_io_timing", IO: "track_io_timing"}
_MEASURES_WAL = "track_wal_io_timing"

IO_OBJECTS = ("relation", "temp relation", "wal")

_SESSIONS = "('client backend', 'background worker')"
"""Workers of parallel queries are background workers."""

_LSN = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END"

_SWITCHES = ("fsync", "full_page_writes", "track_io_timing")
_NUMBERS = ("commit_delay", "commit_siblings")


@dataclass(frozen=True)
class Figure:
    """One value: its name, its expression, and whether it only grows."""

    name: str
    sql: str
    grows: bool = True


@dataclass(frozen=True)
class Part:
    """Figures of one view, or of one subject."""

    name: str
    source: str
    """The FROM clause; empty: none is needed."""
    figures: tuple[Figure, ...]

    @property
    def sql(self) -> str:
        """A question that is one row; its columns have no names of their own."""
        return f"SELECT {', '.join(each.sql for each in self.figures)}{self.source}"


@dataclass(frozen=True)
class Question:
    """A statement that returns one row, with a column for each figure."""

    figures: tuple[Figure, ...]
    sql: str

    def counters(self, row: Sequence[float | None]) -> dict[str, float]:
        """The totals of a row; what the server does not say is left out."""
        return self._of(row, grows=True)

    def gauges(self, row: Sequence[float | None]) -> dict[str, float]:
        """The values of the moment of a row."""
        return self._of(row, grows=False)

    def _of(self, row: Sequence[float | None], *, grows: bool) -> dict[str, float]:
        pairs = zip(self.figures, row, strict=True)
        return {
            each.name: float(value)
            for each, value in pairs
            if each.grows is grows and value is not None
        }


def parts_for(columns: Columns, target: str) -> list[Part]:
    """What a server with these columns can be asked.

    Args:
        columns: what its catalog has.
        target: the name of the load's database, as an SQL literal.
    """
    at_work = [view for view in sorted(columns) if view.startswith(PROGRESS)]
    of_views: dict[str, Iterator[Figure]] = {
        **{view: _of_view(view, columns.get(view, ())) for view in WHOLE_VIEWS},
        DATABASES: _of_databases(columns.get(DATABASES, ()), target),
        IO: _of_io(columns.get(IO, ())),
        REPLICAS: _of_replicas(),
        SLOTS: _of_slots(),
        PREPARED: _of_prepared(target),
    }
    parts = [
        Part("settings", "", tuple(_moment())),
        *_places_of_logs(columns),
        *(
            Part(view, f" FROM {view}", tuple(figures))
            for view, figures in of_views.items()
            if view in columns
        ),
        Part("progress", "", tuple(_at_work(at_work))),
    ]
    return [part for part in parts if part.figures]


def question(parts: Sequence[Part]) -> Question:
    """All of these parts at once."""
    rows = ", ".join(f"({part.sql}) AS part{number}" for number, part in enumerate(parts))
    return Question(tuple(each for part in parts for each in part.figures), f"SELECT * FROM {rows}")


def _moment() -> Iterator[Figure]:
    """What no view has: transactions with a number, uptime, settings."""
    # Only what changes rows, or locks them, takes a number.
    xmax = "pg_snapshot_xmax(pg_current_snapshot())::text::float8"
    yield Figure("pg_current_snapshot.xmax", xmax)
    up = "extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8"
    yield Figure("pg_postmaster.up_s", up, grows=False)
    for name in _SWITCHES:
        yield Figure(f"setting.{name}", f"current_setting('{name}')::bool::int::float8", False)
    for name in _NUMBERS:
        yield Figure(f"setting.{name}", f"current_setting('{name}')::float8", False)
    waits = "(current_setting('synchronous_commit') <> 'off')::int::float8"
    yield Figure("setting.synchronous_commit", waits, grows=False)


def _of_view(view: str, columns: Collection[str]) -> Iterator[Figure]:
    for column in _shown(columns):
        summed = f"sum({column})"
        if column in _TIMED.get(view, ()):
            summed = _if_measured(_MEASURES_WAL, summed)
        yield Figure(f"{view}.{column}", f"{summed}::float8")
    yield from _flushed(columns)


def _flushed(columns: Collection[str]) -> Iterator[Figure]:
    """Pages that anybody wrote, in versions that count them in one view."""
    writers = ("buffers_checkpoint", "buffers_clean", "buffers_backend")
    if {*writers} <= {*columns}:
        summed = " + ".join(f"sum({name})" for name in writers)
        yield Figure("pg_stat_bgwriter.buffers_written", f"({summed})::float8")


def _of_databases(columns: Collection[str], target: str) -> Iterator[Figure]:
    """Those of all databases together, and those of the load's own."""
    for column in _shown(columns):
        for name, only in (
            (f"{DATABASES}.{column}", ""),
            (f"{DATABASES}.target.{column}", f" FILTER (WHERE datname = {target})"),
        ):
            summed = f"sum({column}){only}"
            if column in _TIMED[DATABASES]:
                summed = _if_measured(_MEASURES[DATABASES], summed)
            elif column.startswith(_COUNTED_ON_REQUEST):
                summed = _if_measured("track_counts", summed)
            yield Figure(name, f"{summed}::float8", column not in _NOT_GROWING)


def _of_io(columns: Collection[str]) -> Iterator[Figure]:
    """By what is read and written, of all processes, and of clients' sessions and their workers."""
    for column in _shown(columns):
        for kind in IO_OBJECTS:
            of_kind = f"object = '{kind}'"
            measured = _MEASURES_WAL if kind == "wal" else _MEASURES[IO]
            for whose, only in (
                ("", of_kind),
                ("client.", f"{of_kind} AND backend_type IN {_SESSIONS}"),
            ):
                summed = f"sum({column}) FILTER (WHERE {only})"
                if column.endswith("_time"):
                    summed = _if_measured(measured, summed)
                yield Figure(f"{IO}.{whose}{kind.replace(' ', '_')}.{column}", f"{summed}::float8")


def _places_of_logs(columns: Columns) -> Iterator[Part]:
    """How far the log is, and how far behind others are, each by itself: that may be refused."""
    here = Figure("pg_current_wal_lsn", f"pg_wal_lsn_diff({_LSN}, '0/0')::float8")
    yield Part(here.name, "", (here,))
    for view, name, place in (
        (REPLICAS, "behind_bytes", "replay_lsn"),
        (SLOTS, "kept_bytes", "restart_lsn"),
    ):
        behind = f"max(pg_wal_lsn_diff({_LSN}, {place}))::float8"
        figure = Figure(f"{view}.{name}", behind, grows=False)
        if view in columns:
            yield Part(figure.name, f" FROM {view}", (figure,))


def _of_replicas() -> Iterator[Figure]:
    yield Figure(f"{REPLICAS}.count", "count(*)::float8", grows=False)
    waited_for = "sync_state IN ('sync', 'quorum')"
    counted = f"count(*) FILTER (WHERE {waited_for})::float8"
    yield Figure(f"{REPLICAS}.synchronous", counted, grows=False)
    for lag in ("write_lag", "flush_lag", "replay_lag"):
        yield Figure(f"{REPLICAS}.{lag}_s", f"max(extract(epoch FROM {lag}))::float8", grows=False)


def _of_slots() -> Iterator[Figure]:
    # A logical slot keeps rows of catalogs (catalog_xmin), and none of users' tables.
    yield Figure(f"{SLOTS}.xmin_age", "max(age(xmin))::float8", grows=False)


def _of_prepared(target: str) -> Iterator[Figure]:
    """Transactions of the load's database that are prepared, and neither committed nor not."""
    only = f"FILTER (WHERE database = {target})"
    yield Figure(f"{PREPARED}.xmin_age", f"max(age(transaction)) {only}::float8", grows=False)
    open_s = f"max(extract(epoch FROM clock_timestamp() - prepared)) {only}::float8"
    yield Figure(f"{PREPARED}.oldest_s", open_s, grows=False)


def _at_work(views: Iterable[str]) -> Iterator[Figure]:
    for view in views:
        yield Figure(view, f"(SELECT count(*) FROM {view})::float8", grows=False)


def _shown(columns: Collection[str]) -> list[str]:
    return sorted({*columns} - _NO_FIGURES)


def _if_measured(setting: str, expression: str) -> str:
    """A figure that is null, and not zero, while the server does not measure it."""
    measures = f"coalesce(current_setting('{setting}', true)::bool, true)"
    return f"CASE WHEN {measures} THEN {expression} END"
