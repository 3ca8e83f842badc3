"""Runs that are ended, or held back, before they do harm: real servers, real other clients."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pymysql
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import PATIENCE_S, Person, wait_until
from loadstone.families import connect
from loadstone.lab.protection.protector import FALLS_BEHIND, NEARLY_FULL
from loadstone.runs import run_folder
from loadstone.runs.rebuild import read_log
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from loadstone.servers.connection import Connection
from pooled import KINDS_IN_TURN, QUICK, Pool, need

pytestmark = [pytest.mark.server, pytest.mark.slow]

SIZES = ("--tables", "1", "--table-size", "1000")
RUN = ("run", "oltp_point_select", "--warmup", "0s", "--shards", "1")
ENDLESS = (*RUN, "--duration", "600s", "--think-time", "5ms")
"""Until something ends it; other tests share the machine, and none of these needs a heavy load."""
USERS = 12


@pytest.fixture(scope="module", params=KINDS_IN_TURN)
def somebody(
    request: pytest.FixtureRequest, pool: Pool, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Person]:
    """A user with tables on a server that Loadstone has not started."""
    with pool.schema(request.param) as server:
        person = Person(tmp_path_factory.mktemp("person"), server)
        person.loadstone("prepare", *person.target, *SIZES)
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER IF NOT EXISTS neighbour@'%' IDENTIFIED BY 'hush'")
            cursor.execute("GRANT SELECT ON *.* TO neighbour@'%'")
        try:
            yield person
        finally:
            with server.connect() as connection, connection.cursor() as cursor:
                cursor.execute("DROP USER neighbour@'%'")


@pytest.fixture
def person(somebody: Person, tmp_path: Path) -> Person:
    """The same user, with runs of each test's own."""
    return Person(tmp_path, somebody.server)


