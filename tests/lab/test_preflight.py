"""What is refused before any load, on made-up servers."""

from __future__ import annotations

import resource

import pymysql
import pytest

from loadstone.lab.tables.discover import Data, Wanted, numbered_tables, table_name
from loadstone.lab.tables.inspect import (
    InspectedTarget,
    check,
    check_connections,
    check_descriptors,
    common_data,
    server_environment,
    try_session,
)
from loadstone.model.plan import Drive, Session, WorkloadSpec
from loadstone.model.target import Endpoint, Target
from loadstone.mysql.facts import facts_of
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import TableFacts
from recorded import a_plan

SBTEST = (("id", "int"), ("k", "int"), ("c", "char(120)"), ("pad", "char(60)"))


def looked(connected: int = 1, tables: int = 2, **variables: str) -> InspectedTarget:
    known = {"version": "10.11.0-MariaDB", "max_connections": "151"} | variables
    facts = facts_of(known, {"Threads_connected": str(connected)})
    endpoint = Endpoint(target=Target(host="db1", user="bench", database="sbtest"))
    return InspectedTarget(endpoint=endpoint, facts=facts, data=Data(tables=tables, table_size=100))


def test_a_ladder_that_fits_is_fine() -> None:
    assert check(a_plan(ladder=(1, 151)), [looked()], writes=True) == []


def test_too_few_connections_say_how_many_there_are_and_are_needed() -> None:
    with pytest.raises(TargetError) as refused:
        check(a_plan(ladder=(1, 150)), [looked(connected=4)], writes=True)
    assert refused.value.message == (
        "150 users do not fit: db1:3306 has max_connections 151, 3 of them in use"
    )
    assert refused.value.hint == "SET GLOBAL max_connections = 163; or a lower --concurrency"


def test_users_are_spread_over_the_targets() -> None:
    assert check(a_plan(ladder=(300,)), [looked(), looked()], writes=True) == []
    with pytest.raises(TargetError, match="152 users do not fit"):
        check(a_plan(ladder=(303,)), [looked(), looked()], writes=True)


def test_a_replica_is_not_written_to() -> None:
    replica = looked(read_only="ON")
    assert check(a_plan(ladder=(1,)), [replica], writes=False) == []
    with pytest.raises(TargetError, match="db1:3306 is read-only, and oltp_read_write writes"):
        check(a_plan(ladder=(1,)), [replica], writes=True)


def test_the_arithmetic_of_prepared_statements_is_told() -> None:
    workload = WorkloadSpec(name="oltp_read_write", tables=10, table_size=100)
    plan = a_plan(ladder=(200,), workload=workload)
    server = looked(max_connections="1000", max_prepared_stmt_count="16382")
    (note,) = check(plan, [server], writes=True)
    assert "18,000 prepared statements (9 × 10 tables × 200 users)" in note
    assert check(a_plan(ladder=(200,), drive=Drive(protocol="text")), [server], writes=True) == []


def test_file_descriptors_are_raised_as_far_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda which, to: limits.append(to))
    check_descriptors(100)
    check_descriptors(2000)
    assert limits == [(2512, 4096)]
    with pytest.raises(
        TargetError, match="8,000 connections need 8,512 file descriptors"
    ) as refused:
        check_descriptors(8000)
    assert refused.value.hint is not None
    assert "ulimit -n 8512" in refused.value.hint


def test_targets_that_differ_are_used_as_far_as_they_are_alike() -> None:
    both = common_data([looked(tables=4), looked(tables=2)])
    assert (both.tables, both.table_size) == (2, 100)
    assert both.notes == (
        "the targets differ in tables or rows; the smallest numbers of all are used",
    )


def test_variables_that_hold_a_secret_are_blanked() -> None:
    conninfo = "host=db1 password=secret"
    server = looked(
        wsrep_sst_auth="root:secret", report_password="x", old_passwords="0",
        primary_conninfo=conninfo,
    )  # fmt: skip
    (found,) = server_environment([server])
    assert found["variables"]["wsrep_sst_auth"] == "***"
    assert found["variables"]["primary_conninfo"] == "***"
    assert found["variables"]["report_password"] == "***"
    assert found["variables"]["old_passwords"] == "0"
    assert found["variables"]["max_connections"] == "151"


def test_tables_count_up_to_the_first_gap() -> None:
    tables = [
        TableFacts(name=name, engine="InnoDB", columns=columns)
        for name, columns in [
            ("sbtest1", SBTEST),
            ("sbtest2", SBTEST),
            ("sbtest4", SBTEST),
            ("sbtest3", (("id", "int"), ("k", "int"))),
            ("customers", SBTEST),
        ]
    ]
    assert [table.name for table in numbered_tables(tables, "sbtest")] == ["sbtest1", "sbtest2"]


def test_names_are_those_of_the_layout() -> None:
    assert table_name("sbtest", 3) == "sbtest3"
    assert table_name("hot", 1) == "hot_row1"
    assert Wanted(workload="hot_row", layout="hot").users == 1


class Refusing:
    """A connection that is its own cursor, to a server that refuses some statements."""

    def __init__(self, refused: str) -> None:
        self.refused = refused
        self.heard: list[str] = []

    def __enter__(self) -> Refusing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def cursor(self) -> Refusing:
        return self

    def execute(self, statement: str) -> None:
        self.heard.append(statement)
        if self.refused in statement:
            raise pymysql.ProgrammingError(1064, "mind the syntax")


@pytest.mark.parametrize(
    ("refused", "begins"),
    [
        ("NAMES", "--charset nosuch: db1:3306 refused a statement: 1064 mind the syntax"),
        ("ISOLATION", "--isolation read-committed: db1:3306 refused"),
        ("SELEC ", "--init-sql 'SELEC 1': db1:3306 refused"),
    ],
)
def test_a_session_that_the_server_refuses_is_told_by_its_option(
    refused: str, begins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Refusing(refused)
    monkeypatch.setattr("loadstone.lab.tables.inspect.connect", lambda *_: server)
    session = Session(init_sql=("SELEC 1",), isolation="read-committed", charset="nosuch")
    plan = a_plan(ladder=(1,), drive=Drive(session=session))
    there = looked().model_copy(update={"connect_s": 1.0})
    with pytest.raises(TargetError) as told:
        check(plan, [there], writes=True)
    assert told.value.message.startswith(begins)


def test_a_session_is_tried_as_the_engine_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Refusing("nothing")
    monkeypatch.setattr("loadstone.lab.tables.inspect.connect", lambda *_: server)
    session = Session(init_sql=("SET @a = 1",), isolation="read-committed", charset="latin1")
    assert try_session(looked(), session, 1.0) == []
    assert server.heard == [
        "SET NAMES 'latin1'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET @a = 1",
    ]


def test_one_user_is_not_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (8, 8))
    with pytest.raises(TargetError, match="^1 connection needs 513 file descriptors"):
        check_descriptors(1)
    with pytest.raises(TargetError, match="^1 user does not fit: .* 0, 1 of them in use"):
        check_connections(looked(connected=2, max_connections="0"), 1)
