"""A proxy between Loadstone and a server, with connection ids of its own."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from pydantic import SecretStr
from pymysql.constants import CLIENT

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from engine.servers import one
from loadstone.families import connect
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Endpoint
from loadstone.mysql.facts import describe_server
from loadstone.mysql.locks import take
from loadstone.mysql.session import set_in_session
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox
from loadstone.servers.errors import TargetError
from trust.experiments import AS_TEXT, CHANGED, experiment
from trust.summing import execute
from trust.test_before_a_load import SHORT, SMALL, application

pytestmark = pytest.mark.server


_TO_CAPABILITIES = 13
"""Bytes of a greeting from the connection's number to the capabilities, over the salt."""


class Proxy:
    """Forwards to a server, and replaces the connection ids in its greetings.

    `takes_files`: it also offers LOAD DATA LOCAL, as the server does.
    """

    def __init__(self, server_port: int, *, takes_files: bool = True) -> None:
        self._server_port = server_port
        self._takes_files = takes_files
        self._numbers = itertools.count(900_001)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            server = socket.create_connection(("127.0.0.1", self._server_port))
            greeting = bytearray(server.recv(65536))
            at = greeting.index(0, 5) + 1  # behind the version's end
            greeting[at : at + 4] = struct.pack("<I", next(self._numbers))
            if not self._takes_files:
                greeting[at + _TO_CAPABILITIES] &= ~CLIENT.LOCAL_FILES
            client.sendall(greeting)
            back = threading.Thread(target=_passed, args=(server, client), daemon=True)
            back.start()
            _passed(client, server)
            back.join()
            server.close()
        client.close()

    def close(self) -> None:
        self._listener.close()


def _passed(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def url(person: Person, server: Sandbox) -> Iterator[str]:
    """The server's URL through the proxy."""
    with contextlib.closing(Proxy(server.port)) as proxy:
        yield person.url.replace(f":{server.port}", f":{proxy.port}")


def test_others_on_the_server_are_seen(person: Person, server: Sandbox, url: str) -> None:
    person.loadstone("prepare", *person.target, *SMALL)
    run = ("run", "oltp_read_only", "--target", url, *SHORT)
    with application(server):
        said = person.loadstone(*run, code=ExitCode.GUARD).stderr
    assert "has connections of app@localhost (2)" in said
    assert "app" not in person.loadstone(*run).stderr


def test_a_run_says_what_stands_between_and_knows_its_users(person: Person, url: str) -> None:
    """The proxy's numbers are not those in the server's list: users are known by their account."""
    person.loadstone("prepare", *person.target, *SMALL)
    person.loadstone("run", "oltp_read_only", "--target", url, "--duration", "8s", "--warmup", "0s")
    (run,) = (person.folder / "runs").iterdir()
    result = run_folder.load(run)
    (step,) = result.steps
    assert any("as a proxy does: its own work" in str(note) for note in result.run.notes)
    assert any("after the connection opened; its" in str(note) for note in result.run.notes)
    assert step.account is not None
    assert step.account.unnamed < 0.2
    assert step.account.share_of("on core", "waiting for a core") > 0.1


def test_an_experiment_is_not_in_its_own_way(person: Person, url: str) -> None:
    (person.folder / "e.toml").write_text(experiment(url, AS_TEXT, "300ms"))
    person.loadstone("experiment", "e.toml", "--yes", "--no-observe")


def test_variables_are_not_set_where_they_could_not_be_read_again(
    person: Person, server: Sandbox, url: str
) -> None:
    (person.folder / "e.toml").write_text(experiment(url, CHANGED, "300ms"))
    before = one(server, "SELECT @@GLOBAL.max_connect_errors")
    said = person.loadstone(
        "experiment", "e.toml", "--yes", "--no-observe", code=ExitCode.TARGET
    ).stderr
    assert "passes statements on to a server, as a proxy does" in said
    assert one(server, "SELECT @@GLOBAL.max_connect_errors") == before != 200


@pytest.fixture
def passed_on(server: Sandbox) -> Iterator[Endpoint]:
    """The server through the proxy, for an account that may log in once at a time."""
    execute(
        server,
        "DROP USER IF EXISTS one@'%'",
        "CREATE USER one@'%' IDENTIFIED BY 'of-the-one' WITH MAX_USER_CONNECTIONS 1",
    )
    with contextlib.closing(Proxy(server.port)) as proxy:
        to = {"port": proxy.port, "user": "one", "database": None}
        target = server.tcp.target.model_copy(update=to)
        password = {"password": SecretStr("of-the-one")}
        credentials = server.tcp.credentials.model_copy(update=password)
        yield Endpoint(target=target, credentials=credentials)
    execute(server, "DROP USER one@'%'")


def test_a_server_is_described_to_an_account_with_one_connection(passed_on: Endpoint) -> None:
    with connect(passed_on, database=None) as connection:
        facts = describe_server(connection, passed_on.target)
    assert facts.is_passed_on and facts.between is None
    assert "version" in facts.variables


def test_another_login_gets_the_settings_that_the_server_took(
    person: Person, server: Sandbox, url: str
) -> None:
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    target = server.tcp.target.model_copy(update={"port": port})
    endpoint = server.tcp.model_copy(update={"target": target})
    with connect(endpoint, database=None) as connection:
        set_in_session(connection, target, "lock_wait_timeout", "50")
        with pytest.raises(TargetError):
            set_in_session(connection, target, "no_such_variable", "1")
        assert take(connection, target, "loadstone.of-this-test") is None
