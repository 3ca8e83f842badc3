"""What is read of a real PostgreSQL, and where its sessions are, against known truths."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.families import connect
from loadstone.model.observed import Reading, SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.answers import Answers
from loadstone.observe.looking import LookingSource
from loadstone.observe.postgresql.counters import canonical
from loadstone.observe.postgresql.server import ServerSource
from loadstone.observe.postgresql.sessions import PostgresSessions
from loadstone.postgresql import family
from postgres.server import Server
from postgres.sessions import DEADLINE_S, alone, did, not_reading, settled, waiting
from postgres.test_commands import MYSQL_S_WORDS, only_run, url
from postgres.test_family import endpoint, local

pytestmark = [pytest.mark.server, pytest.mark.slow]

MAKE_TABLE = "CREATE TEMPORARY TABLE other (id INT)"


@pytest.fixture
def row(server: Server, database: str) -> str:
    """A database with a table of one row that everybody may change."""
    server.asked(
        "CREATE TABLE one (id INT PRIMARY KEY, n INT); INSERT INTO one VALUES (1, 0);"
        " GRANT ALL ON one TO PUBLIC",
        database,
    )
    return database


def read(source: ServerSource) -> Reading:
    return canonical(source.read())


def rested(source: ServerSource) -> Reading:
    """Once those who made the table have reported what they did."""
    until, before = time.monotonic() + DEADLINE_S, read(source)
    while (now := read(source)).counters["transactions_committed"] != (
        before.counters["transactions_committed"]
    ):
        assert time.monotonic() < until
        before = now
        time.sleep(0.1)
    return now


@pytest.fixture
def no_autovacuum(server: Server) -> Iterator[None]:
    """Its transactions count as everybody's."""
    server.asked("ALTER SYSTEM SET autovacuum = off")
    server.asked("SELECT pg_reload_conf()")
    yield
    server.asked("ALTER SYSTEM RESET autovacuum")
    server.asked("SELECT pg_reload_conf()")


@pytest.mark.usefixtures("no_autovacuum")
def test_counters_are_those_of_what_was_done(server: Server, row: str) -> None:
    source = ServerSource(SourceName(role="server"), local(server, row))
    before = rested(source).counters
    for number in range(5):
        server.asked(f"UPDATE one SET n = {number}; BEGIN; DELETE FROM one; ROLLBACK", row)
    until = time.monotonic() + DEADLINE_S
    # A session that ends reports what it has done before its process is gone.
    while (after := read(source).counters)["transactions_rolled_back"] < 5:
        assert time.monotonic() < until
        time.sleep(0.02)
    source.close()
    grown = {name: value - before[name] for name, value in after.items()}
    # Each login is a transaction as well. The questions are of another database.
    assert (grown["transactions_committed"], grown["transactions_rolled_back"]) == (10.0, 5.0)
    assert grown["transactions_writing"] >= 10.0
    assert grown["log_written_bytes"] > 0
    assert grown["pg_stat_database.target.tup_updated"] == 5.0


def test_sessions_are_counted_and_a_user_without_the_right_is_told(
    server: Server, row: str
) -> None:
    source = ServerSource(SourceName(role="server"), local(server, row))
    plain = ServerSource(SourceName(role="server"), endpoint(server, row))
    with connect(local(server, row)) as holder:
        did(holder, "BEGIN")
        did(holder, "UPDATE one SET n = n + 1")
        with waiting(local(server, row), "UPDATE one SET n = n + 2") as pid:
            settled(server, [pid])
            alone(holder)
            less, seen = read(plain), read(source)
        did(holder, "ROLLBACK")
    source.close()
    plain.close()
    assert seen.gauges["row_lock_current_waits"] == 1.0
    assert seen.gauges["state.Lock:transactionid"] == 1.0
    assert seen.gauges["pg_locks.waiting.transactionid"] == 1.0
    assert seen.gauges["pg_stat_activity.idle_in_transaction"] == 1.0
    # The one that holds, the one that waits, and those that ask.
    assert (less.gauges["threads_connected"], seen.gauges["threads_connected"]) == (3.0, 4.0)
    assert "not_evaluated.connection_states" not in seen.facts
    assert "GRANT pg_monitor" in less.facts["not_evaluated.connection_states"]
    assert "threads_running" not in less.gauges
    assert less.counters["log_written_bytes"] > 0


