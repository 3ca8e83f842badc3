"""What performance_schema summed up over a step: the difference between two readings.

Its tables are read only before and after the load, over a connection that is closed in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pymysql

from loadstone.families import connect
from loadstone.model.hot_spots import (
    FileSpot,
    HotSpots,
    StatementSpot,
    TableSpot,
    UnreadIndexes,
    WaitSpot,
)
from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint
from loadstone.mysql.named_tables import with_n_for_numbers
from loadstone.observe.hot_spots import Key, Snapshot, Sums
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_TIMEOUTS = Timeouts(connect_s=3, statement_s=10)
_TOP = 10
_SHOWN = 100
_TEXT = 400
_READ = 1000
"""Rows read of each kind, the longest times first: a server may have a hundred thousand tables."""

_PICOSECONDS = 1e12

SWITCH_ON = say("performance_schema is off: set performance_schema=ON and restart the server")


@dataclass(frozen=True)
class Kind:
    """One summary table: the columns that name a row, and those that are summed, the time first."""

    name: str
    table: str
    keys: tuple[str, ...]
    sums: tuple[str, ...]
    where: str = "COUNT_STAR > 0"
    consumer: str | None = None

    @property
    def statement(self) -> str:
        """The statement that reads the table."""
        return (
            f"SELECT {', '.join(self.keys + self.sums)} FROM performance_schema.{self.table}"
            f" WHERE {self.where} ORDER BY {self.sums[0]} DESC LIMIT {_READ}"
        )


_STATEMENTS = Kind(
    "statements",
    "events_statements_summary_by_digest",
    ("DIGEST", "SCHEMA_NAME", "DIGEST_TEXT"),
    (
        "SUM_TIMER_WAIT",
        "COUNT_STAR",
        "SUM_LOCK_TIME",
        "SUM_ROWS_EXAMINED",
        "SUM_ROWS_SENT",
        "SUM_ROWS_AFFECTED",
        "SUM_SORT_ROWS",
        "SUM_CREATED_TMP_TABLES",
        "SUM_CREATED_TMP_DISK_TABLES",
        "SUM_NO_INDEX_USED",
        "SUM_ERRORS",
    ),
    # Without our own statements: they have no schema, and read the server's own tables or none.
    where=(
        "COUNT_STAR > 0 AND (SCHEMA_NAME IS NOT NULL OR DIGEST IS NULL OR NOT ("
        "DIGEST_TEXT LIKE '%information_schema%' OR DIGEST_TEXT LIKE '%performance_schema%'"
        " OR DIGEST_TEXT LIKE 'SHOW %' OR DIGEST_TEXT LIKE 'SET %' OR DIGEST_TEXT LIKE 'DO %'"
        " OR DIGEST_TEXT LIKE 'SELECT %' AND DIGEST_TEXT NOT LIKE '% FROM %'))"
    ),
    consumer="statements_digest",
)
_OF_EVENTS = (
    ("EVENT_NAME",),
    ("SUM_TIMER_WAIT", "COUNT_STAR"),
    "COUNT_STAR > 0 AND EVENT_NAME <> 'idle'",
)
_WAITS = Kind("waits", "events_waits_summary_global_by_event_name", *_OF_EVENTS)
_FILES = Kind(
    "files",
    "file_summary_by_instance",
    ("FILE_NAME",),
    (
        "SUM_TIMER_WAIT",
        "COUNT_READ",
        "COUNT_WRITE",
        "COUNT_MISC",
        "SUM_NUMBER_OF_BYTES_READ",
        "SUM_NUMBER_OF_BYTES_WRITE",
    ),
)
_TABLES = Kind(
    "tables",
    "table_io_waits_summary_by_table",
    ("OBJECT_SCHEMA", "OBJECT_NAME"),
    ("SUM_TIMER_WAIT", "COUNT_FETCH", "COUNT_WRITE"),
    "COUNT_STAR > 0 AND OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema')",
)
_TABLE_LOCKS = Kind(
    "table locks",
    "table_lock_waits_summary_by_table",
    ("OBJECT_SCHEMA", "OBJECT_NAME"),
    ("SUM_TIMER_WAIT",),
    "COUNT_STAR > 0 AND OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema')",
)
_STAGES = Kind("stages", "events_stages_summary_global_by_event_name", *_OF_EVENTS)
KINDS = (_STATEMENTS, _WAITS, _STAGES, _FILES, _TABLES, _TABLE_LOCKS)
_FINE = "wait/synch/"
"""Waits that are not timed by default, as no stages are: there are dozens for each statement."""


_INDEXES = "indexes"
_INSERTED_INTO = (
    "SELECT OBJECT_NAME FROM performance_schema.table_io_waits_summary_by_index_usage"
    " WHERE OBJECT_SCHEMA = %s AND INDEX_NAME IS NULL AND COUNT_INSERT > 0"
    " ORDER BY COUNT_INSERT DESC LIMIT {most}"
)
"""InnoDB counts rows that are inserted without the name of an index."""

_USE_OF_INDEXES = (
    "SELECT INDEX_NAME, COUNT_INSERT, COUNT_FETCH"
    " FROM performance_schema.table_io_waits_summary_by_index_usage"
    " WHERE OBJECT_SCHEMA = %s AND OBJECT_NAME = %s"
)
_NEEDED_UNREAD = (
    "SELECT s.INDEX_NAME FROM information_schema.STATISTICS AS s"
    " LEFT JOIN information_schema.KEY_COLUMN_USAGE AS k ON k.TABLE_SCHEMA = s.TABLE_SCHEMA"
    " AND k.TABLE_NAME = s.TABLE_NAME AND k.COLUMN_NAME = s.COLUMN_NAME"
    " AND k.REFERENCED_TABLE_NAME IS NOT NULL"
    " WHERE s.TABLE_SCHEMA = %s AND s.TABLE_NAME = %s AND s.SEQ_IN_INDEX = 1"
    " AND (s.NON_UNIQUE = 0 OR s.INDEX_TYPE <> 'BTREE' OR k.COLUMN_NAME IS NOT NULL)"
)
"""Indexes that keep values unique, or that checks of foreign keys need; and those of texts and
places, whose reads are counted elsewhere."""


def snapshot(endpoint: Endpoint, *, only_own: bool = False) -> Snapshot:
    """Read all kinds; what cannot be read is reported in the snapshot, and never raised.

    performance_schema sums statements up by their schema, and not by their users: `only_own` leaves
    nothing out. Of indexes those of the load's schema are read.
    """
    try:
        with connect(endpoint, _TIMEOUTS, database=None) as connection:
            return _snapshot(connection, endpoint.target.database or "")
    except TargetError as error:
        return Snapshot(refused={kind.name: error.message for kind in KINDS})
    except Exception as error:  # no answer of the server may end the run
        return Snapshot(refused={kind.name: f"{error!r:.200}" for kind in KINDS})


def _snapshot(connection: Connection, schema: str) -> Snapshot:
    with connection.cursor() as cursor:
        cursor.execute(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('performance_schema', 'datadir')"
        )
        known = {str(row[0]).lower(): str(row[1]) for row in cursor.fetchall()}
    if known.get("performance_schema", "OFF").upper() not in ("ON", "1"):
        return Snapshot(refused={kind.name: SWITCH_ON for kind in KINDS})
    sums: dict[str, Sums] = {}
    refused: dict[str, str] = {}
    for kind in KINDS:
        try:
            sums[kind.name] = _read(connection, kind)
        except (pymysql.MySQLError, TypeError, ValueError, IndexError) as error:
            refused[kind.name] = say(
                "performance_schema.{table}: {why}", table=kind.table, why=str(error)
            )
    try:
        sums[_INDEXES] = _use_of_indexes(connection, schema)
    except (pymysql.MySQLError, TypeError, ValueError) as error:
        refused[_INDEXES] = say("the use of indexes: {why}", why=str(error))
    return Snapshot(sums, refused, known.get("datadir", ""))


def _use_of_indexes(connection: Connection, schema: str) -> Sums:
    """Rows inserted and fetched, by the indexes of the tables with the most rows inserted.

    Each is asked for by its name: of all tables at once some servers would open each.
    """
    found: Sums = {}
    with connection.cursor() as cursor:
        cursor.execute(_INSERTED_INTO.format(most=_SHOWN), (schema,))
        for (table,) in cursor.fetchall():
            cursor.execute(_NEEDED_UNREAD, (schema, table))
            needed = {row[0] for row in cursor.fetchall()}
            cursor.execute(_USE_OF_INDEXES, (schema, table))
            found |= {
                (schema, table, index): (float(inserted), float(fetched))
                for index, inserted, fetched in cursor.fetchall()
                if index not in needed
            }
    return found


def _read(connection: Connection, kind: Kind) -> Sums:
    with connection.cursor() as cursor:
        cursor.execute(kind.statement)
        width = len(kind.keys)
        return {
            tuple(row[:width]): tuple(float(value or 0) for value in row[width:])
            for row in cursor.fetchall()
        }


def difference(before: Snapshot, after: Snapshot) -> HotSpots:
    """The largest increases between two moments."""
    refused = {**before.refused, **after.refused}
    locks = _growth(before, after, _TABLE_LOCKS)
    grown = {kind.name: _growth(before, after, kind) for kind in KINDS}
    others = (_TABLE_LOCKS.name, _STAGES.name)
    missing = {name: why for name, why in refused.items() if name not in others}
    for kind in (_STATEMENTS, _WAITS):
        if not grown[kind.name] and kind.name not in missing:
            missing[kind.name] = _nothing_grew(kind)
    return HotSpots(
        statements=_top(_over_numbered_tables(grown["statements"]), _statement),
        waits=_top(grown["waits"], _wait),
        fine_events=_fine_events(grown),
        unread=_unread(before, after),
        files=_top(grown["files"], lambda key, sums: _file(key, sums, after.datadir)),
        tables=_top(grown["tables"], lambda key, sums: _table(key, sums, locks)),
        not_evaluated=missing,
    )


def _fine_events(grown: Mapping[str, Sums]) -> int | None:
    """How many waits for locks of the server's own and stages were timed; `None`: neither is."""
    waits = [sums[1] for key, sums in grown["waits"].items() if str(key[0]).startswith(_FINE)]
    counted = [*waits, *(sums[1] for sums in grown["stages"].values())]
    return round(sum(counted)) if counted else None


