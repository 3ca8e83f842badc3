"""A proxy between Loadstone and a server, with connection ids of its own."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from engine.servers import one
from loadstone.model.exit_codes import ExitCode
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox
from trust.experiments import AS_TEXT, CHANGED, experiment
from trust.test_before_a_load import SHORT, SMALL, application

pytestmark = pytest.mark.server


class Proxy:
    """Forwards to a server, and replaces the connection ids in its greetings."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
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
