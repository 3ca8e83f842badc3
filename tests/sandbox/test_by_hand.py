"""A throwaway server's address typed by hand is reached as the URL that `sandbox start` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from loadstone.model.target import Target, Tls
from loadstone.runner.endpoints import at_url, reach, resolved
from loadstone.sandbox.account import Account
from loadstone.sandbox.processes import mark_of_this
from loadstone.sandbox.state import SandboxState, sandboxes_folder, write_state
from loadstone.servers.endpoint_request import EndpointRequest

PORT = 4  # nothing connects: the address is only looked up


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of a throwaway server, whose process is this one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    me = mark_of_this()
    folder = sandboxes_folder() / "tried"
    folder.mkdir()
    account = Account(user="loadstone", method="mysql_native_password", password=SecretStr("kept"))
    state = SandboxState(
        name="tried",
        phase="running",
        flavour="mariadb",
        version="11.8.6",
        open_files=1024,
        maker=me,
        server=me,
        port=PORT,
        socket=folder / "server.sock",
        database="sbtest",
        accounts=(account,),
        created_at="2026-11-25T00:00:00Z",
    )
    write_state(folder, state)
    return folder


def tls_of(url: str, tls: str | None = None) -> Tls:
    return resolved(EndpointRequest(url=url, tls=tls), lambda _: "").target.tls


@pytest.mark.parametrize("user", ["loadstone@", "somebody:secret@", ""])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_it_is_reached_without_tls_as_sysbench_reaches_it(user: str, host: str) -> None:
    assert tls_of(f"mysql://{user}{host}:{PORT}/sbtest").mode == "disabled"


@pytest.mark.parametrize("mode", ["preferred", "required"])
def test_what_is_asked_for_stays(mode: str, server: Path) -> None:
    url = f"mysql://loadstone@127.0.0.1:{PORT}/sbtest"
    assert tls_of(f"{url}?tls={mode}").mode == mode
    assert tls_of(url, tls=mode).mode == mode
    (server.parents[2] / ".my.cnf").write_text("[client]\nssl-mode=required\n")
    assert tls_of(url).mode == "required"


def test_other_servers_and_its_socket_are_encrypted_where_they_offer_it(server: Path) -> None:
    assert tls_of(f"mysql://loadstone@127.0.0.1:{PORT + 1}/sbtest").mode == "preferred"
    assert tls_of(f"mysql://loadstone@/sbtest?socket={server}/server.sock").mode == "preferred"


def test_a_stored_target_is_reached_as_it_was() -> None:
    """Its URL does not name the mode `preferred`."""
    typed = at_url(f"mysql://loadstone@127.0.0.1:{PORT}/sbtest")
    assert typed.credentials.reveal() == "kept"
    assert reach(typed.target).target.tls.mode == "disabled"
    asked = typed.target.model_copy(update={"tls": Tls(mode="preferred")})
    for stored in (asked, Target.model_validate_json(asked.model_dump_json())):
        assert reach(stored).target.tls.mode == "preferred"
