"""The family on a real server: logins, facts, locks, the guard of tables, and their contents."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from loadstone.families import connect, family_of
from loadstone.model.target import Credentials, Endpoint, Target, Tls, TlsMode
from loadstone.observe import presence
from loadstone.observe.locate import data_folder, find_server_process
from loadstone.observe.programs import works_alone
from loadstone.observe.samplers import samplers_of
from loadstone.postgresql import family, session
from loadstone.postgresql.databases import Databases, of
from loadstone.postgresql.errors import statement_errors
from loadstone.servers import rights
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.facts import comment_of
from loadstone.servers.guard import CleanupDecision, ListedTable
from ports import free_port
from postgres.server import PASSWORD, Server
from postgres.sessions import DEADLINE_S, alone

pytestmark = [pytest.mark.server, pytest.mark.slow]

COLUMNS = "id SERIAL PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL"
MARK = "0123456789abcdef"


def endpoint(
    server: Server, database: str, user: str = "by_scram", password: str = PASSWORD, **tls: Any
) -> Endpoint:
    target = Target(
        family="postgresql", host="127.0.0.1", port=server.port, user=user, database=database,
        tls=Tls(**tls),
    )  # fmt: skip
    return Endpoint(target=target, credentials=Credentials(password=SecretStr(password)))


def local(server: Server, database: str) -> Endpoint:
    """The superuser, over the socket."""
    socket = server.folder / f".s.PGSQL.{server.port}"
    return Endpoint(
        target=Target(family="postgresql", socket=socket, user="postgres", database=database)
    )


@pytest.fixture
def connection(server: Server, database: str) -> Iterator[Connection]:
    with connect(endpoint(server, database), database=None) as opened:
        yield opened


@pytest.mark.parametrize("user", ["by_scram", "by_md5", "by_trust"])
@pytest.mark.parametrize("mode", ["disabled", "preferred", "required", "verify-ca"])
def test_users_log_in_and_the_server_sees_what_is_encrypted(
    server: Server, user: str, mode: TlsMode
) -> None:
    ca = server.authority if mode == "verify-ca" else None
    one = endpoint(server, "postgres", user, mode=mode, ca=ca)
    with connect(one) as connection:
        facts = family_of(one.target).describe_server(connection, one.target)
        with connection.cursor() as cursor:
            cursor.execute("SHOW jit")
            assert list(cursor.fetchall()) == [("off",)]
    assert facts.encrypted == (mode != "disabled")
    assert facts.flavour == "postgresql"
    assert facts.comment == "PostgreSQL"
    assert facts.max_connections == 20
    assert facts.connected is not None
    assert facts.connected >= 1
    assert not (facts.is_passed_on or facts.is_readdressed or facts.read_only)
    assert facts.variables["fsync"] == "off"
    # What we have set for our own session is not the server's.
    assert facts.variables["statement_timeout"] == "0"
    assert facts.variables["jit"] == "on"


def test_a_password_in_clear_goes_only_to_a_server_that_is_proven(server: Server) -> None:
    for tls, kind in ((Tls(mode="required"), "password_withheld"), (Tls(mode="disabled"), None)):
        one = endpoint(server, "postgres", "by_password", mode=tls.mode)
        with pytest.raises(TargetError) as caught:
            connect(one)
        assert caught.value.kind == (kind or "password_withheld")
    proven = endpoint(server, "postgres", "by_password", mode="verify-ca", ca=server.authority)
    connect(proven).close()


@pytest.mark.parametrize(
    ("changes", "kind", "code"),
    [
        ({"password": "wrong"}, "login_refused", "28P01"),
        ({"user": "only_tls", "mode": "disabled"}, "login_refused", "28000"),
        ({"database": "no such"}, "unknown_database", "3D000"),
    ],
)
def test_a_refused_login_is_told_with_its_code(
    server: Server, changes: dict[str, Any], kind: str, code: str
) -> None:
    with pytest.raises(TargetError) as caught:
        connect(endpoint(server, **({"database": "postgres"} | changes)))
    assert caught.value.kind == kind
    assert caught.value.code == ("postgresql", code)
    assert PASSWORD not in f"{caught.value.message} {caught.value.hint}"


def test_identity_is_that_of_the_data_and_of_the_start(server: Server, database: str) -> None:
    one = local(server, database)
    with connect(one) as first, connect(local(server, "postgres")) as second:
        variables = family.variables_of(first, one.target)
        known = family.identity_of(variables, family.times_of(first, one.target))
        assert family.server_of(first, one.target) == family.server_of(second, one.target)
    assert (
        known.server_id == server.asked("SELECT system_identifier FROM pg_control_system()")[0][0]
    )
    assert known.started_s is not None
    assert known.seen_s is not None
    assert known.started_s <= known.seen_s
    assert family.data_folder(variables) == str(server.folder / "data")


def test_a_lock_is_held_whatever_the_database_and_its_holder_is_named(
    server: Server, database: str, connection: Connection
) -> None:
    target = endpoint(server, database).target
    with connect(endpoint(server, "postgres")) as other:
        assert family.locks.take(other, target, "loadstone.test") is None
        held = family.locks.take(connection, target, "loadstone.test", wait_s=0)
        assert held is not None
        assert (held.user, held.connection) == ("by_scram", family.number_of(other))
        assert family.locks.is_ours(other, target, "loadstone.test")
        assert not family.locks.is_ours(connection, target, "loadstone.test")
        family.locks.give_back(other, "loadstone.test")
        assert family.locks.take(connection, target, "loadstone.test", wait_s=0) is None
    family.locks.give_back(connection, "loadstone.test")
    assert family.locks.number_of_holder(connection, target, "loadstone.test") is None


def test_one_program_makes_tables_at_a_time(
    server: Server, database: str, connection: Connection
) -> None:
    target = endpoint(server, database).target
    with (
        connect(endpoint(server, database)) as other,
        presence.alone(connection, target, database),
    ):
        (found,) = presence.at_work(other, target, database)
        assert found.does == "make tables"


def made(server: Server, database: str, name: str = "sbtest1", mark: str = MARK) -> None:
    """A table as the engine makes one, with its mark."""
    comment = f"COMMENT ON TABLE {name} IS '{comment_of(mark)}'"
    server.asked(f"SET ROLE by_scram; CREATE TABLE {name} ({COLUMNS}); {comment}", database)


def listed(connection: Connection, target: Target, database: str) -> None:
    line = ListedTable(
        name="sbtest1", layout="sbtest", rows=0, seed=7, state="loading", columns_hash=MARK
    )
    family.list_tables(connection, target, database, [line])


def test_a_table_is_ours_by_its_mark_until_somebody_recreates_it(
    server: Server, database: str, connection: Connection
) -> None:
    target = endpoint(server, database).target
    listed(connection, target, database)
    made(server, database)
    family.mark_ready(connection, target, database, ["sbtest1"])
    server.asked("CREATE TABLE mine (a INT); CREATE VIEW seen AS SELECT * FROM mine", database)
    state = family.read_schema(connection, target, database)
    assert (state.of("ours"), state.of("foreign")) == (("sbtest1",), ("mine", "seen"))
    assert state.listed[0].state == "ready"
    server.asked("DROP TABLE sbtest1", database)
    server.asked(f"CREATE TABLE sbtest1 ({COLUMNS})", database)
    state = family.read_schema(connection, target, database)
    assert state.of("ours") == ()
    assert state.of("sysbench") == ("sbtest1",)


def test_a_table_that_changed_since_it_was_looked_at_is_not_dropped(
    server: Server, database: str, connection: Connection
) -> None:
    target = endpoint(server, database).target
    listed(connection, target, database)
    made(server, database)
    state = family.read_schema(connection, target, database)
    server.asked("ALTER TABLE sbtest1 ADD more INT", database)
    decision = CleanupDecision(drops=("sbtest1",), leaves=())
    with pytest.raises(GuardError, match="sbtest1"):
        family.drop_tables(connection, target, state, decision)
    server.asked("ALTER TABLE sbtest1 DROP more", database)
    family.drop_tables(connection, target, state, decision)
    state = family.read_schema(connection, target, database)
    assert state.tables == (), "the empty list goes with its last table"


def test_a_database_is_made_and_dropped_from_another(server: Server) -> None:
    one = local(server, "made by test")
    with connect(one, database=None) as connection:
        assert not family.read_schema(connection, one.target, "made by test").exists
        family.create_schema(connection, one.target, "made by test")
        family.use_schema(connection, "made by test")
        assert family.read_schema(connection, one.target, "made by test").exists
        family.drop_schema(connection, one.target, "made by test")
        assert not family.read_schema(connection, one.target, "made by test").exists


def asked_of(waiting: Connection) -> Any:
    """The process and the statement that waits, once there is one."""
    until = time.monotonic() + DEADLINE_S
    while (asked := getattr(waiting, "asked", None)) is None and time.monotonic() < until:
        time.sleep(0.01)
    return asked


def test_a_statement_that_waits_is_shown_and_waits_within_its_limit(
    server: Server, database: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LONGEST_LOCK_WAIT_S", 1)
    one = endpoint(server, database)
    made(server, database)
    with connect(one, database="postgres") as waiting:
        family.bound_lock_waits(waiting)
        family.use_schema(waiting, database)
        with connection.cursor() as cursor:
            cursor.execute("BEGIN; LOCK TABLE sbtest1 IN ACCESS EXCLUSIVE MODE")
        seen: list[Any] = []
        looking = threading.Thread(target=lambda: seen.append(asked_of(waiting)))
        looking.start()
        with pytest.raises(TargetError, match="55P03"), family.statement_errors(one.target):
            waiting.cursor().execute("SELECT count(*) FROM sbtest1")
        looking.join()
    assert seen[0][1] == "SELECT count(*) FROM sbtest1"


def test_rows_are_counted_within_their_time(
    server: Server, database: str, connection: Connection
) -> None:
    target = endpoint(server, database).target
    made(server, database)
    rows = "SELECT n, n, '', '' FROM generate_series(1, 300000) AS n"
    server.asked(f"INSERT INTO sbtest1 {rows}", database)
    family.use_schema(connection, database)
    assert family.count_rows(connection, target, "sbtest1", 30) == family_rows(300_000, exact=True)
    late = family.count_rows(connection, target, "sbtest1", 0.001)
    assert late == family_rows(300_000, exact=False)
    assert family.indexed_on(connection, target, database, "k") == frozenset()
    server.asked("CREATE INDEX k_1 ON sbtest1 (k, id)", database)
    assert family.indexed_on(connection, target, database, "k") == {"sbtest1"}


def family_rows(rows: int, *, exact: bool) -> Any:
    from loadstone.servers.facts import RowCount

    return RowCount(rows=rows, exact=exact)


def test_a_statement_is_examined_without_being_executed(
    server: Server, database: str, connection: Connection
) -> None:
    made(server, database)
    family.use_schema(connection, database)

    def kind(sql: str) -> str | None:
        refusal = family.refusal_of(connection, sql)
        return None if refusal is None else refusal.kind

    assert kind("INSERT INTO sbtest1 (k) VALUES ($1)") is None
    assert kind("SELEC 1") == "grammar"
    assert kind("SELECT * FROM missing") == "no_such_table"
    assert kind("SELECT missing FROM sbtest1") == "no_such_name"
    assert kind("SELECT missing(1)") == "no_such_name"
    assert server.asked("SELECT count(*) FROM sbtest1", database) == [["0"]]
    assert family.refusal_of_column(connection, "a", "VARCHAR(10)") is None
    refused = family.refusal_of_column(connection, "a", "NOTHING")
    assert refused is not None
    assert refused.kind == "no_such_type"
    (access,) = family.explained(connection, "SELECT * FROM sbtest1 WHERE id = 1")
    assert (access.table, access.key) == ("sbtest1", "sbtest1_pkey")
    assert family.explained(connection, "SELECT pad FROM sbtest1")[0].how == "ALL"


def test_settings_are_read_with_their_units(
    server: Server, database: str, connection: Connection
) -> None:
    target = endpoint(server, database).target
    names = ("max_connections", "fsync", "random_page_cost", "work_mem", "datestyle")
    found = family.read_variables(connection, target, names)
    expected = ("20", "off", "4", "4MB", "ISO, MDY")
    assert found == dict(zip(names, expected, strict=True))
    known = family.known_variables(connection, target)
    assert (known["max_connections"], known["work_mem"]) == (False, True)


@pytest.mark.parametrize("over", ["socket", "tcp"])
def test_a_copy_whose_session_is_ended_says_what_the_server_said(
    server: Server, database: str, over: str
) -> None:
    server.asked("CREATE TABLE filled (t TEXT)", database)
    one = local(server, database) if over == "socket" else endpoint(server, database)
    server.asked("GRANT INSERT ON filled TO by_scram", database)

    def pieces() -> Iterator[bytes]:
        for number in range(1000):
            yield b"a row of text\n" * 10_000
            if number == 10:
                server.asked(f"SELECT pg_terminate_backend({at.number})")

    with connect(one, database=None) as connection:
        at = of(connection).current
        with (
            pytest.raises(TargetError, match="57P01 terminating connection"),
            statement_errors(one.target),
        ):
            at.copy("COPY filled FROM STDIN", pieces())


def test_a_user_may_have_what_is_left_of_the_server_s_the_role_s_and_the_database_s_connections(
    server: Server, database: str, connection: Connection
) -> None:
    def left() -> int:
        return family.free_connections(connection, endpoint(server, database).target)

    alone(connection)
    of_the_server = left()
    others = [connect(endpoint(server, database), database=None) for _ in range(3)]
    assert left() == of_the_server - 3
    with connect(local(server, database), database=None) as superuser:
        by_superuser = family.free_connections(superuser, local(server, database).target)
    reserved, its_own = 3, 1
    assert by_superuser == of_the_server - len(others) - its_own + reserved
    server.asked("ALTER ROLE by_scram CONNECTION LIMIT 6")
    server.asked(f"ALTER DATABASE {database} CONNECTION LIMIT 5")
    try:
        # The connection that asks is to the same database.
        assert left() == 5 - 3
        server.asked(f"ALTER DATABASE {database} CONNECTION LIMIT -1")
        assert left() == 6 - 3
    finally:
        server.asked("ALTER ROLE by_scram CONNECTION LIMIT -1")
        for one in others:
            one.close()


def test_its_process_and_the_folder_of_its_data_are_found_by_any_user(
    server: Server, database: str
) -> None:
    one = endpoint(server, database)
    with connect(one) as connection:
        facts = family.describe_server(connection, one.target)
    found = find_server_process(one.target, facts.variables, facts.started_s)
    pid = int((server.folder / "data/postmaster.pid").read_text().split()[0])
    assert found is not None
    assert found.pid == pid
    assert not works_alone("postgres")
    # This user may not see the setting.
    assert family.data_folder(facts.variables) is None
    folder = data_folder(one.target, facts.variables, pid)
    assert folder == str(server.folder / "data")


def test_a_server_behind_a_pooler_is_known_by_its_data_and_its_start(
    server: Server, database: str
) -> None:
    one = endpoint(server, database)
    with connect(one) as connection:
        facts = family.describe_server(connection, one.target)
    pid = int((server.folder / "data/postmaster.pid").read_text().split()[0])
    assert facts.started_s is not None
    # Where a pooler listens, or nothing at all.
    elsewhere = one.target.model_copy(update={"port": free_port()})
    found = find_server_process(elsewhere, facts.variables, facts.started_s)
    assert found is not None
    assert found.pid == pid
    known = facts.variables["system_identifier"]
    for identifier, started_s in (
        (str(int(known) + 1), facts.started_s),
        ("", facts.started_s),
        (known, facts.started_s - 60),
        (known, None),
    ):
        others = {**facts.variables, "system_identifier": identifier}
        assert find_server_process(elsewhere, others, started_s) is None


def test_other_clients_are_seen_and_those_of_this_user_are_not(
    server: Server, database: str, connection: Connection
) -> None:
    target = endpoint(server, database).target
    samplers = samplers_of(target)
    alone(connection)
    assert not samplers.other_clients(connection, target, between_s=0)
    with connect(endpoint(server, database, "by_md5")), connect(local(server, database)) as all_of:
        hidden = samplers.other_clients(connection, target, between_s=0)
        assert (hidden.hidden, hidden.right) == (2, "GRANT pg_read_all_stats")
        shown = samplers.other_clients(all_of, target, between_s=0)
        assert {(one.user, one.host) for one in shown.accounts} == {
            ("by_scram", "127.0.0.1"), ("by_md5", "127.0.0.1"),
        }  # fmt: skip


def test_rights_of_a_user_are_found_and_what_would_grant_them_does(
    server: Server, database: str, connection: Connection
) -> None:
    server.asked("REVOKE ALL ON SCHEMA public FROM PUBLIC", database)
    server.asked("GRANT USAGE ON SCHEMA public TO PUBLIC", database)
    at = endpoint(server, database)
    found = family.rights_of(connection, at.target)
    assert (found.account, found.schema, found.sees_sessions) == ("by_scram", database, False)
    assert [one.what for one in found.rights if one.is_given] == [rights.CHECK]
    try:
        for statement in {each for one in found.rights for each in one.missing}:
            server.asked(statement, database)
        with connect(at, database=None) as later:
            granted = family.rights_of(later, at.target)
        assert granted.sees_sessions
        assert [one.what for one in granted.rights if not one.is_given] == []
    finally:
        server.asked("ALTER ROLE by_scram NOSUPERUSER; REVOKE pg_monitor FROM by_scram", database)
        server.asked("REVOKE ALL ON SCHEMA public FROM by_scram", database)


def test_a_database_that_is_not_there_takes_the_right_to_make_it(
    server: Server, database: str
) -> None:
    target = endpoint(server, "not_there").target
    with connect(endpoint(server, database), database=None) as opened:
        found = family.rights_of(opened, target)
    prepare = next(one for one in found.rights if one.what == rights.PREPARE)
    assert prepare.missing == ('ALTER ROLE "by_scram" CREATEDB',)


def test_entries_of_the_ledger_are_found_as_they_are(
    server: Server, database: str, connection: Connection
) -> None:
    columns = "id BIGSERIAL, book BIGINT, user_no INT, seq BIGINT, amount INT"
    amount = "mod(1 * 31 + n * 17, 1000) + 1"
    server.asked(
        f"SET ROLE by_scram; CREATE TABLE drill_ledger1 ({columns});"
        f" INSERT INTO drill_ledger1 (book, user_no, seq, amount)"
        f" SELECT 5, 1, n, {amount} FROM generate_series(2, 9) AS n WHERE n <> 4;"
        f" INSERT INTO drill_ledger1 (book, user_no, seq, amount) SELECT 5, 1, 9, {amount}"
        " FROM generate_series(9, 9) AS n;"
        " UPDATE drill_ledger1 SET amount = amount + 1 WHERE seq = 6",
        database,
    )
    family.use_schema(connection, database)
    entries = family.ledger_entries(connection, endpoint(server, database).target, 5, 10)
    found = entries.of_users("drill_ledger1")[1]
    assert (found.rows, found.entries, found.greatest, found.altered) == (8, 7, 9, 1)
    assert list(entries.gaps("drill_ledger1", 1, 12)) == [(1, 1), (4, 4), (10, 12)]
    assert list(entries.twice("drill_ledger1", 1)) == [9]
    assert list(entries.altered("drill_ledger1", 1)) == [6]
    assert list(entries.beyond("drill_ledger1", 1, 8)) == [9]
    assert entries.count_beyond("drill_ledger1", 1, 7) == 2
    assert entries.present("drill_ledger1", 1, [3, 4, 5]) == [3, 5]


def test_gaps_are_found_by_reading_each_entry_a_few_times(
    server: Server, database: str, connection: Connection
) -> None:
    entries = 3000
    server.asked(
        "SET ROLE by_scram; CREATE TABLE drill_ledger1 (book BIGINT, user_no INT, seq BIGINT);"
        f" INSERT INTO drill_ledger1 SELECT 5, 1, n FROM generate_series(1, {entries}) AS n"
        " WHERE n <> 100",
        database,
    )
    family.use_schema(connection, database)
    asking = family.ledger_entries(connection, endpoint(server, database).target, 5, 10)
    assert list(asking.gaps("drill_ledger1", 1, entries)) == [(100, 100)]
    with connection.cursor() as cursor:
        for statement in ("SELECT pg_stat_force_next_flush()", "SELECT 1"):
            cursor.execute(statement)
    ((read,),) = server.asked(
        "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'drill_ledger1'", database
    )
    assert 0 < int(read) < 10 * entries


def test_a_connection_is_to_any_database_where_the_target_has_none(server: Server) -> None:
    one = endpoint(server, "not yet")
    with connect(one, database=None) as connection:
        assert isinstance(connection, Databases)
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            assert cursor.fetchone() == ("postgres",)
    server.asked("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
    try:
        with connect(one, database=None) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            assert cursor.fetchone() == ("template1",)
        server.asked("REVOKE CONNECT ON DATABASE template1 FROM PUBLIC", "template1")
        with pytest.raises(TargetError, match="no database 'not yet'"):
            connect(one, database=None)
    finally:
        server.asked("GRANT CONNECT ON DATABASE postgres, template1 TO PUBLIC")