def test_a_transaction_that_wrote_and_rests_keeps_what_later_ones_leave(
    server: Server, row: str
) -> None:
    source = ServerSource(SourceName(role="server"), local(server, row))
    with connect(local(server, row)) as holder:
        did(holder, "BEGIN")
        did(holder, "UPDATE one SET n = n + 1")  # it has no snapshot between its statements
        for _ in range(7):
            server.asked("CREATE TEMPORARY TABLE other (id INT)", row)
        seen = read(source)
        did(holder, "ROLLBACK")
    source.close()
    assert seen.gauges["pg_stat_activity.oldest_xmin_age"] >= 7


@pytest.mark.parametrize(("statement", "keeps"), [("SELECT 1", False), (MAKE_TABLE, True)])
def test_a_snapshot_of_another_database_keeps_no_rows_of_this_one(
    server: Server, row: str, statement: str, keeps: bool
) -> None:
    """A transaction that writes there is at work for each snapshot here."""
    source = ServerSource(SourceName(role="server"), local(server, row))
    with connect(local(server, "postgres")) as other:
        did(other, "BEGIN ISOLATION LEVEL REPEATABLE READ")
        did(other, statement)
        for _ in range(7):
            server.asked(MAKE_TABLE, row)
        seen = read(source)
        did(other, "ROLLBACK")
    source.close()
    assert (seen.gauges["pg_stat_activity.oldest_xmin_age"] >= 7) is keeps


def test_a_function_that_is_refused_takes_only_its_own_figure_away(
    server: Server, row: str
) -> None:
    source = ServerSource(SourceName(role="server"), endpoint(server, row))
    server.asked("REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM PUBLIC")
    try:
        seen = read(source)
    finally:
        server.asked("GRANT EXECUTE ON FUNCTION pg_current_wal_lsn() TO PUBLIC")
        source.close()
    assert "log_written_bytes" not in seen.counters
    assert "permission denied" in seen.facts["not_evaluated.pg_current_wal_lsn"]
    assert seen.counters["transactions_committed"] > 0


def test_what_is_not_counted_is_missing_and_not_zero(server: Server, row: str) -> None:
    server.asked(f"ALTER ROLE {local(server, row).target.user} SET track_counts = off")
    source = ServerSource(SourceName(role="server"), local(server, row))
    try:
        seen = read(source)
    finally:
        server.asked(f"ALTER ROLE {local(server, row).target.user} RESET track_counts")
        source.close()
    assert "buffer_pool_reads" not in seen.counters
    assert "transactions_committed" in seen.counters


def test_sessions_are_where_they_wait(server: Server, row: str) -> None:
    at = local(server, row)
    postmaster = int((server.folder / "data/postmaster.pid").read_text().split()[0])
    with connect(at) as holder, contextlib.ExitStack() as stack:
        computes = stack.enter_context(waiting(at, "DO 'BEGIN LOOP END LOOP; END'"))
        did(holder, "BEGIN")
        did(holder, "UPDATE one SET n = n + 1")
        did(holder, "SELECT pg_advisory_lock(1)")
        statements = ("UPDATE one SET n = 2", "SELECT pg_advisory_lock(1)", "SELECT pg_sleep(300)")
        pids = [stack.enter_context(waiting(at, each)) for each in statements]
        pids.append(stack.enter_context(not_reading(at)))
        ours = [family.number_of(holder), *pids]
        settled(server, pids)
        for pid, view in ((postmaster, "threads"), (None, "sessions")):
            sessions = PostgresSessions(at, lambda: [*ours, computes])
            found = looks_at(LookingSource(SourceName(role="sessions"), sessions, _none(at), pid))
            assert found.facts["view"] == view, found.facts
            looks = found.counters["looks"]
            seats = {name: found.counters[f"at.{name}"] / looks for name in SEATS}
            works = "running" if pid else "in the server"
            assert seats == dict.fromkeys(SEATS, 1.0)
            # Now and then it waits for a page of its program.
            assert found.counters[f"at.{works}"] >= looks / 2
            assert found.counters["others"] == 0.0
            assert ("core_s" in found.counters) == (pid is not None)
        did(holder, "ROLLBACK")
        did(holder, "SELECT pg_advisory_unlock(1)")


KEPT = 48 * 2**20
KEEPS = f"DO 'DECLARE kept TEXT := repeat(''x'', {KEPT}); BEGIN PERFORM pg_sleep(300); END'"


