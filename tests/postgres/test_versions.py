"""Versions of rows on a real PostgreSQL: what is counted, who keeps them, and what that costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.families import connect
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import HotSpots, TableVersions
from loadstone.model.result import StepResult
from loadstone.observe.hot_spots import Snapshot
from loadstone.observe.postgresql.versions import KIND, difference, snapshot
from postgres.diagnosed import accused, diagnosed
from postgres.server import Server, find_programs, started
from postgres.sessions import DEADLINE_S, did
from postgres.test_causes_real import SEARCHING
from postgres.test_commands import only_run, url
from postgres.test_family import endpoint, local

pytestmark = [pytest.mark.server, pytest.mark.slow]

FORGOTTEN = "order 17"
ALONE = "ALTER TABLE {table} SET (autovacuum_enabled = off)"
PREPARED = {"max_prepared_transactions": "2"}


@pytest.fixture(scope="module")
def preparing() -> Iterator[Server]:
    """A server that allows prepared transactions."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL: tools/get-postgres fetches one")
    with started(programs, PREPARED) as server:
        yield server


def counted(server: Server, database: str, before: Snapshot, updated: int) -> HotSpots:
    """What happened since, once the sessions that did it have reported so much of it."""
    until = time.monotonic() + DEADLINE_S
    while True:
        found = difference(before, snapshot(local(server, database)))
        if sum(one.updated for one in found.versions) >= updated:
            return found
        assert time.monotonic() < until
        time.sleep(0.05)


def only(found: HotSpots) -> TableVersions:
    (table,) = found.versions
    return table


def test_versions_are_those_of_what_was_done(server: Server, database: str) -> None:
    server.asked(
        "CREATE TABLE shop (id INT PRIMARY KEY, n INT, m INT)"
        " WITH (fillfactor = 50, autovacuum_enabled = off, autovacuum_vacuum_threshold = 7,"
        " autovacuum_vacuum_scale_factor = 0);"
        " CREATE INDEX by_n ON shop (n); CREATE INDEX half ON shop ((id + 1)) WHERE m > 3;"
        " INSERT INTO shop SELECT i, i, 0 FROM generate_series(1, 100) AS i",
        database,
    )
    server.asked("ANALYZE shop", database)  # once the session that inserted has reported
    before = snapshot(local(server, database))
    server.asked(
        "UPDATE shop SET n = n + 1000 WHERE id <= 10; DELETE FROM shop WHERE id > 95;"
        " SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM shop",
        database,
    )
    found = only(counted(server, database, before, 10))
    assert (found.table, found.updated, found.hot_updated, found.deleted) == (
        "public.shop", 10, 0, 5,
    )  # fmt: skip
    assert found.scanned >= 95
    assert (found.dead_before, found.dead, found.live) == (0, 15, 95)
    assert (found.fillfactor, found.autovacuum, found.vacuum_due) == (50, False, 7.0)
    assert (found.vacuums, found.vacuumed_s) == (0, None)
    assert {one.index: set(one.columns) for one in found.indexes} == {
        "by_n": {"n"},
        "half": {"id", "m"},
        "shop_pkey": {"id"},
    }


def test_an_update_of_no_indexed_column_is_hot_and_what_its_page_removes_is_not_dead(
    server: Server, database: str
) -> None:
    server.asked(
        "CREATE TABLE one (id INT PRIMARY KEY, n INT) WITH (autovacuum_enabled = off);"
        " INSERT INTO one VALUES (1, 0)",
        database,
    )
    before = snapshot(local(server, database))
    server.asked("".join(f"UPDATE one SET n = {number};" for number in range(1000)), database)
    found = only(counted(server, database, before, 1000))
    assert found.hot_updated == found.updated == 1000
    # A page holds some two hundred of these rows.
    assert found.dead < 300


