"""Statements that are sent at once, on a real server: what is executed, counted and given up."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from engine.between import Between
from engine.driving import (
    Document,
    Driving,
    Outcome,
    a_layout,
    a_load,
    a_plan,
    connecting,
    drive,
    events,
    load,
    seconds,
    session,
    workload,
)
from loadstone import engine
from loadstone.engine import PlanRefused
from postgres.server import Server
from postgres.test_commands import url
from postgres.test_driving import over_tcp
from postgres.test_pgbench import logged, scripted

pytestmark = [pytest.mark.server, pytest.mark.slow]

EVENTS = 30
STATEMENTS = {"oltp_read_write": 20, "oltp_read_only": 16, "oltp_write_only": 6}


class Messages:
    """Counts what the only client of a forwarder sends, by the kind of its messages."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self._rest = b""
        self._is_first = True

    def __call__(self, sent: bytes) -> None:
        self._rest += sent
        # The first message of a connection has no kind.
        while len(self._rest) >= (head := 4 if self._is_first else 5):
            size = int.from_bytes(self._rest[head - 4 : head], "big") + head - 4
            if len(self._rest) < size:
                return
            self.kinds["" if self._is_first else chr(self._rest[0])] += 1
            self._rest, self._is_first = self._rest[size:], False


def run(server: Server, database: str, **changes: Any) -> Outcome:
    plan = a_plan(over_tcp(server, database), protocol="pipelined", users=1, stop=events(EVENTS))
    return drive(plan | changes).finished()


def of_all(step: Outcome) -> tuple[int, int, int]:
    counts = step.total()
    return counts.reads, counts.writes, counts.other


def executed(log: str) -> Counter[str]:
    """The statements in a log, with their parameters."""
    found = re.findall(
        r"execute [^:]*: ((?:BEGIN|COMMIT|SELECT|UPDATE|INSERT|DELETE).*)"
        r"(?:\n.*DETAIL:  parameters: (.*))?",
        log,
    )
    return Counter(" ".join(each) for each in found)


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_server_executes_what_it_does_where_each_is_awaited(
    server: Server, database: str, name: str
) -> None:
    load(a_load(over_tcp(server, database))).finished()
    seen, counted = {}, {}
    for protocol in ("prepared", "pipelined"):
        begun = len(server.log)
        with logged(server, database):
            step = run(server, database, workload=workload(name), protocol=protocol)
        seen[protocol], counted[protocol] = executed(server.log[begun:]), of_all(step)
    assert seen["pipelined"] == seen["prepared"]
    assert sum(seen["pipelined"].values()) == EVENTS * STATEMENTS[name]
    assert counted["pipelined"] == counted["prepared"]
    assert sum(counted["pipelined"]) == EVENTS * STATEMENTS[name]


def test_an_event_is_one_round_trip_and_each_statement_is_prepared_once(
    server: Server, database: str
) -> None:
    load(a_load(over_tcp(server, database))).finished()
    sent, steps = {}, {}
    for protocol in ("prepared", "pipelined"):
        messages = Messages()
        with Between(server.port, before=messages) as between:
            plan = a_plan(
                over_tcp(server, database, port=between.port), protocol=protocol,
                workload=workload("oltp_read_write"), stop=events(EVENTS),
            )  # fmt: skip
            steps[protocol] = drive(plan).finished()
        sent[protocol] = messages.kinds
    for kind in ("E", "B", "P"):
        assert sent["pipelined"][kind] == sent["prepared"][kind], kind
    assert sent["pipelined"]["S"] == EVENTS
    assert sent["prepared"]["S"] == 20 * EVENTS + sent["prepared"]["P"]
    flights = steps["pipelined"].latency()["flight"]
    assert flights.count == EVENTS
    assert "flight" not in steps["prepared"].latency()
    # Its last statement is answered right before its end.
    assert flights.max >= steps["pipelined"].latency()["other"].max
    assert flights.max <= steps["pipelined"].latency()["service"].max


def test_what_is_refused_ends_the_flight_and_nothing_of_it_is_there(
    server: Server, database: str
) -> None:
    load(a_load(over_tcp(server, database), layout=a_layout(1, 100))).finished()
    server.asked(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no'; END $$;"
        " CREATE TRIGGER no BEFORE DELETE ON sbtest1 FOR EACH ROW EXECUTE FUNCTION no()",
        database,
    )
    content = "SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM sbtest1 t"
    before = server.asked(content, database)
    one = workload("oltp_write_only", tables=1, table_size=100)
    step = run(server, database, workload=one, on_error="continue")
    assert (step.last.tally.failed, step.errors()) == (EVENTS, {"P0001": EVENTS})
    assert (step.errors_said["P0001"].statement or "").startswith("DELETE")
    # Two updates, BEGIN and ROLLBACK: the INSERT and COMMIT behind the DELETE are skipped.
    assert of_all(step) == (0, 2 * EVENTS, 2 * EVENTS)
    assert server.asked(content, database) == before


@pytest.mark.parametrize(
    ("isolation", "code"), [("READ COMMITTED", "40P01"), ("REPEATABLE READ", "40001")]
)
def test_conflicts_restart_the_event_and_leave_whole_transactions(
    server: Server, database: str, isolation: str, code: str
) -> None:
    load(a_load(over_tcp(server, database), layout=a_layout(1, 10))).finished()
    few = workload("oltp_write_only", tables=1, table_size=10, index_updates=10)
    changes: Document = {"users": 8, "stop": events(400), "session": session(isolation=isolation)}
    step = run(server, database, workload=few, **changes)
    assert step.last.tally.succeeded == 400
    assert step.errors()[code] > 0
    assert set(step.errors()) <= {"40P01", "40001", "23505"}, step.errors()
    assert step.total().restarts == sum(step.errors().values())
    # Each event deletes a row and puts it back.
    assert server.asked("SELECT count(*) FROM sbtest1", database) == [["10"]]


