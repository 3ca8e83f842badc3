"""A sequence that all users take values of, on a real PostgreSQL, and ids that are no cause."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import HotSpots
from loadstone.model.result import StepResult
from loadstone.observe.postgresql.versions import KIND, SEQUENCES, difference, snapshot
from postgres.diagnosed import diagnosed
from postgres.server import Server
from postgres.sessions import DEADLINE_S
from postgres.test_commands import only_run, url
from postgres.test_family import endpoint, local

pytestmark = [pytest.mark.server, pytest.mark.slow]

NUMBERS = """
dialect = ["postgresql"]
[table.item]
rows = 10
[table.item.columns]
id = { type = "INT NOT NULL", sequence = true }
[transaction.take]
autocommit = true
statements = [ "SELECT sum(nextval('ticket')) FROM generate_series(1, 200)" ]
"""
"""Numbers, and no row that has them."""

ROWS = """
dialect = ["postgresql"]
[table.item]
rows = 10
[table.item.columns]
id = { type = "INT NOT NULL", sequence = true }
[transaction.insert]
autocommit = true
statements = [ "INSERT INTO numbered (n) SELECT 1 FROM generate_series(1, 100)" ]
"""
"""Rows with ids in the order of their inserts."""


def test_visits_to_a_sequence_are_one_for_as_many_values_as_its_cache(
    server: Server, database: str
) -> None:
    server.asked(
        'CREATE SEQUENCE "One"; CREATE SEQUENCE none;'
        " CREATE SEQUENCE ten AS int INCREMENT -1 CACHE 10; CREATE SEQUENCE ring CYCLE",
        database,
    )
    before = snapshot(local(server, database))
    server.asked(
        "SELECT count(nextval('\"One\"')), count(nextval('ten')) FROM generate_series(1, 1000);"
        " SELECT nextval('ring')",
        database,
    )
    until = time.monotonic() + DEADLINE_S
    while len(found := difference(before, snapshot(local(server, database))).sequences or ()) < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    one, ten, ring = found
    assert (one.sequence, one.cache, one.values) == ('public."One"', 1, 2.0**63)
    assert (ten.sequence, ten.cache, ten.values) == ("public.ten", 10, 2.0**31 - 1)
    assert (ring.sequence, ring.values) == ("public.ring", None)
    # A few more are for finding the sequence.
    assert 1000 <= one.page_visits < 1010
    assert 100 <= ten.page_visits < 110


def test_who_may_not_read_sequences_still_reads_the_rest(server: Server, database: str) -> None:
    server.asked("REVOKE SELECT ON pg_sequence FROM PUBLIC", database)
    at = endpoint(server, database)
    before = snapshot(at)
    server.asked(
        "CREATE TABLE shop (id INT PRIMARY KEY); CREATE TABLE sale (shop INT REFERENCES shop);"
        " INSERT INTO shop VALUES (1); INSERT INTO sale VALUES (1)",
        database,
    )
    until = time.monotonic() + DEADLINE_S
    while len((found := difference(before, snapshot(at))).versions) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert found.sequences is None
    assert "pg_sequence" in found.not_evaluated[SEQUENCES]
    assert KIND not in found.not_evaluated
    # What foreign keys lead to is known with the tables.
    referenced = {one.table: one.referenced for one in found.versions}
    assert referenced == {"public.shop": True, "public.sale": False}


def test_of_more_tables_than_are_read_inserts_count_and_no_sequence_is_blamed(
    server: Server, database: str
) -> None:
    server.asked(
        "DO $$ BEGIN FOR i IN 1..1000 LOOP EXECUTE format('CREATE TABLE t%s (n INT)', i);"
        " EXECUTE format('INSERT INTO t%s VALUES (1)', i);"
        " EXECUTE format('UPDATE t%s SET n = 2', i); END LOOP; END $$;"
        " CREATE TABLE filled (id BIGSERIAL)",
        database,
    )
    at = local(server, database)
    before = snapshot(at)
    server.asked("INSERT INTO filled SELECT FROM generate_series(1, 100)", database)
    until = time.monotonic() + DEADLINE_S
    while not _inserted(found := difference(before, snapshot(at)), "public.filled"):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert found.sequences is None
    assert "1000 or more tables" in found.not_evaluated[SEQUENCES]


def _inserted(spots: HotSpots, table: str) -> int:
    return sum(one.inserted for one in spots.versions if one.table == table)


def driven(
    server: Server, database: str, folder: Path, template: str
) -> tuple[list[Finding], StepResult]:
    """The findings of the family's own rules, and the step."""
    target = ("--target", url(server, database))
    folder.mkdir()
    (folder / "load.toml").write_text(template)
    if not server.asked("SELECT 1 FROM pg_class WHERE relname = 'item'", database):
        called("prepare", "load.toml", *target, "--yes", folder=folder)
    called(
        "run", "load.toml", *target, "--yes", "--concurrency", "12", "--duration", "5",
        "--warmup", "1", folder=folder,
    )  # fmt: skip
    found, (step,) = diagnosed(only_run(folder))
    return found, step


@pytest.mark.nightly
def test_a_sequence_that_all_take_values_of_is_named_and_its_remedy_helps(
    server: Server, database: str, tmp_path: Path
) -> None:
    server.asked("CREATE SEQUENCE ticket", database)
    found, step = driven(server, database, tmp_path / "one", NUMBERS)
    assert [one.cause for one in found][:1] == ["sequences"], [one.sentence for one in found]
    assert "public.ticket" in found[0].sentence
    assert "ALTER SEQUENCE public.ticket CACHE 100." in str(found[0].remedy)
    server.asked("ALTER SEQUENCE ticket CACHE 100", database)
    after, eased = driven(server, database, tmp_path / "many", NUMBERS)
    left = sum(one.share or 0.0 for one in after if one.cause == "sequences")
    assert found[0].share is not None and left < found[0].share / 2
    assert eased.tps is not None and step.tps is not None and eased.tps > step.tps
    # By how much depends on the cores that others on the machine leave, before and after.
    foretold = found[0].foretold
    assert foretold is not None and foretold.low > step.tps


@pytest.mark.nightly
def test_ids_of_rows_are_not_blamed_for_the_end_of_their_index(
    server: Server, database: str, tmp_path: Path
) -> None:
    server.asked("CREATE TABLE numbered (id BIGSERIAL PRIMARY KEY, n INT)", database)
    found, step = driven(server, database, tmp_path / "rows", ROWS)
    assert step.hot_spots is not None and step.hot_spots.sequences, "they were counted"
    causes = [one.cause for one in found]
    assert "hot-pages" in causes, [one.sentence for one in found]
    assert "sequences" not in causes[: causes.index("hot-pages")], causes