class Neighbours:
    """Other clients, which execute one statement after the other."""

    def __init__(self, server: Sandbox, number: int, statement: str) -> None:
        self.statement = statement
        self.done = 0
        self._over = threading.Event()
        self._connections = [self._opened(server) for _ in range(number)]
        self._threads = [
            threading.Thread(target=self._go_on, args=(one,), daemon=True)
            for one in self._connections
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _opened(server: Sandbox) -> pymysql.Connection[pymysql.cursors.Cursor]:
        return pymysql.connect(
            host="127.0.0.1", port=server.port, user="neighbour", password="hush"
        )

    def _go_on(self, connection: pymysql.Connection[pymysql.cursors.Cursor]) -> None:
        with suppress(pymysql.MySQLError, OSError, ValueError, AttributeError):
            while not self._over.is_set():
                with connection.cursor() as cursor:
                    cursor.execute(self.statement)
                self.done += 1

    def end(self, server: Sandbox) -> None:
        self._over.set()
        with server.connect() as admin, admin.cursor() as cursor:
            for one in self._connections:
                with suppress(pymysql.MySQLError):
                    cursor.execute(f"KILL {one.thread_id()}")  # type: ignore[no-untyped-call]
        for thread in self._threads:
            thread.join(PATIENCE_S)


@contextmanager
def neighbours(person: Person, number: int, statement: str) -> Iterator[Neighbours]:
    assert person.server is not None
    found = Neighbours(person.server, number, statement)
    try:
        yield found
    finally:
        found.end(person.server)


def test_others_threads_end_a_run_and_its_own_do_not(person: Person) -> None:
    words = (*RUN, *person.target, "--concurrency", str(USERS), "--duration", "3s")
    limit = ("--abort-if", "threads_running>5", "--abort-if", "threads_connected>5")
    person.loadstone(*words, *limit)
    own = run_folder.load(person.only_run())
    assert (own.run.state, own.run.aborted) == ("finished", None)
    assert own.steps[0].server and own.steps[0].server.highest["threads_connected"] >= USERS

    others = (*person.target, "--concurrency", str(USERS), "--name", "spared")
    with ExitStack() as stack:
        before = person.samples()
        spared = (*ENDLESS, *others, "--abort-if", "threads_running>5 for 1s")
        running = stack.enter_context(person.starts(*spared))
        wait_until(lambda: person.samples() >= before + 1, running)
        stack.enter_context(neighbours(person, 8, "SELECT SLEEP(60)"))
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 12, err
    assert re.search(r"error: aborted at \d+ s by the condition 'threads_running>5 for 1s': ", err)
    (run,) = person.folder.glob("runs/spared-*")
    result = run_folder.load(run)
    assert result.run.state == "stopped"
    assert result.run.aborted and 8 <= result.run.aborted.value < USERS
    (step,) = result.steps
    assert (step.state, step.tally_balances) == ("stopped", True)
    assert step.tally and step.tally.in_flight == 0
    assert step.seconds < 30
    assert any(note.startswith("aborted at ") for note in step.notes)
    assert "aborted at" in out
    assert "aborted at" in person.loadstone("report", str(run), "--markdown").stdout
    person.loadstone("report", str(run), "--lang", "zh")
    assert "成立而中止" in (run / "report.html").read_text()


def test_two_loads_of_one_account_do_not_take_each_other_for_others(
    somebody: Person, tmp_path: Path
) -> None:
    """Several load generators on one schema are normal; another account still counts."""
    assert somebody.server is not None
    people = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        people.append(Person(folder, somebody.server))
    limit = ("--abort-if", "threads_running>5 for 1s", "--abort-if", "threads_connected>5 for 1s")
    words = (*ENDLESS, *somebody.target, "--concurrency", "24", *limit)
    with ExitStack() as stack:
        runs = []
        for person in people:
            runs.append(stack.enter_context(person.starts(*words)))
            wait_until(lambda person=person: person.samples() >= 2, runs[-1])  # type: ignore[misc]
        before = [person.samples() for person in people]
        for person, running, count in zip(people, runs, before, strict=True):
            wait_until(
                lambda person=person, count=count: person.samples() >= count + 5,  # type: ignore[misc]
                running,
            )
        stack.enter_context(neighbours(somebody, 9, "SELECT SLEEP(60)"))
        for running in runs:
            _, err = running.communicate(timeout=PATIENCE_S)
            assert running.returncode == 12, err
    for person in people:
        aborted = run_folder.load(person.only_run()).run.aborted
        assert aborted and aborted.value < 24


def test_connections_to_one_server_under_two_addresses_are_added_up(person: Person) -> None:
    """Each generator sees all connections, and makes only half of the load."""
    assert person.server is not None
    again = person.url.replace("127.0.0.1", "localhost")
    assert again != person.url
    limit = ("--abort-if", "threads_connected>5", "--abort-if", "threads_running>5")
    words = (*RUN, *person.target, "--target", again, "--concurrency", "24", "--duration", "3s")
    person.loadstone(*words, *limit)
    result = run_folder.load(person.only_run())
    assert (result.run.state, result.run.aborted) == ("finished", None)


@contextmanager
def watchers_locked_out(server: Sandbox) -> Iterator[None]:
    """Fill the server, so that the load's account has no connection left."""
    with server.connect() as admin, admin.cursor() as cursor:
        cursor.execute("SELECT CURRENT_USER(), CONNECTION_ID()")
        ((account, own),) = cursor.fetchall()
        user, _, host = str(account).partition("@")
        cursor.execute(f"ALTER USER '{user}'@'{host}' ACCOUNT LOCK")
        try:
            cursor.execute("SHOW PROCESSLIST")
            for number, name, _, schema, *_ in cursor.fetchall():
                if (name, schema) == (user, None) and number != own:
                    cursor.execute(f"KILL {number}")
            yield
        finally:
            cursor.execute(f"ALTER USER '{user}'@'{host}' ACCOUNT UNLOCK")


def test_a_server_that_answers_the_load_and_nobody_who_watches_ends_the_run(person: Person) -> None:
    assert person.server is not None
    words = (*ENDLESS, *person.target, "--concurrency", "4", "--abort-if", "threads_connected>500")
    with ExitStack() as stack:
        running = stack.enter_context(person.starts(*words))
        wait_until(lambda: person.samples() >= 2, running)
        stack.enter_context(watchers_locked_out(person.server))
        _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 12, err
    (step,) = run_folder.load(person.only_run()).steps
    assert any("said nothing for 1" in note for note in step.notes), step.notes


def test_a_load_is_held_back_while_others_work_and_let_go_on(person: Person) -> None:
    words = (*RUN, *person.target, "--concurrency", "4", "--duration", "20s")
    with ExitStack() as stack:
        running = stack.enter_context(person.starts(*words, "--max-load", "threads_running>8"))
        wait_until(lambda: person.samples() >= 2, running)
        with neighbours(person, 9, "SELECT SLEEP(60)"):
            wait_until(lambda: '"hold_begin"' in journal(person), running)
            time.sleep(2.5)
        wait_until(lambda: '"hold_end"' in journal(person), running)
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    (step,) = run_folder.load(person.only_run()).steps
    assert step.held and step.held[0].value >= 9
    assert step.window and step.window.held
    assert step.state == "finished"
    assert "held back for" in out
    by_phase: dict[str, list[int]] = {}
    (log,) = read_log(person.only_run()).steps
    for sample in log.samples():
        if sample.phase != "drain":
            held = bool(log.held_within(sample.from_s, sample.to_s))
            by_phase.setdefault("held" if held else "window", []).append(sample.counts.events)
    assert 0 in by_phase["held"], "a second in the midst of it has no event at all"
    assert min(by_phase["window"]) > 0
    assert step.events == sum(by_phase["window"])
    assert step.seconds == pytest.approx(len(by_phase["window"]), abs=0.2)


def journal(person: Person) -> str:
    return (person.only_run() / "journal.jsonl").read_text()


def test_what_a_server_does_not_have_is_one_line_before_any_load(person: Person) -> None:
    words = (*RUN, *person.target)
    said = person.loadstone(*words, "--abort-if", "threads_runing>5", code=2)
    assert "has no status variable 'threads_runing'" in said.stderr
    assert "hint:  did you mean threads_running" in said.stderr
    said = person.loadstone(*words, "--abort-if", "replica_lag>5s", code=2)
    assert "is no replica, and a source does not know" in said.stderr
    assert not list(person.folder.glob("runs/*"))


def test_any_row_of_the_status_can_end_a_run(person: Person) -> None:
    words = (*ENDLESS, *person.target, "--concurrency", "2", "--abort-if")
    person.loadstone(*words, "Questions>10/s", code=12)
    aborted = run_folder.load(person.only_run()).run.aborted
    assert aborted and (aborted.figure, aborted.limit) == ("questions", 10)


def test_the_servers_disk_is_seen_and_ends_a_run_before_it_begins(person: Person) -> None:
    """The condition is true of every disk: nothing has to be filled."""
    assert person.server is not None
    words = (*RUN, *person.target, "--duration", "1s")
    person.loadstone(*words, "--abort-if", "disk_free<1MB", "--name", "fine")
    person.loadstone(*words, "--abort-if", "disk_free<100%", "--name", "full", code=12)
    (run,) = person.folder.glob("runs/full-*")
    aborted = run_folder.load(run).run.aborted
    assert aborted and aborted.at_s == 0
    there = os.statvfs(person.server.datadir)
    assert aborted.value == pytest.approx(there.f_bavail / there.f_blocks, abs=0.05)
    assert person.server.port and run_folder.load(run).steps[0].events == 0


def test_a_full_disk_ends_a_run_that_nobody_asked_to_watch_it(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default itself, with a limit that every disk is below."""
    watched = "loadstone.lab.protection.protector.NEARLY_FULL"
    assert NEARLY_FULL == ("disk_free<5%", "disk_free<10GB")
    monkeypatch.setattr(watched, ("disk_free<100%", "disk_free<100%"))
    said = person.loadstone(*RUN, *person.target, "--duration", "1s", code=12)
    aborted = run_folder.load(person.only_run()).run.aborted
    assert aborted and aborted.is_default and aborted.figure == "disk_free"
    assert "--no-abort turns the default conditions off" in said.stderr
    person.loadstone(*RUN, *person.target, "--duration", "1s", "--no-abort", "--name", "spared")


def test_others_whose_statements_slow_down_end_a_run_that_nobody_told_so(person: Person) -> None:
    """MySQL only; MariaDB has no sums of statements unless it was started with them."""
    assert person.server is not None
    asked = ("--abort-if", "others_slowdown>3")
    if person.server.flavour == "mariadb":
        said = person.loadstone(*RUN, *person.target, *asked, code=2)
        assert "performance_schema is off at" in said.stderr
        return
    with ExitStack() as stack:
        others = stack.enter_context(neighbours(person, 4, "SELECT SLEEP(0.005)"))
        words = (*ENDLESS, *person.target, "--concurrency", "2", "--yes", *asked)
        running = stack.enter_context(person.starts(*words))
        wait_until(lambda: person.samples() >= 2, running)
        time.sleep(4)
        assert running.poll() is None, "nobody is slower than before"
        others.statement = "SELECT SLEEP(0.1)"
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 12, err + out
    aborted = run_folder.load(person.only_run()).run.aborted
    assert aborted and aborted.value > 3


@pytest.mark.parametrize("somebody", ["mariadb"], indirect=True)
def test_others_who_pile_up_end_a_run_that_nobody_asked_to_watch_them(person: Person) -> None:
    """Judged alike on all servers, and it takes ten seconds: so on one of them only."""
    with ExitStack() as stack:
        words = (*ENDLESS, *person.target, "--concurrency", "30")
        running = stack.enter_context(person.starts(*words))
        wait_until(lambda: person.samples() >= 1, running)
        stack.enter_context(neighbours(person, 24, "SELECT SLEEP(60)"))
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 12, err + out
    result = run_folder.load(person.only_run())
    assert result.run.aborted and result.run.aborted.is_default
    assert result.run.aborted.condition == "threads_running>20 for 10s"
    assert "--no-abort turns the default conditions off" in err


@pytest.mark.parametrize("kind", KINDS_IN_TURN)
def test_a_replica_that_falls_behind_ends_a_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SandboxSpec(server=need(kind), replica=True, settings=dict(QUICK))
    with start_sandbox(spec) as primary:
        replica = primary.replica
        assert replica is not None
        person = Person(tmp_path, primary)
        person.loadstone("prepare", *person.target, *SIZES, "--yes")
        words = (*RUN, *person.target, "--replica", replica.tcp.target.url)
        person.loadstone(*words, "--duration", "2s", "--abort-if", "replica_lag>60s")
        person.loadstone(*words, "--abort-if", "replica_lag_growth>1%", code=2)
        stop = "STOP SLAVE SQL_THREAD" if kind == "mariadb" else "STOP REPLICA SQL_THREAD"
        with ExitStack() as stack:
            endless = (*ENDLESS, "--name", "behind", *words[len(RUN) :])
            limit = ("--abort-if", "replica_lag_growth>2s")
            running = stack.enter_context(person.starts(*endless, *limit))
            before = person.samples()
            wait_until(lambda: person.samples() >= before + 1, running)
            with connect(replica.local) as connection, connection.cursor() as cursor:
                cursor.execute(stop)
            out, err = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 12, err + out
        (run,) = person.folder.glob("runs/behind-*")
        aborted = run_folder.load(run).run.aborted
        assert aborted and "replica" in aborted.place and aborted.value > 2
        start = stop.replace("STOP", "START")
        with connect(replica.local) as connection, connection.cursor() as cursor:
            cursor.execute(start)
            _falls_behind_unasked(person, connection, (*words, stop), monkeypatch)


def _falls_behind_unasked(
    person: Person,
    replica: Connection,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A replica that falls behind under the default condition, shortened here."""
    assert FALLS_BEHIND == "replica_lag_growth>30s for 10s"
    falls = FALLS_BEHIND.replace("30s", "2s").replace("10s", "1s")
    monkeypatch.setattr("loadstone.lab.protection.protector.FALLS_BEHIND", falls)
    *words_of_run, stop = words

    def stops() -> None:
        time.sleep(5)
        with replica.cursor() as cursor:
            cursor.execute(stop)

    stopping = threading.Thread(target=stops)
    stopping.start()
    endless = (*ENDLESS, "--name", "unasked", *words_of_run[len(RUN) :])
    person.loadstone(*endless, code=12)
    stopping.join()
    (run,) = person.folder.glob("runs/unasked-*")
    aborted = run_folder.load(run).run.aborted
    assert aborted and (aborted.is_default, aborted.condition) == (True, falls)


def test_an_experiment_says_in_its_file_what_ends_it(person: Person) -> None:
    file = person.folder / "spared.toml"
    file.write_text(
        f'''
name = "spared"
duration = "5s"
warmup = "0s"
repeats = 2
abort_if = ["Questions>10/s"]
[target]
url = "{person.url}"
[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 1000
'''
    )
    said = person.loadstone("experiment", str(file), code=12)
    assert "by the condition 'Questions>10/s': " in said.stderr
    result = run_folder.load(person.only_run())
    assert (result.run.state, len(result.steps)) == ("stopped", 1)
    assert result.run.aborted and result.run.aborted.step == 1