def _unread(before: Snapshot, after: Snapshot) -> tuple[UnreadIndexes, ...] | None:
    """Tables with indexes into which nobody looked, those with the most entries first.

    `None`: the use of indexes is not counted.
    """
    if _INDEXES not in before.sums or _INDEXES not in after.sums:
        return None
    earlier, now = before.sums[_INDEXES], after.sums[_INDEXES]
    is_cut = len({key[:2] for key in earlier}) >= _SHOWN
    found = []
    for schema, table, of_rows in now:
        known = earlier.get((schema, table, None))
        if of_rows is not None or (known is None and is_cut):
            continue
        inserted = now[schema, table, None][0] - (known[0] if known else 0.0)
        unread = [
            str(key[2])
            for key, sums in now.items()
            if key[:2] == (schema, table)
            and key[2] is not None
            and sums[1] == earlier.get(key, (0.0, 0.0))[1]
        ]
        if inserted > 0 and unread:
            found.append(
                UnreadIndexes(
                    table=f"{schema}.{table}", inserted=round(inserted), indexes=tuple(unread)
                )
            )
    return tuple(sorted(found, key=lambda one: one.inserted * len(one.indexes), reverse=True))


def _nothing_grew(kind: Kind) -> Message:
    if kind is _STATEMENTS:
        # Seen with 10.11: prepared statements appear in no digest.
        return say(
            "nothing was summed: switch on statements_digest in performance_schema."
            "setup_consumers; MariaDB sums up only statements sent as text (--text)"
        )
    return say(
        "nothing was summed: switch on instruments 'wait/%' and consumers 'events_waits_current' "
        "in performance_schema.setup_instruments and setup_consumers"
    )


