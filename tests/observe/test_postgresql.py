"""What is made of PostgreSQL's views, for the columns that each version has."""

from __future__ import annotations

import pytest

from loadstone.model.observed import Reading
from loadstone.observe.postgresql.activity import activity, hides, locks
from loadstone.observe.postgresql.counters import canonical
from loadstone.observe.postgresql.statistics import Columns, parts_for, question
from loadstone.observe.postgresql.wait_events import said_by
from loadstone.observe.sessions import Says

OLD_WRITER = ["checkpoints_timed", "buffers_checkpoint", "buffers_clean", "buffers_backend"]
WAL = ["wal_bytes", "wal_write", "wal_sync", "wal_sync_time"]
IO = ["reads", "writes", "write_time", "fsyncs"]

VERSIONS: dict[int, Columns] = {
    13: {"pg_stat_database": ["datid", "numbackends", "blks_read", "blk_read_time"],
         "pg_stat_bgwriter": OLD_WRITER},
    14: {"pg_stat_bgwriter": OLD_WRITER, "pg_stat_wal": WAL},
    16: {"pg_stat_bgwriter": OLD_WRITER, "pg_stat_wal": WAL, "pg_stat_io": [*IO, "op_bytes"]},
    17: {"pg_stat_bgwriter": ["buffers_clean"], "pg_stat_checkpointer": ["num_timed"],
         "pg_stat_wal": WAL, "pg_stat_io": [*IO, "op_bytes"]},
    18: {"pg_stat_checkpointer": ["num_timed"], "pg_stat_wal": ["wal_bytes"],
         "pg_stat_io": [*IO, "write_bytes"]},
}  # fmt: skip
"""Some columns of these versions, those that have moved among them."""


def read(version: int) -> Reading:
    """A reading in which each figure is its place in the answer."""
    asked = question(parts_for(VERSIONS[version], "'shop'"))
    row = [float(place) for place in range(len(asked.figures))]
    assert asked.sql.count(" AS part") == len(VERSIONS[version]) + 2
    return canonical(Reading(0.0, asked.counters(row), asked.gauges(row)))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_figure_has_our_name_wherever_the_version_keeps_it(version: int) -> None:
    counters = read(version).counters
    syncs = {13: None, 18: "pg_stat_io.wal.fsyncs"}.get(version, "pg_stat_wal.wal_sync")
    assert counters.get("log_syncs") == (counters[syncs] if syncs else None)
    written = "pg_stat_io.relation.writes" if version >= 16 else "pg_stat_bgwriter.buffers_written"
    assert counters["pages_flushed"] == counters[written]
    assert counters["transactions_writing"] == counters["pg_current_snapshot.xmax"]
    assert not [name for name in counters if "op_bytes" in name or "datid" in name]


def test_values_of_the_moment_are_no_counters() -> None:
    reading = read(13)
    assert "pg_stat_database.target.numbackends" in reading.gauges
    assert "pg_stat_database.numbackends" not in reading.counters
    assert {"uptime_s", "setting.fsync"} <= reading.gauges.keys()


def test_a_time_that_is_not_measured_is_missing_and_not_zero() -> None:
    asked = question(parts_for(VERSIONS[13], "'shop'"))
    timed = [one for one in asked.figures if one.name.endswith("blk_read_time")]
    assert all("track_io_timing" in one.sql for one in timed)
    row = [None if one in timed else 1.0 for one in asked.figures]
    assert not [name for name in asked.counters(row) if name.endswith("blk_read_time")]


CLIENT = (True, "client backend")
SESSIONS = [
    # Of a client, kind, state, wait, asks, number, in a transaction, ages.
    (*CLIENT, "active", "", "", True, 1, 1, 0.0, 0.0, 5, 0.0),
    (*CLIENT, "active", "Lock", "transactionid", False, 3, 3, 7.5, 2.5, 9, 5.5),
    (*CLIENT, "active", "IO", "WALSync", False, 1, 1, 0.5, 0.25, None, None),
    (*CLIENT, "idle in transaction", "Client", "ClientRead", False, 2, 2, 60.0, 50.0, None, None),
    (*CLIENT, "idle", "Client", "ClientRead", False, 4, 0, None, 900.0, None, None),
    (False, "autovacuum worker", "active", "Timeout", "VacuumDelay", False,
     1, 1, 99.0, 99.0, 40, 99.0),
    (False, "walsender", "active", "Activity", "WalSenderMain", False, 1, 0, None, 5.0, 70, None),
    (False, "checkpointer", "", "Activity", "CheckpointerMain", False,
     1, 0, None, None, None, None),
]  # fmt: skip


