"""What sessions of a load set, through proxies that keep it, set it again, or lose it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from engine.servers import counters, grown
from loadstone.families import connect
from loadstone.lab.tables.inspect import look_at_server, try_session
from loadstone.lab.variables import in_effect
from loadstone.model.exit_codes import ExitCode
from loadstone.model.plan import READ_ONLY, Session
from loadstone.model.target import Endpoint
from loadstone.mysql.session import session_statements, take_snapshot
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox
from loadstone.servers.errors import GuardError, NotInEffect, TargetError
from pooled import KINDS, Pool
from proxies.multiplexing import Manner, Multiplexer

pytestmark = [pytest.mark.server, pytest.mark.slow]

Kept = Literal["tracked", "pinned", "lost"]
Before = Callable[..., AbstractContextManager[tuple[Endpoint, str]]]
MORE = 300_000
SETS = f"SET SESSION sort_buffer_size = {MORE}"
USERS = 8
DRIVEN = ("--concurrency", str(USERS), "--duration", "1s", "--warmup", "0s", "--name", "r")
CHANGED = (
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('sort_buffer_size', 'sql_mode', 'tx_isolation',"
    " 'transaction_isolation', 'tx_read_only', 'transaction_read_only', 'lock_wait_timeout')"
)
READS = """
[table.thing]
rows = 100
[table.thing.columns]
id = {{ type = "INT NOT NULL", sequence = true }}