def _growth(before: Snapshot, after: Snapshot, kind: Kind) -> Sums:
    """Increases per row; a row that was reset in between (smaller than before) counts from zero."""
    if kind.name not in before.sums or kind.name not in after.sums:
        return {}
    earlier = before.sums[kind.name]
    grown: Sums = {}
    for key, sums in after.sums[kind.name].items():
        if key not in earlier and len(earlier) >= _READ:
            continue  # it may have existed before, below the rows that were read
        first = earlier.get(key, (0.0,) * len(sums))
        if any(now < then for now, then in zip(sums, first, strict=True)):
            first = (0.0,) * len(sums)
        delta = tuple(now - then for now, then in zip(sums, first, strict=True))
        if any(delta):
            grown[key] = delta
    return grown


def _over_numbered_tables(digests: Sums) -> Sums:
    """Digests that differ only in the number of their tables, added up as statements on `sbtestN`.

    A server has a digest for each of sbtest1 to sbtest250, so none of them shows what their
    statement costs. One without others like it keeps its table's name.
    """
    alike: dict[Key, list[Key]] = {}
    for key in digests:
        digest, schema, text = key
        named = (digest, schema, text) if text is None else ("", schema, _template(str(text)))
        alike.setdefault(named, []).append(key)
    return {
        named if len(keys) > 1 else keys[0]: tuple(
            map(sum, zip(*(digests[key] for key in keys), strict=True))
        )
        for named, keys in alike.items()
    }