def test_what_the_process_of_a_session_has_for_itself_is_seen(server: Server, row: str) -> None:
    at = local(server, row)
    postmaster = int((server.folder / "data/postmaster.pid").read_text().split()[0])
    with contextlib.ExitStack() as stack:
        few = stack.enter_context(waiting(at, "SELECT pg_sleep(300)"))
        much = stack.enter_context(waiting(at, KEEPS))
        settled(server, [few, much])
        sessions = PostgresSessions(at, lambda: [few, much])
        source = LookingSource(SourceName(role="sessions"), sessions, _none(at), postmaster)
        until = time.monotonic() + DEADLINE_S
        while "memory_looks" not in (found := source.read().counters):
            assert time.monotonic() < until
            time.sleep(0.1)
        source.close()
        private = sum(map(_private_bytes, (few, much)))
    assert found["memory_sessions"] == 2 * found["memory_looks"]
    both = found["memory_bytes"] / found["memory_looks"]
    # Pages that it has copied from the process that started it are left out.
    assert KEPT < both < 1.2 * private
    assert 0 < found["page_table_bytes"] < found["memory_bytes"]


def _private_bytes(pid: int) -> int:
    rolled = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * int(rolled.partition("Private_Dirty:")[2].split()[0])


SEATS = ("row lock", "table lock", "paused", "sending", "client")


def _none(at: Endpoint) -> Answers:
    return Answers(at.target)


def looks_at(source: LookingSource) -> Reading:
    until = time.monotonic() + DEADLINE_S
    while (found := source.read()).counters.get("looks", 0.0) < 3:
        assert time.monotonic() < until
        time.sleep(0.1)
    source.close()
    return found


def test_a_watch_shows_the_transactions_of_others(server: Server, row: str, tmp_path: Path) -> None:
    words = ("watch", "--target", url(server, row), "--duration", "2")
    exporter = ("--mysqld-exporter", "http://127.0.0.1:9/metrics")
    said = called(*words, *exporter, folder=tmp_path, code=2)
    assert "--mysqld-exporter does not read a PostgreSQL server" in said.stderr
    said = called(*words, folder=tmp_path)
    assert "rollbacks/s" in said.stdout + said.stderr
    assert not [word for word in MYSQL_S_WORDS if word in said.stdout + said.stderr]
    (step,) = json.loads((only_run(tmp_path) / "result.json").read_text())["steps"]
    assert step["server"]["means"]["threads_connected"] >= 1
    assert step["server"]["questions_per_s"] is None
    called("report", "last", folder=tmp_path)
    (page,) = only_run(tmp_path).glob("*.html")
    assert not [word for word in ("MySQL", "MariaDB", "binlog") if word in page.read_text()]


def test_a_load_ends_by_the_server_s_own_figures(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = ("--target", url(server, database))
    called("prepare", *target, "--table-size", "100", folder=tmp_path)
    load = ("run", "oltp_read_only", *target, "--duration", "20", "--warmup", "0")
    condition = "pg_stat_activity.idle_in_transaction>0"
    with connect(local(server, database)) as holder:
        did(holder, "BEGIN")
        said = called(*load, "--abort-if", condition, folder=tmp_path, code=12)
    assert condition in said.stdout + said.stderr
    said = called(*load, "--abort-if", "pg_stat_database.xact_comit>5/s", folder=tmp_path, code=2)
    assert "did you mean pg_stat_database.xact_commit" in said.stderr
    said = called(*load, "--abort-if", "others_latency>1s", folder=tmp_path, code=2)
    assert "of PostgreSQL, the times of other clients' statements are not read" in said.stderr


def test_who_may_not_see_what_others_do_is_told_what_is_not_watched(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = url(server, database)
    called("prepare", "--target", target, "--table-size", "100", folder=tmp_path)
    server.asked("GRANT ALL ON ALL TABLES IN SCHEMA public TO by_scram", database)
    less = target.replace("postgres@", "by_scram@")
    load = ("run", "oltp_read_only", "--target", less, "--duration", "1", "--warmup", "0")
    said = called(*load, "--abort-if", "threads_running>5", folder=tmp_path, code=2)
    assert "does not show this user what other users' sessions do" in said.stderr
    assert "GRANT pg_read_all_stats" in said.stderr
    said = called(*load, folder=tmp_path)
    assert "threads_running is not watched" in " ".join((said.stdout + said.stderr).split())
