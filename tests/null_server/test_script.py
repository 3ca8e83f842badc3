"""Scripts, judged by the server's own stamps and by a client that waits."""

from __future__ import annotations

import socket
import time

import pymysql
import pytest

from kept import waits
from null_server.conftest import Starter
from null_server.running import quantile

pytestmark = pytest.mark.timeout(600)  # the program may have to be built first

ANSWERS = 300
POINT = "SELECT c FROM sbtest1 WHERE id=1"


@pytest.mark.timing
def test_answers_leave_tens_of_microseconds_after_they_are_due(start: Starter) -> None:
    server = start({"service": {"kind": "constant", "us": 700}})
    before = sum(waits(server.process.pid).values())
    with server.connect() as session, session.cursor() as cursor:
        for _ in range(ANSWERS):
            cursor.execute(POINT)
    kept_s = sum(waits(server.process.pid).values()) - before
    stamps = server.stamps("query")
    assert len(stamps) == ANSWERS
    assert {stamp.due_ns - stamp.received_ns for stamp in stamps} == {700_000}
    late = [stamp.sent_ns - stamp.due_ns for stamp in stamps]
    assert min(late) >= 0
    # At least every second answer, unless the server waited for a core, which may affect any of
    # them. A timer of milliseconds would be late by 300 µs each time.
    assert quantile(late, 0.5) < 100_000 + 2e9 * kept_s / ANSWERS, sorted(late)[::30]
    assert quantile(late, 0.1) < 100_000, sorted(late)[::30]


def test_only_load_is_kept_waiting(start: Starter) -> None:
    server = start({"service": {"kind": "constant", "us": 200_000}})
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        cursor.execute("SELECT VERSION()")
        cursor.execute(POINT)
    stamps = server.stamps("query", "administration")
    assert [stamp.due_ns > stamp.received_ns for stamp in stamps][-1]
    assert not any(s.due_ns > s.received_ns for s in stamps if s.kind == "administration")


def test_a_stall_holds_back_everything(start: Starter) -> None:
    server = start({"stalls": [{"at_s": 0.2, "for_s": 1.0}], "origin": "statement"})
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute(POINT)
        time.sleep(0.3)
        before = time.monotonic()
        server.ask("SELECT 1")  # a login too
        waited = time.monotonic() - before
        cursor.execute(POINT)
    # Nine tenths of a second, unless this process slept longer.
    assert waited > 0.3
    first, last = server.stamps("query")
    assert last.received_ns - first.received_ns > 1.19e9 and last.took_ns < 0.5e9


def test_answers_come_in_pieces_and_at_the_lines_speed(start: Starter) -> None:
    server = start({"pieces": {"bytes": 10, "every_us": 1000, "login": False}})
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute(POINT)
        ((c,),) = cursor.fetchall()
        assert len(c) == 119
    (stamp,) = server.stamps("query")
    # 181 bytes are 19 pieces, the first of them at once.
    assert 17e6 < stamp.took_ns < 2e9


def test_a_login_may_be_split_at_every_byte(start: Starter) -> None:
    server = start({"pieces": {"bytes": 1, "login": True}})
    assert len(server.ask(POINT)) == 1
    assert len(server.ask("SHOW GLOBAL VARIABLES")) > 10


def test_a_connection_is_dropped_behind_its_third_answer(start: Starter) -> None:
    server = start({"drops": [{"kind": "after", "answers": 3}]})
    session = server.connect()
    with session.cursor() as cursor:
        for _ in range(3):
            assert cursor.execute(POINT) == 1
        with pytest.raises(pymysql.err.OperationalError, match="2013|2006"):
            cursor.execute(POINT)
    assert server.status()["dropped"] == 1


def test_connections_are_dropped_at_a_time(start: Starter) -> None:
    server = start({"drops": [{"kind": "at", "at_s": 0.1, "connections": {"ids": [1]}}]})
    with server.connect() as first, server.connect() as second:
        for session in (first, second):
            with session.cursor() as cursor:
                cursor.execute(POINT)
        time.sleep(0.3)
        second.ping(reconnect=False)
        with pytest.raises(pymysql.err.OperationalError):
            first.ping(reconnect=False)


def test_every_third_statement_fails(start: Starter) -> None:
    error = {"errno": 1213, "sql_state": "40001", "message": "Deadlock found", "every": 3}
    server = start({"errors": [error]})
    failed = []
    with server.connect() as session, session.cursor() as cursor:
        for number in range(1, 10):
            try:
                cursor.execute(POINT)
            except pymysql.err.OperationalError as refused:
                assert refused.args == (1213, "Deadlock found")
                failed.append(number)
    assert failed == [3, 6, 9]
    assert server.status()["errors"] == 3
    assert [stamp.errno for stamp in server.stamps("query")].count(1213) == 3


def test_the_first_connects_are_refused(start: Starter) -> None:
    server = start({"refuse": [{"kind": "first", "connects": 2}]})
    for _ in range(2):
        with pytest.raises(pymysql.err.OperationalError, match="1040"):
            server.connect()
    server.connect().close()
    assert server.status()["refused"] == 2


def test_connects_are_taken_slowly(start: Starter) -> None:
    server = start({"accept": {"every_us": 50_000}})
    before = time.monotonic()
    sessions = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    for session in sessions:
        assert session.recv(1)
        session.close()
    assert 0.2 <= time.monotonic() - before < 20


def test_a_script_can_be_changed_over_the_protocol(start: Starter) -> None:
    server = start()
    server.ask('SET NULL SCRIPT {"service": {"kind": "constant", "us": 50000}}')
    before = time.monotonic()
    server.ask(POINT)
    assert time.monotonic() - before >= 0.05
    with pytest.raises(pymysql.err.OperationalError, match="unknown field `x`"):
        server.ask('SET NULL SCRIPT {"x": 1}')