def test_who_keeps_versions_is_named_without_the_values_of_its_statement(
    preparing: Server,
) -> None:
    at = local(preparing, "postgres")
    preparing.asked("CREATE TABLE kept (id INT); INSERT INTO kept VALUES (1)")
    preparing.asked(f"BEGIN; INSERT INTO kept VALUES (2); PREPARE TRANSACTION '{FORGOTTEN}'")
    preparing.asked("UPDATE kept SET id = 3")
    with connect(at) as holder:
        did(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ")
        did(holder, "SELECT count(*) /* of mine */ FROM kept WHERE id > 4711 OR 'secret' = ''")
        found = difference(snapshot(at), snapshot(at)).keepers
        did(holder, "ROLLBACK")
    preparing.asked(f"ROLLBACK PREPARED '{FORGOTTEN}'")
    by_kind = {one.kind: one for one in found}
    assert by_kind["prepared"].name == FORGOTTEN
    assert by_kind["prepared"].age >= 1
    session = by_kind["session"]
    assert session.state == "idle in transaction"
    assert session.statement == "SELECT count(*) FROM kept WHERE id > ? OR ? = ?"
    assert difference(snapshot(at), snapshot(at)).keepers == ()


def test_who_may_not_log_in_is_told_why_nothing_is_known(server: Server) -> None:
    nowhere = snapshot(endpoint(server, "no_such_database"))
    found = difference(nowhere, nowhere)
    assert not found.versions
    assert "no_such_database" in found.not_evaluated[KIND]


def run(
    server: Server, database: str, folder: Path, workload: str, *words: str, users: int = 4
) -> tuple[list[Finding], StepResult]:
    """What is found of a run of so many users."""
    called(
        "run", workload, "--target", url(server, database), "--yes", "--concurrency", str(users),
        "--duration", "4", "--warmup", "1", *words, folder=folder,
    )  # fmt: skip
    found, (step,) = diagnosed(only_run(folder))
    return found, step


def prepared(server: Server, database: str, folder: Path, *words: str) -> None:
    called("prepare", "--target", url(server, database), "--tables", "1", *words, folder=folder)


def named(found: list[Finding], cause: str) -> Finding:
    ours = [one for one in found if one.cause == cause]
    assert len(ours) == 1, [one.sentence for one in found]
    return ours[0]


LATER = 12_000


@contextmanager
def forgotten(server: Server, database: str) -> Iterator[None]:
    """A prepared transaction that nobody ends, with what so many later transactions left."""
    server.asked(
        f"CREATE TABLE mine (id INT); BEGIN; INSERT INTO mine VALUES (1);"
        f" PREPARE TRANSACTION '{FORGOTTEN}'",
        database,
    )
    try:
        server.asked(
            f"DO $$ BEGIN FOR i IN 1..{LATER} LOOP"
            " UPDATE sbtest1 SET k = k + 1 WHERE id = 1 + i % 20; COMMIT; END LOOP; END $$",
            database,
        )
        yield
    finally:
        server.asked(f"ROLLBACK PREPARED '{FORGOTTEN}'", database)


def test_a_forgotten_prepared_transaction_is_named_with_what_it_keeps(
    preparing: Server, tmp_path: Path
) -> None:
    preparing.asked("CREATE DATABASE shop")
    prepared(preparing, "shop", tmp_path, "--table-size", "20")
    with forgotten(preparing, "shop"):
        found, step = run(preparing, "shop", tmp_path, "oltp_update_non_index", "--text")
    one = named(found, "long-transaction")
    assert f"It is {FORGOTTEN}" in one.sentence
    assert "prepared" in one.sentence and "ROLLBACK PREPARED" in one.remedy
    # Each version that is kept has an entry in the index, or is in a chain of those that have.
    assert step.hot_spots is not None
    table = step.hot_spots.versions[0]
    assert table.dead > LATER
    assert part_of_work(one, step) > 0.2
    assert "dead-rows" not in accused(found)
    preparing.asked("DROP DATABASE shop")


def part_of_work(one: Finding, step: StepResult) -> float:
    """Of the users' time on a core that which a finding claims: others on the machine have no part
    in it."""
    account = step.account
    assert account is not None
    claimed = sum(claim.share for claim in one.claims if claim.place == "on core")
    return claimed / account.share_of("on core")


def core_s(step: StepResult) -> float:
    """Core seconds of an event."""
    assert step.account is not None and step.tps
    return step.account.share_of("on core") * step.concurrency / step.tps


LEFT = 100_000


class Uncleaned(NamedTuple):
    """Why autovacuum does not clean a table up, and how that is named."""

    option: str
    cause: str
    said: str


UNCLEANED = (
    Uncleaned("autovacuum_enabled = off", "autovacuum-behind", "Autovacuum is off"),
    Uncleaned("autovacuum_vacuum_threshold = 10000000", "dead-rows", "Autovacuum is due from 10"),
)


@pytest.mark.parametrize(
    "why",
    [
        pytest.param(one, id=one.cause, marks=[pytest.mark.nightly] if later else [])
        for later, one in enumerate(UNCLEANED)
    ],
)
def test_scans_of_a_table_full_of_dead_rows_say_so_until_it_is_vacuumed(
    server: Server, database: str, tmp_path: Path, why: Uncleaned
) -> None:
    template = tmp_path / "searching.toml"
    template.write_text(SEARCHING.replace('rows = "10k"', "rows = 200"))
    called("prepare", str(template), "--target", url(server, database), folder=tmp_path)
    server.asked(
        f"ALTER TABLE item SET ({why.option}); INSERT INTO item SELECT i, 0 FROM"
        f" generate_series(1000, {999 + LEFT}) AS i; DELETE FROM item WHERE id >= 1000;"
        " SELECT count(*) FROM item",
        database,
    )
    (tmp_path / "full").mkdir()
    found, step = run(server, database, tmp_path / "full", str(template))
    one = named(found, why.cause)
    assert why.said in one.sentence
    # Mostly half and more of an event's time on a core, which depends on the machine's caches.
    assert part_of_work(one, step) > 0.25
    assert "100,000 dead versions" in one.sentence
    assert one.foretold is not None and step.tps is not None
    assert one.foretold.low > step.tps
    server.asked("VACUUM item", database)
    (tmp_path / "clean").mkdir()
    found, clean = run(server, database, tmp_path / "clean", str(template))
    assert why.cause not in [one.cause for one in found]
    # How much faster it is others on the machine decide as well; what an event takes of a core not.
    assert core_s(clean) < 0.85 * core_s(step)


def updated(step: StepResult) -> dict[str, tuple[str, ...]]:
    """The columns that updates were seen to set."""
    assert step.server is not None
    return {one.table: one.columns for one in step.server.updated_columns}


def test_updates_that_lose_hot_name_the_index_and_none_where_they_are_hot(
    server: Server, database: str, tmp_path: Path
) -> None:
    prepared(server, database, tmp_path, "--table-size", "2000")
    more = "".join(f"CREATE INDEX more_{n} ON sbtest1 (k, id);" for n in range(6))
    server.asked(f"{more} VACUUM ANALYZE sbtest1", database)
    (tmp_path / "lost").mkdir()
    found, step = run(server, database, tmp_path / "lost", "oltp_update_index", users=8)
    one = named(found, "hot-updates-lost")
    assert "They set columns of k_1 (k)" in one.sentence
    assert "more_5" in one.remedy
    assert updated(step) == {"sbtest1": ("k",)}
    assert part_of_work(one, step) > 0.05
    assert step.hot_spots is not None
    (table,) = [one for one in step.hot_spots.versions if one.updated]
    assert table.hot_updated < 0.1 * table.updated
    server.asked("ALTER TABLE sbtest1 SET (fillfactor = 70); VACUUM FULL sbtest1", database)
    (tmp_path / "hot").mkdir()
    found, step = run(server, database, tmp_path / "hot", "oltp_update_non_index", users=8)
    assert "hot-updates-lost" not in [one.cause for one in found]
    assert updated(step) == {"sbtest1": ("c",)}


def test_a_connection_for_each_event_is_named_and_what_it_takes(
    server: Server, database: str, tmp_path: Path
) -> None:
    prepared(server, database, tmp_path, "--table-size", "200")
    found, step = run(server, database, tmp_path, "oltp_point_select", "--reconnect", "1")
    one = named(found, "connection-storm")
    assert one is found[0]
    assert one.group == "setting" and one.share is not None and one.share > 0.3
    assert one.trial is not None and one.trial.settings[0].value == "never"
    assert step.connect is not None and step.connect.mean is not None
    assert "Opening one takes the user" in one.sentence
    # Its statements are in sessions that have only begun: most of what they take has no name.
    assert step.account is not None and step.tps is not None
    named_time = sum(each.share for each in step.account.entries)
    left = named_time - sum(claim.share for claim in one.claims)
    if step.account.unnamed > left:
        assert one.foretold is None
    else:
        assert one.foretold is not None and one.foretold.low > step.tps
