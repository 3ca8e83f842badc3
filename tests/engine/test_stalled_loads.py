"""A load that makes no progress says so, and then takes another way or ends with its reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from called import called
from engine.conftest import Start, on_mariadb
from engine.driving import (
    PATIENCE_S,
    Document,
    Loaded,
    Loading,
    a_layout,
    a_load,
    connecting,
    load,
    local,
)
from engine.servers import asked, execute, one, rows
from kept import Stopwatch
from loadstone import engine
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.tables.load import Loader, layout_for, prepare
from loadstone.model.engine_plan import LoadPlan
from loadstone.model.null_server import NullServerSettings
from loadstone.model.records import AnyLoadRecord, LoadProgress, LoadStalled
from loadstone.mysql.processlist import number_of
from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.guard import Consent

pytestmark = pytest.mark.server

LARGE = a_layout(2, 2_000_000)
SHORT = {"say_s": 0.4, "end_s": 0.4, "fail_s": 2.0}
PATIENT = {"say_s": 0.4, "end_s": 10.0, "fail_s": 60.0}


@pytest.fixture
def target(shared: Sandbox, schema: str) -> Document:
    return local(shared, database=schema)


@contextmanager
def half_loaded(shared: Sandbox, plan: Document, schema: str) -> Iterator[tuple[Connection, int]]:
    """A table without one of its rows, which another session has locked; and that session's id."""
    load(plan | {"stall": {}}).finished()
    execute(shared, "DELETE FROM sbtest1 WHERE id = 1000", database=schema)
    with shared.connect() as other:
        asked(other, "BEGIN")
        asked(other, f"INSERT INTO {schema}.sbtest1 (id) VALUES (1000)")
        yield other, number_of(other)


def statements_on(shared: Sandbox, schema: str) -> list[str]:
    """Statements that run in a schema, as the server reports them."""
    sessions = rows(shared, "SHOW FULL PROCESSLIST")
    return [str(row[7]) for row in sessions if row[3] == schema and row[7]]


def wait_for(holds: Callable[[], bool]) -> None:
    """Look repeatedly until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def told_of(kind: Callable[[LoadStalled], bool]) -> Callable[[Loaded], bool]:
    """Whether a wait of this kind was reported: a slow disk's are, too, if they last as long."""
    return lambda loaded: any(map(kind, loaded.stalled))


def is_held(told: LoadStalled) -> bool:
    return told.holder is not None


def waits_for_a_lock(told: LoadStalled) -> bool:
    return "lock" in told.waits_for


def opens(told: LoadStalled) -> bool:
    return told.statement == "opening a connection"


def failure_of(loaded: Loaded) -> str:
    end = loaded.last
    assert end.error is not None
    assert (end.reason, end.error.kind) == ("failed", "stalled")
    return end.error.message


def test_a_server_that_hangs_in_the_middle_of_a_load_is_told_and_ends_it() -> None:
    server = engine.null_server(NullServerSettings())
    hangs = {"at_s": 0.3, "for_s": 600}
    server.set_script(json.dumps({"service": {"kind": "constant", "us": 9000}, "stalls": [hangs]}))
    target = {
        **{"host": "127.0.0.1", "port": server.port, "socket": None, "user": "u"},
        **{"password": "", "database": "sbtest", "server_public_key": None},
        "tls": {"mode": "disabled", "ca": None, "cert": None, "key": None},
    }
    plan, watch = a_load(target, method="insert", layout=LARGE, stall=SHORT), Stopwatch()
    loaded = load(plan)
    server.stop()
    assert watch.judged_s < 8
    assert "no progress for 2 s" in failure_of(loaded)
    told = loaded.stalled[0]
    assert SHORT["say_s"] <= told.silent_s < 1.5 + watch.kept_s
    assert told.connection is not None
    assert "does not answer another connection either" in told.waits_for


def test_a_wait_for_anothers_row_names_it_and_goes_on_when_it_lets_go(
    shared: Sandbox, target: Document, schema: str
) -> None:
    plan = a_load(target, layout=a_layout(1, 2000), stall=PATIENT)
    with half_loaded(shared, plan, schema) as (other, number), Loading(plan) as loading:
        told = next(filter(is_held, loading.until(told_of(is_held)).stalled))
        assert told.holder is not None
        assert (told.holder.connection, told.deed) == (number, "watched")
        assert told.holder.user is not None
        assert "sbtest1" in told.waits_for
        asked(other, "ROLLBACK")
    assert loading.loaded.finished().last.rows == 2000
    assert "ended" not in {each.deed for each in loading.loaded.stalled}