def _template(digest_text: str) -> str:
    return with_n_for_numbers(" ".join(digest_text.split()))


def _top(
    sums: Mapping[Key, tuple[float, ...]], make: Callable[[Key, tuple[float, ...]], Any]
) -> Any:
    """The first few rows by time."""
    ordered: Iterable[tuple[Key, tuple[float, ...]]] = sorted(
        sums.items(), key=lambda item: (-item[1][0], str(item[0]))
    )
    return tuple(make(key, values) for key, values in list(ordered)[:_TOP])


def _statement(key: Key, sums: tuple[float, ...]) -> StatementSpot:
    _, schema, text = key
    time, count, lock, *rest = sums
    names = (
        "rows_examined",
        "rows_sent",
        "rows_affected",
        "sort_rows",
        "tmp_tables",
        "tmp_disk_tables",
        "no_index_used",
        "errors",
    )
    return StatementSpot.model_validate(
        {
            "statement": " ".join(str(text or "other statements").split())[:_TEXT],
            "schema_name": None if schema is None else str(schema),
            "count": int(count),
            "time_s": time / _PICOSECONDS,
            "lock_s": lock / _PICOSECONDS,
            **{name: int(value) for name, value in zip(names, rest, strict=True)},
        }
    )


def _wait(key: Key, sums: tuple[float, ...]) -> WaitSpot:
    time, count = sums
    return WaitSpot(event=str(key[0]), count=int(count), time_s=time / _PICOSECONDS)


def _file(key: Key, sums: tuple[float, ...], datadir: str) -> FileSpot:
    """A file; its path is relative to the data directory if it is there."""
    time, reads, writes, misc, read, written = sums
    name, folder = str(key[0]), datadir.rstrip("/") + "/"
    inside = name.removeprefix(folder) if datadir else name.removeprefix("./")
    return FileSpot(
        file=inside,
        reads=int(reads),
        writes=int(writes),
        syncs=int(misc),
        read_bytes=int(read),
        written_bytes=int(written),
        time_s=time / _PICOSECONDS,
    )


def _table(key: Key, sums: tuple[float, ...], locks: Sums) -> TableSpot:
    time, fetched, written = sums
    lock = locks.get(key, (0.0,))[0]
    return TableSpot(
        table=f"{key[0]}.{key[1]}",
        fetched=int(fetched),
        written=int(written),
        io_s=time / _PICOSECONDS,
        lock_s=lock / _PICOSECONDS,
    )