def test_sessions_are_counted_by_what_they_do() -> None:
    found = activity(SESSIONS)
    assert not hides(SESSIONS)
    gauges = {
        "clients": 11, "active": 5, "waiting": 4, "waiting_for_rows": 3, "idle_in_transaction": 2,
        "in_transaction": 6, "oldest_transaction_s": 60.0, "longest_statement_s": 0.25,
        "oldest_holding_transaction_s": 60.0,
        "autovacuum_workers": 1, "oldest_xmin_age": 9, "oldest_xmin_s": 5.5,
        "standby_xmin_age": 70, "walsenders": 1,
    }  # fmt: skip
    assert {name: found[f"pg_stat_activity.{name}"] for name in gauges} == gauges
    states = {name: value for name, value in found.items() if name.startswith("state.")}
    assert states == {
        "state.Lock:transactionid": 3.0,
        "state.IO:WALSync": 1.0,
        "state.idle in transaction": 2.0,
    }


def test_a_name_of_a_wait_can_neither_control_a_terminal_nor_fill_it() -> None:
    wait = "\x1b[2J" + "x" * 1000
    found = activity([(*CLIENT, "active", "Extension", wait, False, 1, 1, 0.0, 0.0, None, None)])
    (state,) = [name for name in found if name.startswith("state.")]
    assert state.startswith("state.Extension:\ufffd[2Jxxx")
    assert len(state) < 70


def test_of_sessions_that_are_hidden_only_the_number_is_known() -> None:
    hidden = [*SESSIONS, (True, "", "", "", "", False, 2, 0, None, None, None, None)]
    assert hides(hidden)
    assert activity(hidden) == {"pg_stat_activity.clients": 13.0}


def test_locks_that_are_waited_for_are_not_held() -> None:
    found = locks([("relation", 10, 1, 8, 7), ("tuple", 2, 2, 0, 2), ("object", 1, 1, 0, 1)])
    assert found["pg_locks.held"] == 9.0
    assert found["pg_locks.fastpath"] == 8.0
    assert found["pg_locks.waiting"] == 4.0
    waits = {kind: found[f"pg_locks.waiting.{kind}"] for kind in ("relation", "tuple", "other")}
    assert waits == {"relation": 1.0, "tuple": 2.0, "other": 1.0}
    assert found["pg_locks.most_of_a_session"] == 7.0
    shared = {kind: found[f"pg_locks.shared.{kind}"] for kind in ("relation", "rows")}
    assert shared == {"relation": 2.0, "rows": 2.0}


@pytest.mark.parametrize(
    ("state", "kind", "wait", "says"),
    [
        ("active", "", "", "works"),
        ("idle", "", "", "waits for the client"),
        ("idle in transaction", "Client", "ClientRead", "waits for the client"),
        ("active", "Client", "ClientWrite", "sends"),
        ("active", "Lock", "transactionid", "row lock"),
        ("active", "Lock", "tuple", "row lock"),
        ("active", "Lock", "relation", "table lock"),
        ("active", "Lock", "advisory", "table lock"),
        ("active", "Lock", "extend", "latch"),
        ("active", "LWLock", "WALWrite", "commit"),
        ("active", "LWLock", "WALInsert", "latch"),
        ("active", "LWLock", "BufferIO", "disk read"),  # as 13 has it
        ("active", "IO", "AioIoCompletion", "disk read"),
        ("active", "IO", "AioIoUringExecution", "disk read"),
        ("active", "BufferPin", "BufferPin", "latch"),
        ("active", "IO", "WALSync", "log sync"),
        ("active", "IO", "WalWrite", "log sync"),  # as 17 spells it
        ("active", "IO", "DataFileRead", "disk read"),
        ("active", "IO", "DataFilePrefetch", "disk read"),
        ("active", "IO", "DataFileExtend", "disk write"),
        ("active", "IPC", "BufferIO", "disk read"),
        ("active", "IPC", "SyncRep", "replica"),
        ("active", "IPC", "ExecuteGather", "other"),
        ("active", "Timeout", "PgSleep", "paused"),
        ("active", "Timeout", "SpinDelay", "latch"),
        ("active", "Extension", "Extension", "other"),
    ],
)
def test_a_wait_event_names_a_place(state: str, kind: str, wait: str, says: Says) -> None:
    assert said_by(state, kind, wait) == says
