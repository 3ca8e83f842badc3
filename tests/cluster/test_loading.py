"""Tables that several generators fill: the parts, their sum, and what is reported of a loss."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.cluster.cluster import Cluster
from loadstone.cluster.errors import ClusterError
from loadstone.cluster.load_progress import Part, end_of, loss_of, progress_of
from loadstone.cluster.partition import load_parts_of
from loadstone.cluster.transport import InThisProcess
from loadstone.lab.step.interrupts import Interrupted, Interrupts
from loadstone.lab.tables.load import Loader, layout_for, prepare
from loadstone.model.engine_plan import LoadPlan
from loadstone.model.records import (
    EngineFailure,
    LoadEnd,
    LoadProgress,
    LoadStalled,
    MissingRows,
)
from loadstone.model.target import Endpoint
from loadstone.sandbox import Sandbox
from loadstone.servers.errors import GuardError
from loadstone.servers.guard import Consent
from pooled import Pool
from trust.summing import execute, rows_of

RANGE = 25_000
SIZE = 2 * RANGE
WHOLE = 2 * SIZE


def progress(rows: int, total: int, **changes: Any) -> LoadProgress:
    record = LoadProgress(
        seconds=1.0, rows=rows, rows_total=total, phase="rows", tables_done=0, method="infile"
    )
    return record.model_copy(update=changes)


def ended(rows: int, **changes: Any) -> LoadEnd:
    record = LoadEnd(
        reason="finished", seconds=1.0, rows=rows, rows_loaded=rows, method="infile", cpu_us=7
    )
    return record.model_copy(update=changes)


def part(number: int, *records: LoadProgress | LoadEnd) -> Part:
    made = Part(number, f"10.0.0.{number}")
    for order, record in enumerate(records, 1):
        made.take(order, record)
    return made


@pytest.mark.parametrize(
    ("parallel", "generators", "shares"),
    [(8, 3, [3, 3, 2]), (2, 3, [1, 1]), (1, 5, [1])],
)
def test_a_loads_connections_are_shared_out(
    parallel: int, generators: int, shares: list[int]
) -> None:
    plans = load_parts_of(json.dumps({"parallel": parallel, "seed": 5}), (), generators)
    assert [plan["parallel"] for plan in plans] == shares
    of = len(shares)
    assert [plan["part"] for plan in plans] == [{"number": n, "of": of} for n in range(of)]
    assert {(plan["stage"], plan["seed"]) for plan in plans} == {("fill", 5)}


def test_progress_is_the_sum_of_all_parts_once_each_has_told_of_its_own() -> None:
    first = part(0, progress(10, 50))
    assert progress_of([first, part(1)], 2.0) is None
    both = progress_of([first, part(1, progress(5, 60, phase="tables"))], 2.0)
    assert both == progress(15, 110, seconds=2.0)
    over = progress_of([first, part(1, ended(60))], 2.0)
    assert over == progress(70, 110, seconds=2.0)


def test_what_is_told_twice_is_counted_once() -> None:
    told = part(0, progress(10, 50), progress(20, 50))
    told.take(1, progress(10, 50))
    assert told.progress == progress(20, 50)


def test_the_end_is_that_of_all_parts() -> None:
    whole = end_of([ended(10), ended(20, rows_loaded=5)], cpu_us=3, seconds=9.0)
    assert whole == ended(30, rows_loaded=15, cpu_us=17, seconds=9.0)
    assert end_of([ended(10), ended(2, reason="stopped")], 0, 1.0).reason == "stopped"
    refused = EngineFailure(
        kind="statement_failed", message="the disk is full", family="mysql", code="1114"
    )
    failed = end_of([ended(1, reason="stopped"), ended(2, reason="failed", error=refused)], 0, 1.0)
    assert (failed.reason, failed.error) == ("failed", refused)


def test_what_stands_still_at_a_generator_is_told_with_its_node() -> None:
    stands = part(1)
    record = LoadStalled(seconds=9, statement="COMMIT", silent_s=5, waits_for="a lock")
    told = stands.take(1, record)
    assert told is not None
    assert told.waits_for == "a lock (generator on 10.0.0.1)"
    assert stands.take(1, record) is None
    assert (stands.has, stands.progress) == (1, None)


def test_a_loss_names_who_which_rows_and_what_to_do() -> None:
    lost = part(1)
    lost.lost = "it did not answer for 2.6 s"
    ranges = [
        MissingRows(table="sbtest1", condition=f"id BETWEEN {n} AND {n + 9}", rows=10)
        for n in (1, 21, 41, 61)
    ]
    error = loss_of([lost], ranges)
    assert error.message == (
        "generator 1 on 10.0.0.1 was lost: it did not answer for 2.6 s; 40 rows are missing, in "
        "sbtest1 where id BETWEEN 1 AND 10, sbtest1 where id BETWEEN 21 AND 30, "
        "sbtest1 where id BETWEEN 41 AND 50, and 1 more"
    )
    assert error.hint and "the same command loads what is missing" in error.hint
    assert "all rows are there" in loss_of([lost], []).message
    assert "could not be determined" in loss_of([lost], None).message


@pytest.fixture
def server(pool: Pool) -> Sandbox:
    """The pool's server; the schema named as the server's own always exists."""
    return pool.server()


@pytest.fixture
def endpoint(own_schema: Sandbox) -> Endpoint:
    """The same server, with a schema that does not exist yet."""
    execute(own_schema, f"DROP DATABASE {schema_of(own_schema.tcp)}")
    return own_schema.tcp


def schema_of(endpoint: Endpoint) -> str:
    """The schema of the test."""
    name = endpoint.target.database
    assert name is not None
    return name


@pytest.fixture
def links() -> Iterator[list[Any]]:
    three = [InThisProcess(f"127.0.0.{number}", "127.0.0.1") for number in (1, 2, 3)]
    yield three
    for link in three:
        link.close()


class NumberedRecord:
    """A record that a load sends."""

    def __init__(self) -> None:
        self.seen: list[LoadProgress] = []
        self.stalled: list[LoadStalled] = []

    def on_progress(self, progress: LoadProgress) -> None:
        self.seen.append(progress)

    def on_stalled(self, stalled: LoadStalled) -> None:
        self.stalled.append(stalled)


def load(
    endpoint: Endpoint,
    links: Sequence[Any] = (),
    size: int = SIZE,
    told: NumberedRecord | None = None,
    interrupts: Interrupts | None = None,
) -> LoadEnd:
    """Load two tables, by this process alone or by a cluster of it."""
    plan = LoadPlan(layout=layout_for("sbtest", 2, size), parallel=4, seed=42)
    loader = Loader(
        endpoint, Consent(yes=True), told or NumberedRecord(), interrupts or Interrupts()
    )
    if links:
        cluster = Cluster(links, "stop", lambda line: None)
        loader = replace(loader, begin=cluster.load)
    return prepare(plan, loader)


@pytest.mark.server
def test_a_cluster_loads_what_one_machine_loads(
    server: Sandbox, endpoint: Endpoint, links: list[Any]
) -> None:
    load(endpoint)
    alone = rows_of(server, schema_of(endpoint))
    execute(server, f"DROP DATABASE {schema_of(endpoint)}")
    told = NumberedRecord()
    end = load(endpoint, links, told=told)
    assert (end.reason, end.rows, end.rows_loaded) == ("finished", WHOLE, WHOLE)
    assert rows_of(server, schema_of(endpoint)) == alone
    assert len(alone) == 2
    assert all(each.rows <= each.rows_total == WHOLE for each in told.seen)
    # The load is complete: nothing is left for another generator.
    assert load(endpoint).rows_loaded == load(endpoint, links).rows_loaded == 0


class Heard:
    """A generator that remembers what it was asked to load."""

    def __init__(self, link: InThisProcess) -> None:
        self.node, self._link = link.node, link
        self.known: list[list[Any]] = []

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        if method == "begin_load":
            self.known.append(json.loads(arguments[1])["known"])
        return self._link.call(method, *arguments)


@pytest.mark.server
def test_what_is_missing_is_looked_up_before_anybody_loads(
    server: Sandbox, endpoint: Endpoint, links: list[Any]
) -> None:
    """Counting rows while others add to the same table can hang MariaDB."""
    load(endpoint)
    before = rows_of(server, schema_of(endpoint))
    execute(server, f"DELETE FROM {schema_of(endpoint)}.sbtest1 WHERE id > {RANGE + 10}")
    heard = [Heard(link) for link in links]
    end = load(endpoint, heard)
    assert (end.rows, end.rows_loaded) == (WHOLE, SIZE - RANGE)
    for each in heard:
        (known,) = each.known
        assert [table["missing"] for table in known] == [[[RANGE + 1, SIZE]], []]
    assert rows_of(server, schema_of(endpoint)) == before


@pytest.mark.server
def test_other_peoples_tables_are_refused_before_anything_changes(
    server: Sandbox, endpoint: Endpoint, links: list[Any]
) -> None:
    shop = schema_of(endpoint)
    execute(server, f"CREATE DATABASE {shop}", f"CREATE TABLE {shop}.sbtest2 (dear TEXT)")
    before = rows_of(server, schema_of(endpoint))
    with pytest.raises(GuardError, match="sbtest2"):
        load(endpoint, links)
    assert rows_of(server, schema_of(endpoint)) == before


class Breaking:
    """A generator that dies or hangs after it was asked to load."""

    def __init__(self, node: str, error: Exception | None) -> None:
        self.node = node
        self._inner = InThisProcess(node, "127.0.0.1")
        self._error = error

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        if method not in ("begin_load", "take", "stop"):
            return self._inner.call(method, *arguments)
        answer: Future[Any] = Future()
        if method != "take":
            answer.set_result(None)
        elif self._error:
            answer.set_exception(self._error)
        return answer

    def close(self) -> None:
        self._inner.close()


@pytest.mark.server
@pytest.mark.parametrize(
    ("error", "why"),
    [(ConnectionError("the actor died"), "the actor died"), (None, "it did not answer for ")],
    ids=["gone", "standing still"],
)
def test_without_one_the_others_load_their_rows_and_the_error_says_what_is_missing(
    server: Sandbox, endpoint: Endpoint, links: list[Any], error: Exception | None, why: str
) -> None:
    with (
        contextlib.closing(Breaking("127.0.0.9", error)) as broken,
        pytest.raises(ClusterError) as caught,
    ):
        load(endpoint, [links[0], broken])
    assert f"generator 1 on 127.0.0.9 was lost: {why}" in caught.value.message
    assert f"{SIZE:,} rows are missing, in sbtest" in caught.value.message
    shop = schema_of(endpoint)
    counted = f"SELECT (SELECT COUNT(*) FROM {shop}.sbtest1) + COUNT(*) FROM {shop}.sbtest2"
    assert int(asked(server, counted)[0][0]) == SIZE
    again = load(endpoint, links)
    assert (again.rows, again.rows_loaded) == (WHOLE, SIZE)


@pytest.mark.server
def test_a_wish_to_stop_ends_all_of_them(
    server: Sandbox, endpoint: Endpoint, links: list[Any]
) -> None:
    interrupts = Interrupts()

    class Stops(NumberedRecord):
        def on_progress(self, progress: LoadProgress) -> None:
            if progress.phase == "rows":
                interrupts.ask()

    load(endpoint, links)
    for table in ("sbtest1", "sbtest2"):
        execute(server, f"DELETE FROM {schema_of(endpoint)}.{table} WHERE id > {RANGE}")
    with server.connect() as holder, holder.cursor() as cursor:
        shop = schema_of(endpoint)
        cursor.execute(f"LOCK TABLES {shop}.sbtest1 READ, {shop}.sbtest2 READ")
        with pytest.raises(Interrupted):
            load(endpoint, links, told=Stops(), interrupts=interrupts)
        cursor.execute("UNLOCK TABLES")
    assert load(endpoint, links).rows == WHOLE


def asked(server: Sandbox, statement: str) -> Any:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()
