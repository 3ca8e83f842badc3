"""Any lock of PostgreSQL, and what keeps others' old rows or logs, held again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from faults import injections, others
from faults.case import Draw, Effect, Inject, Proof
from faults.drawn.beat import ROWS_TRUTH, TABLE_TRUTH, Beat, Made, definition
from faults.drawn.drawn import Truth
from faults.ground import ROWS, TABLES
from faults.injections import Holding, beside_the_load, was_executed
from faults.scene import Scene

SETTINGS = {"max_prepared_transactions": "8"}
"""Of both sides: none may be prepared by default."""

_ROW_MODES = ("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE")
_TABLE_MODES = (
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
)
"""Some of both keep nobody waiting: then it is a healthy run."""

_WAITS = "count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
_NAME = "held_by_the_bench"
_OLD = Truth.of(
    "long-transaction",
    ("on core", "waiting for a core", "in the server", "disk read", "disk write", "log sync"),
)


def _row(draw: Draw, beat: Beat) -> Made:
    """One row of each table."""
    row, mode = draw.between(1, ROWS), draw.of_these(*_ROW_MODES)
    inject = _rows_held(f"WHERE id = {row} FOR {mode}", beat)
    return f"row FOR {mode}", f"row {row}", inject, ROWS_TRUTH


def _range(draw: Draw, beat: Beat) -> Made:
    """The first rows of each table."""
    last, mode = draw.between(2, ROWS), draw.of_these(*_ROW_MODES)
    inject = _rows_held(f"WHERE id <= {last} FOR {mode}", beat)
    return f"range FOR {mode}", f"{last} rows", inject, ROWS_TRUTH


def _rows_held(which: str, beat: Beat) -> Inject:
    return others.rows_held(beat.hold_s, beat.pause_s, _locks(which), _WAITS)


def _locks(which: str) -> list[str]:
    """Those rows of each table, without sending them to the session that takes the lock."""
    tables = (f"sbtest{number}" for number in range(1, TABLES + 1))
    return [f"SELECT count(*) FROM (SELECT id FROM {table} {which}) AS x" for table in tables]


def _tables(draw: Draw, beat: Beat) -> Made:
    count, mode = draw.between(1, TABLES), draw.of_these(*_TABLE_MODES)
    tables = ", ".join(f"sbtest{number}" for number in range(1, count + 1))
    inject = _held(f"LOCK TABLE {tables} IN {mode} MODE", beat)
    return f"LOCK TABLE IN {mode} MODE", f"{count} tables", inject, TABLE_TRUTH


def _advisory(draw: Draw, beat: Beat) -> Made:
    """Which nobody of the load asks for."""
    number = draw.between(1, ROWS)
    inject = _held(f"SELECT pg_advisory_xact_lock({number})", beat)
    return "advisory lock", f"number {number}", inject, TABLE_TRUTH


def _held(take: str, beat: Beat) -> Inject:
    holding = Holding(("BEGIN", take), ("COMMIT",), beat.hold_s, beat.pause_s, "lock:")
    return injections.held(holding)


def _definition(draw: Draw, beat: Beat) -> Made:
    return definition(draw, beat, "ALTER pad SET DEFAULT 'altered {number}'")


def _prepared(draw: Draw, beat: Beat) -> Made:
    """Rows locked by a transaction whose session is gone: the first ones of each table."""
    last = draw.between(1, ROWS)

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        waiting: list[float] = []

        def hold() -> None:
            while not scene.watch.over.wait(beat.pause_s):
                if _prepare(scene, _locks(f"WHERE id <= {last} FOR UPDATE")):
                    scene.watch.over.wait(beat.hold_s)
                    waiting.append(scene.status(_WAITS))
                    scene.execute((f"ROLLBACK PREPARED '{_NAME}'",))

        def proof() -> Effect:
            finished()
            mean = sum(waiting) / max(len(waiting), 1)
            words = f"prepared {len(waiting)} times, {mean:.1f} sessions waiting"
            return Effect(words, bites=bool(waiting))

        with beside_the_load(scene, hold) as finished:
            yield proof

    return "prepared transaction", f"{last} rows", inject, ROWS_TRUTH


def _prepare(scene: Scene, locks: Sequence[str]) -> bool:
    """Whether the load was not in the way."""
    with scene.session() as cursor:
        return was_executed(scene, cursor, ["BEGIN", *locks, f"PREPARE TRANSACTION '{_NAME}'"])


def _open_transaction(draw: Draw, beat: Beat) -> Made:
    """A snapshot of before the load, whose session does nothing with it."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        with scene.session() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT count(*) FROM sbtest1")

            def proof() -> Effect:
                behind = scene.status(
                    "coalesce(max(age(backend_xmin)), 0) FROM pg_stat_activity"
                    " WHERE state = 'idle in transaction'"
                )
                words = f"{behind:,.0f} transactions since the snapshot"
                return Effect(words, bites=behind > 0)

            yield proof
            cursor.execute("COMMIT")

    return "idle in transaction", "a snapshot, all the time", inject, _OLD


def _slot(draw: Draw, beat: Beat) -> Made:
    """A replication slot that nobody reads: no log is removed or used again."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        scene.execute((f"SELECT pg_create_physical_replication_slot('{_NAME}', true)",))
        try:
            yield lambda: _kept_log(scene)
        finally:
            scene.execute((f"SELECT pg_drop_replication_slot('{_NAME}')",))

    truth = Truth.of("long-transaction max-wal-size-small", ("log sync", "commit", "disk write"))
    return "replication slot", "nobody reads it, all the time", inject, truth


def _kept_log(scene: Scene) -> Effect:
    kept = scene.status("sum(pg_current_wal_lsn() - restart_lsn) FROM pg_replication_slots")
    return Effect(f"{kept / 1e6:,.1f} MB of log kept", bites=kept > 0)


MAKERS_OF_POSTGRESQL: tuple[Callable[[Draw, Beat], Made], ...] = (
    _row,
    _range,
    _tables,
    _advisory,
    _definition,
    _prepared,
    _open_transaction,
    _slot,
)