[transaction.look]
statements = [{{ sql = "SELECT id FROM thing WHERE id = :id AND {condition}", rows = 1 }}]
parameters.id = {{ row = "thing" }}
"""


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    """Each of the pool's servers, with a schema of the test's own."""
    with pool.schema(str(request.param)) as found:
        yield found


@pytest.fixture
def person(server: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("person"), server, careful=False)


@pytest.fixture
def before(person: Person, server: Sandbox) -> Before:
    """Puts a proxy before the server; gives that as an endpoint, and as a URL."""

    @contextlib.contextmanager
    def put(
        session: Kept, keeps_locks: bool = True, most: int = Manner.most
    ) -> Iterator[tuple[Endpoint, str]]:
        manner = Manner(session=session, keeps_locks=keeps_locks, most=most)
        with contextlib.closing(Multiplexer(server.tcp, manner)) as proxy:
            target = server.tcp.target.model_copy(update={"port": proxy.port})
            endpoint = server.tcp.model_copy(update={"target": target})
            yield endpoint, person.url.replace(f":{server.port}", f":{proxy.port}")

    return put


def reads_where(person: Person, condition: str) -> str:
    """A file with tables, whose only transaction fails unless a condition holds."""
    file = Path(person.folder, "reads.toml")
    file.write_text(READS.format(condition=condition))
    person.loadstone("prepare", str(file), *person.target)
    return str(file)


def differing(endpoint: Endpoint) -> int:
    """How many kinds of sessions a proxy gives in turn to a client that has set nothing."""
    found = set()
    with connect(endpoint) as connection, connection.cursor() as cursor:
        for _ in range(USERS):
            cursor.execute(CHANGED)
            found.add(tuple(cursor.fetchall()))
    return len(found)


def isolation(person: Person) -> str:
    """The name of the variable, which is not the same everywhere."""
    ((name, _),) = person.rows("SHOW VARIABLES WHERE Variable_name IN"
        " ('tx_isolation', 'transaction_isolation')")  # fmt: skip
    return str(name)


def kinds_of_sessions(endpoint: Endpoint, name: str) -> set[str]:
    """The values of a variable in the sessions that a proxy gives in turn."""
    found = set()
    with connect(endpoint) as connection, connection.cursor() as cursor:
        for _ in range(USERS):
            cursor.execute(f"SHOW SESSION VARIABLES LIKE '{name}'")
            found |= {str(value) for _, value in cursor.fetchall()}
    return found


@pytest.mark.parametrize("kept", ["tracked", "pinned"])
def test_what_is_stated_is_in_effect_in_each_transaction_and_a_note_says_so(
    person: Person, before: Before, kept: Kept
) -> None:
    """A transaction in a session without it would have no row, and fail."""
    file = reads_where(
        person, f"@@{isolation(person)} = 'SERIALIZABLE' AND @@sort_buffer_size = {MORE}"
    )
    stated = ("--isolation", "serializable", "--init-sql", SETS)
    with before(kept) as (_, url):
        person.loadstone("run", file, *DRIVEN, *stated, "--target", url)
    (found,) = person.folder.glob("runs/r-*")
    result = run_folder.load(found)
    (step,) = result.steps
    assert step.events > USERS and step.failed == 0 and step.errors == {}
    (said,) = [str(note) for note in result.run.notes if "in effect in each of" in str(note)]
    assert said.startswith(f"--isolation serializable, --init-sql '{SETS}': ")
    assert "READ ONLY" not in said, "nobody has stated that"


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        (("--isolation", "read-committed"), "--isolation read-committed"),
        (("--init-sql", SETS), f"--init-sql '{SETS}'"),
        (("--init-sql", "SET @mine = 5"), "--init-sql 'SET @mine = 5'"),
    ],
)
def test_what_would_be_lost_is_refused_before_anything_is_made(
    person: Person, before: Before, stated: tuple[str, str], shown: str
) -> None:
    words = ("--tables", "2", "--table-size", "200")
    person.loadstone("prepare", *words, *person.target)
    with before("lost") as (endpoint, url):
        run = ("run", "oltp_read_write", "--tables", "2", *DRIVEN, "--target", url)
        refused = person.loadstone(*run, *stated, code=ExitCode.NOT_IN_EFFECT)
        error, hint = refused.stderr.splitlines()[-2:]
        assert error.startswith(f"error: {shown} would not be in effect at 127.0.0.1:")
        assert "have the proxy keep a session for each client" in hint
        assert not list(person.folder.glob("runs/*"))
        # What was tried was taken out of the session that it had come to.
        assert "may still have it" not in error
        assert differing(endpoint) == 1
        person.loadstone(*run)


def test_sessions_of_others_are_not_made_read_only(person: Person, before: Before) -> None:
    """A file that only reads is kept from writing by a statement, which others would get."""
    file = reads_where(person, "1 = 1")
    with before("lost") as (endpoint, url):
        refused = person.loadstone(
            "run", file, *DRIVEN, "--target", url, code=ExitCode.GUARD
        ).stderr
        assert "which keeps this load from changing data, would come to other clients" in refused
        assert differing(endpoint) == 1


def test_commands_that_are_refused_leave_no_limits_of_their_own(
    person: Person, before: Before
) -> None:
    with before("lost", keeps_locks=False) as (endpoint, url):
        person.loadstone("prepare", "--tables", "1", "--target", url, code=ExitCode.GUARD)
        assert differing(endpoint) == 1


def test_statements_of_a_file_are_tried_where_sessions_change(
    person: Person, before: Before
) -> None:
    """What a server has prepared to see whether it understands it is in one of its sessions."""
    file = reads_where(person, "1 = 1")
    with before("tracked") as (_, url):
        person.loadstone("run", file, *DRIVEN, "--target", url)


def test_experiments_try_it_too(person: Person, before: Before) -> None:
    words = ("--tables", "1", "--table-size", "100")
    person.loadstone("prepare", *words, *person.target)
    with before("lost") as (endpoint, url):
        file = Path(person.folder, "plan.toml")
        file.write_text(
            'duration = "1s"\nladder = [1]\nrepeats = 2\n[[workload]]\n'
            f'name = "oltp_read_only"\ntables = 1\ntable_size = 100\n[target]\nurl = "{url}"\n'
            f"[factor.sort.usual]\n[factor.sort.large]\nsession = {{ sort_buffer_size = {MORE} }}\n"
        )
        refused = person.loadstone(
            "experiment", str(file), "--yes", code=ExitCode.NOT_IN_EFFECT
        ).stderr
        assert f"SET SESSION sort_buffer_size = {MORE}" in refused
        assert differing(endpoint) == 1


def test_what_leaves_something_else_in_a_session_is_told(before: Before) -> None:
    makes = Session(init_sql=("CREATE TEMPORARY TABLE mine (a INT)",))
    with before("lost") as (endpoint, _):
        (said,) = try_session(look_at_server(endpoint), makes, 10)
    assert "it is not known whether all of them have what this statement sets" in str(said)


@pytest.mark.parametrize(
    "statement",
    ["SET SESSION sql_log_bin = 0", "SET timestamp = 5", "SET @mine = GET_LOCK('mine', 0)"],
)
def test_what_cannot_be_undone_is_not_executed_where_others_get_it(
    server: Sandbox, before: Before, statement: str
) -> None:
    """The first is refused in a transaction, so that no trial can undo it."""
    session = Session(init_sql=(statement,))
    with before("lost") as (endpoint, _):
        looked = look_at_server(endpoint)
        earlier = counters(server)
        with pytest.raises(NotInEffect, match="to other clients"):
            try_session(looked, session, 10)
        assert kinds_of_sessions(endpoint, "sql_log_bin") == {"ON"}
        assert grown(earlier, counters(server), "Com_insert") == {"Com_insert": 0}
    assert try_session(look_at_server(server.tcp), session, 10) == []


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (Session(isolation="read-committed"), NotInEffect),
        (Session(init_sql=(READ_ONLY["mysql"],)), GuardError),
    ],
)
def test_a_session_that_has_it_already_hides_nothing_of_the_others(
    before: Before, session: Session, expected: type[TargetError], turn: int
) -> None:
    """One of three; in one of three turns, what is meant is read in that one."""
    ((_, _, statement),) = session_statements(session)[1:]
    with before("lost", most=3) as (endpoint, _):
        looked = look_at_server(endpoint)
        with contextlib.ExitStack() as stack:
            three = [stack.enter_context(connect(endpoint)) for _ in range(3)]
            for each in three:
                each.begin()
            with three[0].cursor() as cursor:
                cursor.execute(statement)
            for each in three:
                each.rollback()
            with three[1].cursor() as cursor:
                for _ in range(turn):
                    cursor.execute("SELECT 1")
        with pytest.raises(expected):
            try_session(looked, session, 10)


def test_tables_are_not_filled_where_others_get_what_that_sets(
    person: Person, before: Before
) -> None:
    with before("lost") as (endpoint, url):
        said = person.loadstone("prepare", "--tables", "1", "--target", url, code=ExitCode.GUARD)
        assert "error: SET SESSION foreign_key_checks = 0 would not be in effect" in said.stderr
        assert kinds_of_sessions(endpoint, "foreign_key_checks") == {"ON"}
        assert differing(endpoint) == 1
    assert person.rows("SHOW TABLES") == []


@pytest.mark.parametrize(("level", "sets"), [("REPEATABLE READ", 0), ("SERIALIZABLE", 2)])
def test_a_snapshot_leaves_its_level_to_nobody(
    server: Sandbox, before: Before, level: str, sets: int
) -> None:
    target = server.tcp.target
    with before("lost", most=1) as (endpoint, _):
        connection: Any = connect(endpoint)
        with connection, connection.cursor() as cursor:
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            already = connection.session_settings
            take_snapshot(connection, target)
            assert len(connection.session_settings) - len(already) == sets
            connection.rollback()
            cursor.execute("SHOW SESSION VARIABLES LIKE 't%_isolation'")
            assert {value for _, value in cursor.fetchall()} == {level.replace(" ", "-")}


@pytest.mark.parametrize("level", ["REPEATABLE READ", "READ COMMITTED"])
def test_a_snapshot_sees_no_rows_that_come_later(
    server: Sandbox, person: Person, level: str
) -> None:
    person.rows("CREATE TABLE own (a INT)")
    with connect(server.tcp) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        take_snapshot(connection, server.tcp.target)
        person.rows("INSERT INTO own VALUES (1)", "COMMIT")
        cursor.execute("SELECT COUNT(*) FROM own")
        assert cursor.fetchone()[0] == 0


def test_all_sessions_that_have_it_are_found(before: Before) -> None:
    """Statements outside of transactions are executed in one after the other."""
    with before("lost") as (endpoint, _):
        looked = look_at_server(endpoint)
        with pytest.raises(NotInEffect) as refused:
            try_session(looked, Session(init_sql=(SETS, SETS, SETS)), 10)
        assert "may still have it" not in refused.value.message
        assert differing(endpoint) == 1


def test_a_value_that_servers_do_not_take_as_they_show_it_is_set_back(before: Before) -> None:
    """MariaDB shows an empty text."""
    name = "default_tmp_storage_engine"
    session = Session(init_sql=(f"SET SESSION {name} = 'MEMORY'", SETS))
    with before("lost") as (endpoint, _):
        earlier = kinds_of_sessions(endpoint, name)
        with pytest.raises(NotInEffect, match="would not be in effect") as refused:
            try_session(look_at_server(endpoint), session, 10)
        assert "may still have it" not in refused.value.message
        assert kinds_of_sessions(endpoint, name) == earlier
        assert differing(endpoint) == 1


def test_an_interrupt_leaves_nothing_in_sessions_of_others(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_on = in_effect.set_on

    def interrupted(*args: Any) -> None:
        set_on(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(in_effect, "set_on", interrupted)
    with before("lost") as (endpoint, _):
        looked = look_at_server(endpoint)
        with pytest.raises(KeyboardInterrupt):
            try_session(looked, Session(init_sql=(SETS,)), 10)
        assert differing(endpoint) == 1


def test_a_server_that_refuses_it_is_quoted_and_nothing_of_it_stays(before: Before) -> None:
    session = Session(init_sql=(SETS, "SET SESSION no_such_thing = 1"))
    with before("lost") as (endpoint, _):
        looked = look_at_server(endpoint)
        with pytest.raises(TargetError, match="no_such_thing.*1193"):
            try_session(looked, session, 10)
        assert differing(endpoint) == 1


def test_what_servers_have_anyway_holds_in_any_session(before: Before, person: Person) -> None:
    ((usual,),) = person.rows("SELECT @@sort_buffer_size")
    session = Session(init_sql=(f"SET SESSION sort_buffer_size = {usual}",))
    with before("lost") as (endpoint, _):
        (said,) = try_session(look_at_server(endpoint), session, 10)
    assert "in effect in each of" in str(said)


def test_a_direct_connection_is_one_login_and_reads_nothing_back(server: Sandbox) -> None:
    looked = look_at_server(server.tcp)
    earlier = counters(server)
    assert try_session(looked, Session(isolation="serializable", init_sql=(SETS,)), 10) == []
    more = grown(earlier, counters(server), "Com_set_option", "Com_show_variables", "Com_begin")
    # The character set is one of three, and PyMySQL sets its own at each login, this look's too.
    assert more == {"Com_set_option": 3 + 2, "Com_show_variables": 0, "Com_begin": 0}


def test_a_proxy_is_not_asked_where_nothing_is_stated(server: Sandbox, before: Before) -> None:
    with before("lost") as (endpoint, _):
        looked = look_at_server(endpoint)
        earlier = counters(server)
        assert try_session(looked, Session(), 10) == []
        assert grown(earlier, counters(server), "Com_show_variables") == {"Com_show_variables": 0}
