"""A load in stages, as several machines run it: the result is what one machine makes."""

from __future__ import annotations

import json
import time

import pytest

from engine.conftest import on_mariadb
from engine.driving import Document, Loading, a_layout, a_load, load, local
from engine.servers import execute, rows
from loadstone import engine
from loadstone.model.records import LoadEnd
from loadstone.sandbox import Sandbox

pytestmark = [pytest.mark.server, on_mariadb]

RANGE = 25_000
TABLES = 2
SIZE = RANGE + RANGE // 2
WHOLE = TABLES * SIZE


@pytest.fixture
def plan(shared: Sandbox, schema: str) -> Document:
    return a_load(local(shared, database=schema), layout=a_layout(TABLES, SIZE))


def checksums(sandbox: Sandbox, schema: str) -> list[tuple[object, ...]]:
    names = ", ".join(f"sbtest{number + 1}" for number in range(TABLES))
    return rows(sandbox, f"CHECKSUM TABLE {names}", schema)


def make(plan: Document) -> Document:
    """Run the first stage; returns what it says of the tables, for the later stages."""
    end = load(plan | {"stage": "make"}).finished().last
    assert (end.rows, end.rows_loaded, len(end.tables)) == (0, 0, TABLES)
    return {"known": [table.model_dump(mode="json") for table in end.tables]}


def fill(plan: Document, known: Document, number: int, of: int, **more: object) -> LoadEnd:
    part = {"stage": "fill", "part": {"number": number, "of": of}}
    return load(plan | known | part | more).last


def look(plan: Document, number: int, of: int) -> LoadEnd:
    part = {"stage": "look", "part": {"number": number, "of": of}}
    return load(plan | part).finished().last


def test_parts_together_make_what_one_load_makes(
    shared: Sandbox, schema: str, plan: Document
) -> None:
    of = 3
    load(plan).finished()
    alone = checksums(shared, schema)
    definition = rows(shared, "SHOW CREATE TABLE sbtest1", schema)
    execute(shared, "DROP TABLE sbtest1, sbtest2", database=schema)
    known = make(plan)
    ends = [fill(plan, known, number, of) for number in range(of)]
    assert sum(end.rows for end in ends) == sum(end.rows_loaded for end in ends) == WHOLE
    assert max(end.rows for end in ends) - min(end.rows for end in ends) <= RANGE
    assert load(plan | known | {"stage": "finish"}).finished().last.reason == "finished"
    assert checksums(shared, schema) == alone
    assert rows(shared, "SHOW CREATE TABLE sbtest1", schema) == definition
    # Any number of machines can continue all of it.
    again = make(plan)
    assert not any(table["is_new"] for table in again["known"])
    others = [fill(plan, again, number, of + 1) for number in range(of + 1)]
    assert [end.rows_loaded for end in others] == [0] * (of + 1)
    assert sum(end.rows for end in others) == WHOLE


def test_what_a_lost_part_has_not_loaded_is_told_and_counted(plan: Document) -> None:
    known = make(plan)
    first = fill(plan, known, 0, 2)
    assert look(plan, 0, 2).missing == ()
    missing = look(plan, 1, 2).missing
    assert sum(each.rows for each in missing) == WHOLE - first.rows
    assert {each.table for each in missing} <= {"sbtest1", "sbtest2"}
    assert all("id BETWEEN" in each.condition for each in missing), missing
    end = load(plan | known | {"stage": "finish"}).last
    assert end.error is not None
    assert f"where {SIZE} were asked for" in end.error.message


def test_a_table_that_was_replaced_between_the_stages_is_left_as_it_is(
    shared: Sandbox, schema: str, plan: Document
) -> None:
    known = make(plan)
    # The server reports creation times in whole seconds.
    time.sleep(1.1)
    execute(
        shared,
        "RENAME TABLE sbtest1 TO ours",
        "CREATE TABLE sbtest1 LIKE ours",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (7, 7, 'dear', 'dear')",
        database=schema,
    )
    end = fill(plan, known, 0, 1)
    assert end.error is not None
    assert (end.reason, end.error.kind) == ("failed", "table_in_the_way")
    assert rows(shared, "SELECT id, c FROM sbtest1", schema) == [(7, "dear")]


def test_a_part_that_nobody_wants_any_more_ends_by_itself(
    shared: Sandbox, schema: str, plan: Document
) -> None:
    known = make(plan)
    lease_s = 0.5
    with shared.connect() as holder, holder.cursor() as cursor:
        cursor.execute(f"LOCK TABLES {schema}.sbtest1 READ, {schema}.sbtest2 READ")
        part = {"stage": "fill", "part": {"number": 0, "of": 1}, "lease_s": lease_s}
        with Loading(plan | known | part) as loading:
            pass
    end = loading.loaded.last
    assert end.error is not None
    assert (end.reason, end.error.kind, end.rows) == ("failed", "abandoned", 0)
    assert end.seconds >= lease_s


def goes_on(record: str | None) -> bool:
    return record is None or '"kind":"progress"' in record or '"kind":"stalled"' in record


def test_a_part_that_is_wanted_goes_on(shared: Sandbox, schema: str, plan: Document) -> None:
    known = make(plan)
    lease_s = 5.0
    part = {"stage": "fill", "part": {"number": 0, "of": 1}, "lease_s": lease_s}
    with shared.connect() as holder, holder.cursor() as cursor:
        cursor.execute(f"LOCK TABLES {schema}.sbtest1 READ, {schema}.sbtest2 READ")
        job = engine.load_part(json.dumps(plan | known | part))
        deadline = time.monotonic() + 1.5 * lease_s
        while time.monotonic() < deadline:
            job.renew()
            record = job.next(lease_s / 10)
            assert goes_on(record)
        cursor.execute("UNLOCK TABLES")
    while goes_on(record):
        job.renew()
        record = job.next(lease_s / 10)
    assert LoadEnd.model_validate_json(record or "").rows_loaded == WHOLE
