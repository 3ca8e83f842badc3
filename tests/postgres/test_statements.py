"""What pg_stat_statements counts of a step, on a real server that has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.model.hot_spots import CountedStatement, HotSpots
from loadstone.observe.postgresql.statements import KIND
from loadstone.observe.postgresql.versions import difference, snapshot
from loadstone.postgresql.connect import connect
from postgres.diagnosed import diagnosed
from postgres.server import Server, find_programs, started
from postgres.test_commands import only_run, url
from postgres.test_family import endpoint, local

pytestmark = [pytest.mark.server, pytest.mark.slow]

COUNTING = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "all",
    "pg_stat_statements.track_planning": "on",
    "max_parallel_workers_per_gather": "0",
}

PARTITIONED = """
dialect = ["postgresql"]
[table.reading]
rows = 100
[table.reading.columns]
id = { type = "INT NOT NULL", sequence = true }
n = { type = "INT NOT NULL", constant = 1 }
[transaction.ask]
autocommit = true
statements = [ "SELECT count(*) FROM part WHERE n = :one" ]
parameters.one = { integer = [1, 100] }
"""
"""Each statement is planned for all partitions of a table that is made by hand."""


@pytest.fixture(scope="module")
def counting() -> Iterator[Server]:
    """A server that loads the extension."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL: tools/get-postgres fetches one")
    if not (programs.parent / "lib/pg_stat_statements.so").exists():
        pytest.skip("this PostgreSQL comes without its extensions")
    with started(programs, COUNTING) as server:
        yield server


@pytest.fixture
def shop(counting: Server) -> Iterator[str]:
    """A database with the extension in a schema of its own, and two numbered tables."""
    counting.asked("CREATE DATABASE shop")
    counting.asked(
        "CREATE SCHEMA more; GRANT USAGE ON SCHEMA more TO PUBLIC;"
        " CREATE EXTENSION pg_stat_statements SCHEMA more;"
        " CREATE TABLE shop1 (id INT PRIMARY KEY, said TEXT);"
        " CREATE TABLE shop2 (id INT PRIMARY KEY, said TEXT);"
        " GRANT ALL ON SCHEMA public TO PUBLIC; GRANT ALL ON shop1, shop2 TO PUBLIC",
        "shop",
    )
    yield "shop"
    counting.asked("DROP DATABASE shop WITH (FORCE)")


def by_text(found: HotSpots) -> dict[str, CountedStatement]:
    return {one.statement: one for one in found.counted}


def test_a_step_has_the_growth_of_each_statement_without_its_values(
    counting: Server, shop: str
) -> None:
    counting.asked("INSERT INTO shop1 VALUES (-1, 'before')", shop)
    before = snapshot(local(counting, shop))
    counting.asked(
        "INSERT INTO shop1 VALUES (1, 'secret'); INSERT INTO shop1 VALUES (2, 'secret');"
        " INSERT INTO shop2 VALUES (3, 'secret');"
        " CREATE FUNCTION inside() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM shop2';"
        " SET work_mem = '64kB';"
        " SELECT count(*) FROM (SELECT i FROM generate_series(1, 50000) AS i ORDER BY i DESC) AS s;"
        " SELECT inside()",
        shop,
    )
    found = difference(before, snapshot(local(counting, shop)))
    assert KIND not in found.not_evaluated
    statements = by_text(found)
    added = statements["INSERT INTO shopN VALUES (?, ?)"]
    assert (added.calls, added.rows) == (3, 3)
    assert added.plans == 3 and added.plan_s and added.exec_s > 0
    assert added.wal_bytes > 0 and added.pages_hit > 0
    (sorted_out,) = [one for one in found.counted if one.temp_pages]
    assert sorted_out.statement.startswith("SELECT count(*) FROM (SELECT i FROM generate_series")
    assert not [text for text in statements if "secret" in text or "pg_stat" in text]
    assert "SELECT count(*) FROM shopN" not in statements, "its caller has its time already"


def test_nothing_is_reset_and_a_reset_of_others_counts_from_zero(
    counting: Server, shop: str
) -> None:
    counting.asked("SELECT * FROM shop1;" * 5, shop)
    before = snapshot(local(counting, shop))
    counting.asked("SELECT more.pg_stat_statements_reset(); SELECT * FROM shop1", shop)
    found = by_text(difference(before, snapshot(local(counting, shop))))
    assert found["SELECT * FROM shopN"].calls == 1


