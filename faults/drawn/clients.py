"""Any client next to the load, of a drawn intensity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from faults import others
from faults.case import Draw, Fault, Inject
from faults.drawn.base import draw_base
from faults.drawn.drawn import Drawn, Truth
from faults.ground import ROWS, TABLES
from faults.others import THEIRS
from faults.scripted import RECONNECTS
from loadstone.model.account import Place

_SESSIONS = 1, 16
_PAUSE_S = 0.001, 1.0
_WIDE_BYTES = 10_000, 4_000_000
_MANY_ROWS = 10, 5000

_CORES: tuple[Place, ...] = ("waiting for a core", "in the server", "latch")
_DISK: tuple[Place, ...] = ("log sync", "binlog sync", "commit", "disk write", "disk read")

_AS_THEY_ARE = f"ALTER TABLE {THEIRS} ALTER body SET STORAGE EXTERNAL"

_READS = Truth.of("other-clients", _CORES)
_LOG = "redo-log-small max-wal-size-small full-page-images wal-buffers-small wal-insertion"
"""What others' changes fill, or hold, as well."""

_WRITES = Truth.of("other-clients disk-neighbour", (*_CORES, *_DISK), also=_LOG)


@dataclass(frozen=True)
class Crowd:
    """So many sessions, each with so long a pause between two statements."""

    sessions: int
    pause_s: float

    def send(self, *statements: str) -> Inject:
        """All of them send these."""
        return others.repeated(statements, self.pause_s, self.sessions)


Made = tuple[str, str, Inject, Truth]
"""The kind, what else of it was drawn, the injection, and what is known of it."""


def draw_client(draw: Draw, number: int, release: str) -> Drawn:
    """One of the kinds, with its intensity."""
    make = draw.chance.choice(MAKERS_OF_POSTGRESQL if _is_postgresql(draw) else MAKERS)
    crowd = Crowd(draw.between(*_SESSIONS), draw.size(*_PAUSE_S))
    kind, what, inject, truth = make(draw, crowd)
    base = draw_base(draw, snapshots=make is not _copies)
    pauses = "" if make in PAUSELESS else f", pauses of {1000 * crowd.pause_s:g} ms"
    size = f"{crowd.sessions} sessions{pauses}{what}; {base.words}"
    fault = Fault((), size, base.load, inject, base.settings)
    return Drawn(number, "client", kind, release, fault, truth, start={})


def _points(draw: Draw, crowd: Crowd) -> Made:
    """Searches by primary key."""
    return "point selects", "", others.clients("oltp_point_select", crowd.sessions, 1), _READS


def _reconnects(draw: Draw, crowd: Crowd) -> Made:
    """Each statement has a connection of its own."""
    truth = Truth.of("connection-storm other-clients", (*_CORES, "connecting"))
    return "reconnects", "", others.clients(RECONNECTS, crowd.sessions, 1), truth


def _scans(draw: Draw, crowd: Crowd) -> Made:
    """Searches without an index."""
    scan = f"SELECT COUNT(*) FROM {_table(draw)} WHERE pad = 'no such pad'"
    truth = Truth.of("other-clients missing-index", (*_CORES, "disk read"))
    return "scans", "", crowd.send(scan), truth


def _sorts(draw: Draw, crowd: Crowd) -> Made:
    """Sorts of a whole table."""
    rows = f"SELECT c, pad FROM {_table(draw)} ORDER BY pad, c LIMIT {ROWS - 1}"
    truth = Truth.of(
        "other-clients",
        (*_CORES, "disk read", "disk write"),
        also="sort-buffer-small temporary-tables-on-disk missing-index temporary-files",
    )
    return "sorts", "", crowd.send(f"SELECT COUNT(*) FROM ({rows}) AS sorted"), truth


def _wide_rows(draw: Draw, crowd: Crowd) -> Made:
    """Changes of large values."""
    size = draw.between(*_WIDE_BYTES)
    write = f"REPLACE INTO {THEIRS} VALUES (CONNECTION_ID() % 64, REPEAT('x', {size}))"
    columns, more = "id INT PRIMARY KEY, body LONGTEXT", tuple[str, ...]()
    if _is_postgresql(draw):
        row = f"(pg_backend_pid() % 64, repeat('x', {size}))"
        again = "ON CONFLICT (id) DO UPDATE SET body = excluded.body"
        write = f"INSERT INTO {THEIRS} VALUES {row} {again}"
        # Else it would compress them to nothing.
        columns, more = "id INT PRIMARY KEY, body TEXT", (_AS_THEY_ARE,)
    inject = others.with_table(columns, crowd.send(write), more)
    return "wide rows", f", {size:,} bytes each", inject, _WRITES


def _bulk_inserts(draw: Draw, crowd: Crowd) -> Made:
    """Many rows in a statement."""
    rows = draw.between(*_MANY_ROWS)
    values = ", ".join(["(REPEAT('x', 100))"] * rows)
    write = f"INSERT INTO {THEIRS} (body) VALUES {values}"
    number = "BIGSERIAL" if _is_postgresql(draw) else "BIGINT AUTO_INCREMENT"
    columns = f"id {number} PRIMARY KEY, body TEXT"
    inject = others.with_table(columns, crowd.send(write))
    return "bulk inserts", f", {rows} rows each", inject, _WRITES


def _copies(draw: Draw, crowd: Crowd) -> Made:
    """DDL that copies a table, which nobody may change in the meantime."""
    copy = f"ALTER TABLE {_table(draw)} FORCE, ALGORITHM=COPY, LOCK=SHARED"
    truth = Truth.of(
        "table-locks other-clients disk-neighbour",
        ("table lock", *_CORES, *_DISK),
        also="redo-log-small",
    )
    return "ALTER TABLE that copies", "", crowd.send(copy), truth


def _rewrites(draw: Draw, crowd: Crowd) -> Made:
    """A new copy of a table, which nobody may even read in the meantime."""
    truth = Truth.of(
        "table-locks other-clients disk-neighbour", ("table lock", *_CORES, *_DISK), also=_LOG
    )
    return "VACUUM FULL", "", crowd.send(f"VACUUM FULL {_table(draw)}"), truth


def _indexes(draw: Draw, crowd: Crowd) -> Made:
    """An index that is made, while nobody may change its table, and given up again."""
    create = f"CREATE INDEX ON {_table(draw)} (pad, c)"
    truth = Truth.of(
        "table-locks other-clients disk-neighbour", ("table lock", *_CORES, *_DISK), also=_LOG
    )
    return "CREATE INDEX", "", crowd.send("BEGIN", create, "ROLLBACK"), truth


def _is_postgresql(draw: Draw) -> bool:
    return draw.server == "postgresql"


def _table(draw: Draw) -> str:
    return f"sbtest{draw.between(1, TABLES)}"


PAUSELESS: tuple[Callable[[Draw, Crowd], Made], ...] = (_points, _reconnects)
"""Another generator drives them, in a closed loop."""

_ANYWHERE: tuple[Callable[[Draw, Crowd], Made], ...] = (
    *PAUSELESS,
    _scans,
    _sorts,
    _wide_rows,
    _bulk_inserts,
)

MAKERS = (*_ANYWHERE, _copies)
MAKERS_OF_POSTGRESQL = (*_ANYWHERE, _rewrites, _indexes)