def test_a_connection_that_is_lost_in_a_flight_fails_one_event(
    server: Server, database: str
) -> None:
    load(a_load(over_tcp(server, database), layout=a_layout(1, 100))).finished()
    with Between(server.port) as between:
        plan = a_plan(
            over_tcp(server, database, port=between.port), protocol="pipelined", users=4,
            workload=workload("oltp_write_only", tables=1, table_size=100), stop=seconds(3),
            connect=connecting(),
        )  # fmt: skip
        with Driving(plan) as step:
            step.until_samples(1)
            assert between.cut() == 4
    outcome = step.outcome.finished()
    counts, tally = outcome.total(), outcome.last.tally
    assert counts.reconnects == 4
    assert 0 < tally.failed <= 4
    assert outcome.samples[-1].users == 4
    assert server.asked("SELECT count(*) FROM sbtest1", database) == [["100"]]


def test_a_template_gets_the_rows_of_the_statement_that_reads_them(
    server: Server, database: str
) -> None:
    load(a_load(over_tcp(server, database), layout=a_layout(1, 1000))).finished()
    server.asked("CREATE TABLE seen (id INT, k INT); GRANT ALL ON seen TO PUBLIC", database)
    number = {"kind": "integer", "low": 1, "high": 1000, "spread": {"kind": "uniform"}}
    id_, k = {"parameter": 0}, {"parameter": 1}
    statements = [
        {"pieces": [{"text": "SELECT k FROM sbtest1 WHERE id = 1"}]},
        {"pieces": [{"text": "SELECT k FROM sbtest1 WHERE id = "}, id_], "reads": [1]},
        {"pieces": [{"text": "SELECT id FROM sbtest1 WHERE id = 2"}]},
        {"pieces": [{"text": "INSERT INTO seen VALUES ("}, id_, {"text": ", "}, k, {"text": ")"}]},
    ]
    transaction = {
        "name": "read", "weight": 1, "think_s": 0.0, "autocommit": False, "statements": statements,
        "parameters": [{"name": "id", "value": number}, {"name": "k", "value": {"kind": "read"}}],
    }  # fmt: skip
    own = {"name": "own", "template": {"transactions": [transaction]}}
    step = run(server, database, workload=own, users=4)
    assert (step.last.tally.succeeded, dict(step.errors())) == (EVENTS, {})
    assert step.latency()["flight"].count == 2 * EVENTS
    same = server.asked("SELECT count(*) FROM seen JOIN sbtest1 USING (id, k)", database)
    assert same == [[str(EVENTS)]]


def test_tpcc_is_consistent_and_takes_fewer_round_trips(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = url(server, database)
    called("prepare", "tpcc", "--target", target, "--warehouses", "1", folder=tmp_path)
    said = called(
        "run", "tpcc", "--target", target, "--concurrency", "2", "--duration", "2",
        "--warmup", "0", "--protocol", "pipelined", "--json", folder=tmp_path,
    ).stdout  # fmt: skip
    step = json.loads(said)["steps"][0]
    assert step["events"] > 0
    statements = step["reads"] + step["writes"] + step["other"]
    assert step["statements"]["flight"]["count"] < 0.7 * statements
    called("tpcc", "check", "--target", target, folder=tmp_path)


def test_a_ledger_loses_no_entry_that_was_acknowledged(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = url(server, database)
    called("prepare", "ledger", "--target", target, "--tables", "2", folder=tmp_path)
    users = f"FROM pg_stat_activity WHERE datname = '{database}' AND query ~ '^(BEGIN|INS|COMM)'"
    ended: list[int] = []

    def end_the_users() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and len(ended) < 3:
            ((rows,),) = server.asked("SELECT coalesce(max(seq), 0) FROM drill_ledger1", database)
            if int(rows) > 20 * (len(ended) + 1):
                found = server.asked(f"SELECT count(pg_terminate_backend(pid)) {users}", database)
                ended.append(int(found[0][0]))
            time.sleep(0.05)

    ending = threading.Thread(target=end_the_users)
    ending.start()
    called(
        "run", "ledger", "--timeline", "--target", target, "--concurrency", "2", "--duration", "5",
        "--warmup", "0", "--protocol", "pipelined", folder=tmp_path,
    )  # fmt: skip
    ending.join(60)
    assert sum(ended) >= 2
    called("ledger", "check", "last", "--target", target, folder=tmp_path)


@pytest.mark.parametrize(
    ("load_of", "said"),
    [
        ({"workload": scripted("SELECT 1;", in_text=False)}, "says itself what is in a pipeline"),
        (
            {"workload": None, "script": {"path": "x.lua", "command": "run"}},
            "waits for each answer",
        ),
    ],
)
def test_scripts_are_refused_before_anything_is_made(load_of: Document, said: str) -> None:
    target = {
        "family": "postgresql", "host": "127.0.0.1", "port": 1, "socket": None, "user": "u",
        "password": "", "database": "d", "server_public_key": None, "tls": {"mode": "disabled"},
    }  # fmt: skip
    plan = a_plan(target, protocol="pipelined") | load_of
    with pytest.raises(PlanRefused, match=said):
        engine.check_plan(json.dumps(plan))