def test_without_the_right_only_own_statements_are_counted(counting: Server, shop: str) -> None:
    before = snapshot(endpoint(counting, shop))
    counting.asked("SELECT said FROM shop1", shop)
    found = difference(before, snapshot(endpoint(counting, shop)))
    assert not found.counted
    assert "GRANT pg_read_all_stats" in found.not_evaluated[KIND]
    assert "versions" not in found.not_evaluated


def test_of_a_load_with_its_own_user_others_statements_are_not_kept(
    counting: Server, shop: str
) -> None:
    before = snapshot(local(counting, shop), only_own=True)
    counting.asked("SELECT said FROM shop1", shop)
    with connect(endpoint(counting, shop)) as other, other.cursor() as cursor:
        cursor.execute("SELECT id FROM shop2")
    found = by_text(difference(before, snapshot(local(counting, shop), only_own=True)))
    assert "SELECT said FROM shopN" in found
    assert "SELECT id FROM shopN" not in found
    assert "SELECT id FROM shopN" in by_text(difference(before, snapshot(local(counting, shop))))


def test_an_extension_older_than_its_server_is_told_to_be_updated(
    counting: Server, shop: str
) -> None:
    counting.asked("DROP EXTENSION pg_stat_statements", shop)
    counting.asked("CREATE EXTENSION pg_stat_statements SCHEMA more VERSION '1.7'", shop)
    found = difference(snapshot(local(counting, shop)), snapshot(local(counting, shop)))
    assert "ALTER EXTENSION pg_stat_statements UPDATE" in found.not_evaluated[KIND]
    assert not found.counted


def test_a_database_without_the_extension_is_told_how_to_get_it(
    server: Server, database: str
) -> None:
    found = difference(snapshot(local(server, database)), snapshot(local(server, database)))
    assert "CREATE EXTENSION pg_stat_statements" in found.not_evaluated[KIND]
    assert not found.counted


@pytest.mark.nightly
def test_planning_of_many_partitions_is_named_with_its_statement(
    counting: Server, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    parts = ";".join(
        f"CREATE TABLE part_{n} PARTITION OF part FOR VALUES FROM ({n}) TO ({n + 1})"
        for n in range(100)
    )
    counting.asked(f"CREATE TABLE part (id INT, n INT) PARTITION BY RANGE (id); {parts}", shop)
    counting.asked("".join(f"CREATE INDEX ON part (n, (id + {n}));" for n in range(4)), shop)
    counting.asked("GRANT SELECT ON part TO PUBLIC", shop)
    (tmp_path / "asking.toml").write_text(PARTITIONED)
    target = ("--target", url(counting, shop))
    called("prepare", "asking.toml", *target, "--yes", folder=tmp_path)
    called(
        "run", "asking.toml", *target, "--yes", "--text", "--concurrency", "4", "--duration", "6",
        "--warmup", "1", folder=tmp_path,
    )  # fmt: skip
    found, (step,) = diagnosed(only_run(tmp_path))
    assert [one.cause for one in found][:1] == ["planning"], [one.sentence for one in found]
    assert "FROM part WHERE n" in found[0].sentence
    assert "locked at once" in found[0].sentence
    assert found[0].share
    assert found[0].trial is not None and found[0].trial.settings[0].name == "prepared"
    assert step.server is not None
    assert step.server.highest["pg_locks.most_of_a_session"] > 100


@pytest.mark.nightly
def test_statements_that_keep_their_plan_have_no_cause_in_planning(
    counting: Server, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    target = ("--target", url(counting, shop), "--tables", "2", "--table-size", "1000")
    called("prepare", *target, "--yes", folder=tmp_path)
    called(
        "run", "oltp_read_only", *target, "--yes", "--concurrency", "4", "--duration", "4",
        "--warmup", "1", folder=tmp_path,
    )  # fmt: skip
    found, (step,) = diagnosed(only_run(tmp_path))
    assert not {"planning", "plan-cache", "generic-plans", "jit"} & {one.cause for one in found}
    assert step.hot_spots is not None
    lookups = by_text(step.hot_spots)["SELECT c FROM sbtestN WHERE id=?"]
    assert lookups.plans is not None
    assert lookups.plans < 0.1 * lookups.calls
