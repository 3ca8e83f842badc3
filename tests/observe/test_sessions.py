"""Where a session is, by what its server says of it and by what its thread does."""

from __future__ import annotations

import pytest

from loadstone.model.target import Endpoint, Target
from loadstone.observe.mysql.sessions import MysqlSessions, said_by
from loadstone.observe.postgresql.sessions import PostgresSessions
from loadstone.observe.sessions import Says, base_name, seat_of
from loadstone.observe.threads import Doing


@pytest.mark.parametrize(
    ("command", "state", "begins", "says"),
    [
        ("Sleep", "", "", "waits for the client"),
        ("Sleep", "Thread pool queue", "", "admission"),
        ("Query", "Sending to client", "SELECT 1", "sends"),
        ("Query", "Writing to net", "SELECT 1", "sends"),
        ("Query", "Waiting for table metadata lock", "ALTER TA", "table lock"),
        ("Query", "Waiting for global read lock", "UPDATE t", "table lock"),
        ("Query", "Waiting for backup lock", "UPDATE t", "table lock"),
        ("Query", "User lock", "SELECT G", "table lock"),
        ("Query", "User sleep", "SELECT S", "paused"),
        ("Query", "Commit", "COMMIT", "commit"),
        ("Execute", "waiting for handler commit", "UPDATE t", "commit"),
        ("Query", "Waiting for prior transaction to commit", "COMMIT", "commit"),
        ("Query", "starting", "COMMIT", "commit"),
        ("Query", "query end", "commit", "commit"),
        ("Execute", "query end", "UPDATE s", "commit"),
        ("Query", "query end", "SELECT c", "works"),
        ("Query", "updating", "UPDATE s", "works"),
        ("Query", "starting", "SELECT 1", "works"),
        ("Query", "Waiting for semi-sync ACK from replica", "COMMIT", "replica"),
        ("Query", "Updating", "UPDATE t", "works"),
        ("Execute", "", "", "works"),
    ],
)
def test_what_a_row_of_the_process_list_says(
    command: str, state: str, begins: str, says: Says
) -> None:
    assert said_by(command, state, begins) == says


@pytest.mark.parametrize(
    ("doing", "says", "row", "kind", "seat"),
    [
        (Doing("running"), "works", False, "", "running"),
        (Doing("running"), "waits for the client", False, "", "running"),
        (Doing("receiving"), "waits for the client", False, "", "client"),
        (Doing("polling"), "works", False, "", "client"),
        (Doing("polling"), "sends", False, "", "sending"),
        (Doing("sending"), "works", False, "", "sending"),
        (Doing("reading", "/d/t.ibd"), "works", False, "data", "disk read"),
        (Doing("reading", "socket:[7]"), "works", False, "data", "client"),
        (Doing("writing", "/d/t.ibd"), "works", False, "data", "disk write"),
        (Doing("syncing", "/d/ib_logfile0"), "commit", False, "log", "log sync"),
        (Doing("writing", "/d/bin.000001"), "commit", False, "binlog", "binlog sync"),
        (Doing("sleeping"), "commit", False, "", "commit delay"),
        (Doing("sleeping"), "works", False, "", "paused"),
        (Doing("futex"), "commit", False, "", "commit"),
        (Doing("futex"), "replica", False, "", "replica"),
        (Doing("futex"), "table lock", False, "", "table lock"),
        (Doing("futex"), "works", True, "", "row lock"),
        (Doing("futex"), "works", False, "", "latch"),
        (Doing("futex"), "works", None, "", None),
        (Doing("futex"), "waits for the client", False, "", None),
        (Doing("other"), "works", False, "", "other"),
        (None, "works", False, "", "in the server"),
        (None, "works", True, "", "row lock"),
        (None, "commit", False, "", "commit"),
        (None, "waits for the client", False, "", "client"),
    ],
)
def test_where_a_session_is(
    doing: Doing | None, says: Says, row: bool | None, kind: str, seat: str | None
) -> None:
    assert seat_of(doing, says, waits_for_row=row, file_kind=kind) == seat


@pytest.mark.parametrize(
    ("row", "ours", "whose"),
    [
        ((7, "app", "shop"), {7}, "ours"),
        ((2**32 + 7, "app", "shop"), {7}, "ours"),  # the greeting has 32 bits
        ((8, "app", "shop"), {7}, "other"),
        ((9, "app", ""), {7}, "administration"),
        ((2**32 + 9, "app", ""), {7}, "administration"),
        ((8, "app", ""), {7}, "other"),  # a report of the same account
        ((8, "app", ""), set(), "administration"),
        ((8, "app", "SHOP"), set(), "ours"),  # another machine drives: by account and schema
        ((8, "app", "crm"), set(), "other"),
        ((8, "crm", "shop"), set(), "other"),
    ],
)
def test_whose_a_session_is(
    row: tuple[int, str, str], ours: set[int], whose: str, a_session_list: MysqlSessions
) -> None:
    number, user, schema = row
    shown = [str(number), "4711", user, schema, "Query", "", "SELECT 1"]
    a_session_list._administration = {9}
    found = a_session_list.session(shown, ours)
    assert found is not None
    assert found.whose == whose


@pytest.mark.parametrize(
    ("row", "ours", "whose"),
    [
        ((7, 2, 1, "1"), {7}, "ours"),
        ((8, 2, 1, "0"), {7}, "other"),  # another generator of the same account
        ((8, 2, 1, "1"), {7}, "administration"),
        ((8, 2, 5, "1"), {7}, "other"),  # anybody may take that name
        ((8, 2, 1, "0"), set(), "ours"),  # another machine drives, or a pooler is between
        ((8, 2, 1, "1"), set(), "administration"),
        ((8, 3, 1, "0"), set(), "administration"),
    ],
)
def test_whose_a_session_of_postgresql_is(
    row: tuple[int, int, int, str], ours: set[int], whose: str
) -> None:
    number, database, user, is_named = row
    sessions = PostgresSessions(Endpoint(target=Target(host="h", database="shop")))
    sessions._database, sessions._user, sessions._drives = 2, 1, bool(ours)
    shown = [str(number), str(database), str(user), is_named, "0", "active", "0", "", ""]
    assert sessions.session(shown, ours).whose == whose


@pytest.mark.parametrize(("state", "since_s"), [("idle", 0.022), ("active", 0.0)])
def test_a_wait_for_the_client_is_as_old_as_the_state_alone_that_has_one(
    state: str, since_s: float
) -> None:
    """The server reads waits after states: an active session may wait for its client by then."""
    sessions = PostgresSessions(Endpoint(target=Target(host="h", database="shop")))
    shown = ["7", "2", "1", "0", "0", state, "0.022", "Client", "ClientRead"]
    found = sessions.session(shown, {7})
    assert (found.says, found.since_s) == ("waits for the client", since_s)


def test_what_a_server_keeps_in_a_file(a_session_list: MysqlSessions) -> None:
    names = ("ib_logfile0", "#ib_redo17", "bin.000042", "bin.index", "sbtest1.ibd", "ibdata1")
    kinds = [a_session_list.file_kind(name) for name in names]
    assert kinds == ["log", "log", "binlog", "binlog", "data", "data"]
    assert base_name("/var/lib/mysql/t.ibd (deleted)") == "t.ibd"


@pytest.fixture
def a_session_list() -> MysqlSessions:
    target = Target(host="h", database="shop")
    return MysqlSessions(Endpoint(target=target), _binlog="bin", _user="app")