def test_a_row_that_is_never_let_go_ends_the_load_and_the_same_load_goes_on_later(
    shared: Sandbox, target: Document, schema: str
) -> None:
    plan = a_load(target, layout=a_layout(1, 2000), stall=SHORT)
    with half_loaded(shared, plan, schema) as (other, number):
        watch = Stopwatch(shared.pid)
        loaded = load(plan)
        assert watch.judged_s < 6
        assert f"held by connection {number}" in failure_of(loaded)
        asked(other, "ROLLBACK")
    assert load(plan).finished().last.rows == 2000
    assert one(shared, "SELECT COUNT(*) FROM sbtest1", schema) == 2000


def test_a_table_that_another_session_has_locked_is_told_too(
    shared: Sandbox, target: Document, schema: str, server: str
) -> None:
    plan = a_load(target, layout=a_layout(1, 2000), stall=PATIENT)
    load(plan).finished()
    execute(shared, "DELETE FROM sbtest1 WHERE id = 1000", database=schema)
    with shared.connect() as other:
        asked(other, f"LOCK TABLES {schema}.sbtest1 READ")
        with Loading(plan) as loading:
            told = next(filter(waits_for_a_lock, loading.until(told_of(waits_for_a_lock)).stalled))
            if server == "mysql":
                assert told.holder and told.holder.connection == number_of(other)
            asked(other, "UNLOCK TABLES")
    assert loading.loaded.finished().last.rows == 2000


@contextmanager
def standing_still(shared: Sandbox, plan: Document, schema: str) -> Iterator[None]:
    """An empty table whose first row takes a minute, as long as `slow` has a row."""
    load(plan | {"stall": {}}).finished()
    execute(
        shared,
        "DELETE FROM sbtest1",
        "CREATE TABLE slow (id INT PRIMARY KEY)",
        "INSERT INTO slow VALUES (1)",
        "CREATE TRIGGER slowly BEFORE INSERT ON sbtest1 FOR EACH ROW SET NEW.k ="
        " NEW.k + IF(NEW.id = 1 AND EXISTS (SELECT 1 FROM slow), SLEEP(60), 0)",
        database=schema,
    )
    yield


@on_mariadb
def test_a_statement_that_stands_still_is_ended_and_tried_another_way(
    shared: Sandbox, target: Document, schema: str
) -> None:
    plan = a_load(target, layout=a_layout(1, 2000), stall=SHORT)
    with standing_still(shared, plan, schema), Loading(plan) as loading:
        loading.until(lambda loaded: any(each.deed == "ended" for each in loaded.stalled))
        execute(shared, "DELETE FROM slow", database=schema)
    end = loading.loaded.finished().last
    assert (end.rows, end.rows_loaded) == (2000, 2000)
    told = loading.loaded.stalled[0]
    assert told.statement.startswith("LOAD DATA LOCAL INFILE")
    assert one(shared, "SELECT COUNT(*) FROM sbtest1", schema) == 2000


@on_mariadb
def test_a_statement_that_stands_still_in_every_way_ends_the_load(
    shared: Sandbox, target: Document, schema: str
) -> None:
    plan = a_load(target, layout=a_layout(1, 2000), stall=SHORT)
    with standing_still(shared, plan, schema):
        loaded = load(plan)
    assert "User sleep" in failure_of(loaded)
    assert [each.deed for each in loaded.stalled].count("ended") >= 3
    assert "INSERT INTO" in (loaded.last.error.statement or "") if loaded.last.error else False
    wait_for(lambda: not statements_on(shared, schema))


