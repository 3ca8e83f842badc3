"""Loadstone through a proxy that lends fewer connections than it has clients, to a real server."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import PATIENCE_S, Person
from engine.servers import one
from loadstone.model.exit_codes import ExitCode
from loadstone.model.finding import Diagnosis
from loadstone.model.result import Result
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox
from pooled import KINDS, Pool
from proxies.multiplexing import AS_USUAL, Manner, Multiplexer
from servers.test_dolt import OF_THE_MACHINE

pytestmark = [pytest.mark.server, pytest.mark.slow]

SMALL = ("--tables", "2", "--table-size", "200")
USERS = 8
DRIVEN = ("--concurrency", str(USERS), "--tables", "2", "--warmup", "0s")
Before = Callable[[Manner], AbstractContextManager[tuple[Multiplexer, str]]]


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
    """Puts a proxy before the server; gives it, and the server's URL through it."""

    @contextlib.contextmanager
    def put(manner: Manner) -> Iterator[tuple[Multiplexer, str]]:
        with contextlib.closing(Multiplexer(server.tcp, manner)) as proxy:
            yield proxy, person.url.replace(f":{server.port}", f":{proxy.port}")

    return put


def driven(person: Person, *words: str) -> Result:
    """The result of a run, which is the only one so far with this name."""
    name = f"r{len(list(person.folder.glob('runs/*')))}"
    person.loadstone("run", "oltp_read_write", *DRIVEN, "--name", name, *words)
    (found,) = person.folder.glob(f"runs/{name}-*")
    return run_folder.load(found)


def test_tables_are_made_driven_and_removed(
    person: Person, server: Sandbox, before: Before
) -> None:
    with before(AS_USUAL) as (proxy, url):
        person.loadstone("prepare", *SMALL, "--target", url)
        for how in ((), ("--text",)):
            moved = proxy.moves
            result = driven(person, *how, "--target", url, "--duration", "2s")
            (step,) = result.steps
            assert step.events > USERS and step.failed == 0
            assert set(step.errors) <= {"1213"}
            assert proxy.most_at_once >= USERS and proxy.moves > moved
            notes = [str(note) for note in result.run.notes]
            assert any("as a proxy does: its own work" in note for note in notes)
            assert any("its fastest ping took" in note for note in notes)
            assert not any("with locks to other clients" in note for note in notes)
        person.loadstone("cleanup", "--target", url)
    tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
    assert one(server, tables) == 0


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (Manner(comment=b"(ProxySQL)"), "ProxySQL"),
        (Manner(version=b"5.5.5-10.2.12 2.2.5-maxscale"), "MaxScale"),
    ],
)
def test_a_proxy_is_called_by_the_name_that_it_says(
    person: Person, before: Before, said: Manner, name: str
) -> None:
    person.loadstone("prepare", *SMALL, *person.target)
    with before(said) as (_, url):
        result = driven(person, "--target", url, "--duration", "1s")
    assert any(f"is {name}, which passes" in str(note) for note in result.run.notes)


def test_where_locks_are_not_kept_no_table_is_made_or_dropped(
    person: Person, server: Sandbox, before: Before
) -> None:
    """Others could get the lock of the schema in the same session."""
    with before(Manner(keeps_locks=False)) as (_, url):
        refused = person.loadstone("prepare", *SMALL, "--target", url, code=ExitCode.GUARD).stderr
        assert "gives a session with locks to other clients" in refused
        assert "Traceback" not in refused
        person.loadstone("prepare", *SMALL, *person.target)
        result = driven(person, "--target", url, "--duration", "1s")
        assert any("do not notice this run" in str(note) for note in result.run.notes)
        assert result.steps[0].events > 0
        person.loadstone("cleanup", "--target", url, code=ExitCode.GUARD)
        # Nothing of that stays in sessions which the proxy keeps.
        person.loadstone("cleanup", *person.target)


def test_statements_are_prepared_again_after_a_failover(person: Person, before: Before) -> None:
    person.loadstone("prepare", *SMALL, *person.target)
    with before(AS_USUAL) as (proxy, url):
        failover = threading.Thread(target=_fail_over_under_load, args=(proxy,))
        failover.start()
        (step,) = driven(person, "--target", url, "--duration", "4s").steps
        failover.join()
    lost = step.errors.pop("1243")
    # Each user has found that out for itself, within one event or in a few that ran at that time.
    assert 1 <= lost <= 2 * USERS
    assert set(step.errors) <= {"1213"}
    assert step.failed == 0 and step.restarts >= lost
    assert step.events > USERS


def _fail_over_under_load(proxy: Multiplexer) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while proxy.most_at_once < USERS:
        assert time.monotonic() < deadline, "nobody came"
        time.sleep(0.01)
    time.sleep(1)
    proxy.fail_over()


def test_a_proxy_that_keeps_no_statements_is_told_from_one_that_lost_them(
    person: Person, before: Before
) -> None:
    person.loadstone("prepare", *SMALL, *person.target)
    with before(Manner(keeps_statements=False)) as (_, url):
        name = ("--name", "kept", "--target", url, "--duration", "3s")
        done = person.loadstone("run", "oltp_read_write", *DRIVEN, *name, code=None)
        assert "1243" in done.stdout + done.stderr
        if done.returncode == ExitCode.TARGET:
            assert "use --text" in done.stderr
        else:  # within a transaction the statements hold: each event is tried twice
            (kept,) = person.folder.glob("runs/kept-*")
            (step,) = run_folder.load(kept).steps
            assert step.restarts >= step.events - USERS
        (step,) = driven(person, "--text", "--target", url, "--duration", "1s").steps
    assert step.events > 0 and step.failed == 0


@pytest.mark.nightly
def test_who_waits_in_the_proxy_has_no_name_and_nobody_is_accused_of_it(
    person: Person, before: Before
) -> None:
    """The server has two sessions for eight users, and sees nothing of the other six."""
    person.loadstone("prepare", *SMALL, *person.target)
    with before(Manner(most=2)) as (_, url):
        (step,) = driven(person, "--target", url, "--duration", "8s").steps
    assert step.account is not None
    assert step.account.unnamed == pytest.approx(6 / 8, abs=0.15)
    assert step.account.beyond < 0.1
    (run,) = person.folder.glob("runs/*")
    said = json.loads(person.loadstone("diagnose", str(run), "--json").stdout)
    (ladder,) = (Diagnosis.model_validate(one) for one in said["ladders"])
    assert {one.cause for one in ladder.findings if one.group != "note"} <= OF_THE_MACHINE