def test_an_index_that_takes_its_time_is_not_ended(
    shared: Sandbox, target: Document, schema: str
) -> None:
    # While it sorts, no figure changes for some tenths of a second, longer than these together.
    strict = {"say_s": 1.0, "end_s": 1.0, "fail_s": 6.0}
    plan = a_load(target, layout=a_layout(1, 600_000), parallel=4)
    load(plan | {"layout": a_layout(1, 600_000, secondary_index=False)}).finished()
    watch = Stopwatch(shared.pid)
    loaded = load(plan | {"stall": strict}).finished()
    if "ended" in {each.deed for each in loaded.stalled} and watch.kept_s > strict["say_s"]:
        pytest.skip(f"not evaluated: the server waited for a core for {watch.kept_s:.1f} s")
    assert "ended" not in {each.deed for each in loaded.stalled}
    assert len(rows(shared, "SHOW INDEX FROM sbtest1", schema)) == 2


@on_mariadb
def test_a_server_that_is_gone_is_told(start: Start) -> None:
    sandbox = start({"innodb_flush_log_at_trx_commit": "1"})
    plan = a_load(local(sandbox), layout=a_layout(2, 100_000), stall=PATIENT, parallel=2)
    with Loading(plan | {"connect": connecting(retries=5, backoff_s=0.1)}) as loading:
        loading.until(lambda loaded: any(each.rows for each in loaded.progress))
        sandbox.kill()
        loading.until(told_of(opens))
        sandbox.start_again()
    assert next(filter(opens, loading.loaded.stalled)).connection is None
    assert loading.loaded.finished().last.rows == 200_000


class Told:
    def __init__(self) -> None:
        self.stalled: list[LoadStalled] = []

    def on_progress(self, progress: LoadProgress) -> None:
        pass

    def on_stalled(self, stalled: LoadStalled) -> None:
        self.stalled.append(stalled)


def begin_short(document: str) -> engine.Sending[AnyLoadRecord]:
    return engine.load(json.dumps(json.loads(document) | {"stall": SHORT}))


@on_mariadb
def test_tables_whose_load_stood_still_are_taken_up_by_the_same_prepare(
    shared: Sandbox, schema: str
) -> None:
    endpoint = shared.endpoint(over="socket")
    there = endpoint.target.model_copy(update={"database": schema})
    endpoint = endpoint.model_copy(update={"target": there})
    plan, told = LoadPlan(layout=layout_for("sbtest", 1, 2000), parallel=2, seed=42), Told()
    loader = Loader(endpoint, Consent(yes=True), told, Interrupts(), begin_short)
    prepare(plan, loader)
    execute(shared, "DELETE FROM sbtest1 WHERE id = 1000", database=schema)
    state = "SELECT state FROM loadstone_tables"
    with shared.connect() as other:
        asked(other, "BEGIN")
        asked(other, f"INSERT INTO {schema}.sbtest1 (id) VALUES (1000)")
        with pytest.raises(TargetError, match=f"held by connection {number_of(other)}") as error:
            prepare(plan, loader)
        assert (error.value.kind, one(shared, state, schema)) == ("stalled", "loading")
        asked(other, "ROLLBACK")
    assert told.stalled
    assert prepare(plan, loader).rows == 2000
    assert one(shared, state, schema) == "ready"


@on_mariadb
def test_prepare_says_within_ten_seconds_what_it_waits_for(
    shared: Sandbox, schema: str, tmp_path: Path
) -> None:
    endpoint = shared.tcp
    url = endpoint.target.model_copy(update={"database": schema}).url
    words = ("prepare", "--target", url, "--tables", "1", "--table-size", "2000", "--yes")
    password = {"LOADSTONE_PASSWORD": endpoint.credentials.reveal()}
    called(*words, folder=tmp_path, environment=os.environ | password)
    execute(shared, "DELETE FROM sbtest1 WHERE id = 1000", database=schema)
    command = [sys.executable, "-m", "loadstone.cli", *words]
    with shared.connect() as other:
        asked(other, "BEGIN")
        asked(other, f"INSERT INTO {schema}.sbtest1 (id) VALUES (1000)")
        with subprocess.Popen(
            command, env=os.environ | password, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            wait_for(lambda: any("sbtest1" in said for said in statements_on(shared, schema)))
            watch = Stopwatch(process.pid, shared.pid)
            line = next(line for line in process.stderr if "no progress" in line)
            assert watch.judged_s < 10
            asked(other, "ROLLBACK")
            process.stderr.read()
        assert process.returncode == 0
    assert f"held by connection {number_of(other)}" in line
