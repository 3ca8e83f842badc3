"""Settings of a real server are restored, however the run ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from called import called
from loadstone.lab.variables import put_back as restoring
from loadstone.lab.variables import readings
from loadstone.lab.variables.journal import LeftBehind, left_behind, read_journal
from loadstone.lab.variables.put_back import put_back, take_over
from loadstone.lab.variables.stage import SettingsReport, staged
from loadstone.model.target import Endpoint, Target
from loadstone.mysql import family
from loadstone.mysql.facts import describe_server
from loadstone.mysql.variables import is_being_set, is_restless
from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError
from loadstone.servers.facts import Value
from pooled import Pool
from sandbox.killed_settings import Killed

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def shared(pool: Pool, server: str) -> Sandbox:
    """Tests only change settings, and restore them."""
    return pool.server(server)


# A number, a switch, a text, a fraction, and one that moves another with it:
# MariaDB clips innodb_io_capacity, and has an alias of long_query_time.
WANTED = {
    "sync_binlog": "7",
    "innodb_adaptive_flushing": "OFF",
    "sql_mode": "ANSI_QUOTES",
    "long_query_time": "2.5",
    "innodb_io_capacity_max": "150",
    "max_connections": "777",
}


@pytest.fixture
def killed(shared: Sandbox, tmp_path: Path) -> Iterator[Killed]:
    """Starts runs whose journals are in the test's folder."""
    made = Killed(shared.endpoint(), tmp_path, few_of(shared))
    yield made
    made.end()


def wanted_of(sandbox: Sandbox) -> dict[str, str]:
    """Values to set. MySQL clips the maximum, so the capacity has to be set before it."""
    first = {"innodb_io_capacity": "150"} if sandbox.state.flavour == "mysql" else {}
    return first | WANTED


def few_of(sandbox: Sandbox) -> dict[str, str]:
    """Those noted in ways of their own: a number, a fraction, and one that moves another."""
    few = ("sync_binlog", "long_query_time", "innodb_io_capacity", "innodb_io_capacity_max")
    return {name: text for name, text in wanted_of(sandbox).items() if name in few}


def variables(sandbox: Sandbox) -> dict[str, str]:
    with sandbox.connect() as connection:
        found = describe_server(connection, sandbox.endpoint().target).variables
    return {name: value for name, value in found.items() if not is_restless(name)}


def value(sandbox: Sandbox, name: str) -> str:
    return variables(sandbox)[name]


def restored(folder: Path, endpoint: Endpoint) -> None:
    for staging in left_behind(folder).staged:
        journal = take_over(staging)
        assert journal is not None
        put_back(journal, endpoint)


def test_they_are_set_and_put_back(shared: Sandbox, tmp_path: Path) -> None:
    before = variables(shared)
    with staged(shared.endpoint(), wanted_of(shared), tmp_path):
        during = variables(shared)
        assert during["sync_binlog"] == "7"
        assert during["sql_mode"] == "ANSI_QUOTES"
        assert during["innodb_io_capacity"] == "150"
        assert float(during["long_query_time"]) == 2.5
        assert len(list(tmp_path.iterdir())) == 1
    assert variables(shared) == before
    assert list(tmp_path.iterdir()) == []


def test_the_buffer_pool_is_as_large_as_it_was(shared: Sandbox, tmp_path: Path) -> None:
    before = int(value(shared, "innodb_buffer_pool_size"))
    larger = f"{before // 1024**2 * 2}M"
    with staged(shared.endpoint(), {"innodb_buffer_pool_size": larger}, tmp_path):
        assert int(value(shared, "innodb_buffer_pool_size")) == 2 * before
    assert int(value(shared, "innodb_buffer_pool_size")) == before
    with shared.connect() as connection:
        assert not is_being_set(connection, shared.tcp.target, "innodb_buffer_pool_size")


def test_what_a_server_took_and_gave_up_is_set_again(
    shared: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL takes a smaller buffer pool, and stays as it is if the resize fails later."""
    before, put_variable_back = value(shared, "sync_binlog"), family.put_variable_back
    forgotten: list[str] = []

    def forgetful(
        connection: Connection, target: Target, name: str, old: Value, kept: str | None
    ) -> None:
        if len(forgotten) < restoring._ROUNDS:
            return forgotten.append(name)
        return put_variable_back(connection, target, name, old, kept)

    monkeypatch.setattr(readings, "_SLOW_S", 0.1)
    with staged(shared.endpoint(), {"sync_binlog": "7"}, tmp_path):
        monkeypatch.setattr(family, "put_variable_back", forgetful)
    assert forgotten == ["sync_binlog"] * restoring._ROUNDS
    assert value(shared, "sync_binlog") == before


@pytest.mark.parametrize(
    ("said", "works"),
    [
        ("", False),
        ("Completed resizing buffer pool at 261125 23:10:02.", False),
        ("Resizing buffer pool failed, finished resizing at 261125 23:10:02.", False),
        ("buffer pool 0 : withdrawing blocks. (12/8192)", True),
        ("Resizing buffer pool from 268435456 to 134217728 (unit=134217728).", True),
    ],
)
def test_a_server_says_that_it_is_still_resizing(
    shared: Sandbox, monkeypatch: pytest.MonkeyPatch, said: str, works: bool
) -> None:
    # What it says while it works, from a server that says it whenever it is asked.
    asked = f"SELECT 'Innodb_buffer_pool_resize_status', '{said}'"
    monkeypatch.setattr("loadstone.mysql.variables._RESIZING", asked)
    with shared.connect() as connection:
        target = shared.tcp.target
        assert is_being_set(connection, target, "innodb_buffer_pool_size") is works
        assert not is_being_set(connection, target, "table_open_cache")


def test_what_the_server_clips_is_refused(shared: Sandbox, tmp_path: Path) -> None:
    before = variables(shared)
    with (
        pytest.raises(SettingsError, match=r"cache = \d+ right after it was set to 900m"),
        staged(shared.endpoint(), {"table_open_cache": "900m"}, tmp_path),
    ):
        pytest.fail("it was set")
    assert variables(shared) == before


def test_they_are_put_back_after_an_error(shared: Sandbox, tmp_path: Path) -> None:
    before = variables(shared)
    with (
        pytest.raises(RuntimeError, match="of the run"),
        staged(shared.endpoint(), wanted_of(shared), tmp_path),
    ):
        raise RuntimeError("of the run")
    assert variables(shared) == before


@pytest.mark.parametrize(
    "bad", [{"no_such_variable": "1"}, {"sql_mode": "NO_SUCH_MODE"}, {"log_bin": "OFF"}]
)
def test_what_cannot_be_set_leaves_nothing_behind(
    shared: Sandbox, tmp_path: Path, bad: dict[str, str]
) -> None:
    before = variables(shared)
    with pytest.raises(SettingsError), staged(shared.endpoint(), wanted_of(shared) | bad, tmp_path):
        pytest.fail("it was set")
    assert variables(shared) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_they_are_put_back_after_a_kill_at_any_moment(
    shared: Sandbox, killed: Killed, tmp_path: Path
) -> None:
    before = variables(shared)
    acts = killed.acts()
    assert acts >= 3 * len(few_of(shared))
    assert variables(shared) == before
    # After one write and before the next the run only reads.
    for moment, when in (*((each, "before") for each in range(1, acts + 1)), (acts, "after")):
        killed.at(moment, when)
        restored(tmp_path, shared.endpoint())
        assert variables(shared) == before, f"killed {when} act {moment} of {acts}"
        assert list(tmp_path.iterdir()) == []


def test_a_new_run_is_refused_while_old_settings_are_there(
    shared: Sandbox, killed: Killed, tmp_path: Path
) -> None:
    killed.at(6, "after")
    with (
        pytest.raises(SettingsError, match="an earlier run's settings"),
        staged(shared.endpoint(), wanted_of(shared), tmp_path),
    ):
        pytest.fail("it was set")
    restored(tmp_path, shared.endpoint())
    with staged(shared.endpoint(), wanted_of(shared), tmp_path):
        pass


def test_what_somebody_else_sets_meanwhile_is_left_and_told(
    shared: Sandbox, tmp_path: Path
) -> None:
    before = value(shared, "max_connections")
    told = SettingsReport()
    try:
        with staged(shared.endpoint(), {"max_connections": "777"}, tmp_path, told):
            _set(shared, "max_connections = 555")
        assert value(shared, "max_connections") == "555"
    finally:
        _set(shared, f"max_connections = {before}")
    place = shared.endpoint().target.place
    assert told.left == told.notes
    assert told.left == [f"{place}: set by another client since, and left: max_connections"]


def test_a_run_that_is_at_work_is_left_alone(shared: Sandbox, tmp_path: Path) -> None:
    with staged(shared.endpoint(), {"sync_binlog": "7"}, tmp_path):
        (staging,) = left_behind(tmp_path).staged
        assert take_over(staging) is None


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("mariadb", marks=pytest.mark.smoke),
        pytest.param("mysql", marks=pytest.mark.mysql),
    ],
    indirect=True,
    scope="module",
)
def test_restore_puts_back_what_a_killed_run_left(shared: Sandbox, tmp_path: Path) -> None:
    environment = {
        "LOADSTONE_PASSWORD": shared.endpoint().credentials.reveal(),
        "XDG_STATE_HOME": str(tmp_path),
    }
    folder = tmp_path / "loadstone" / "settings"
    folder.mkdir(parents=True)
    before = variables(shared)
    run = Killed(shared.endpoint(), folder, wanted_of(shared))
    run.at(12, "after")
    run.end()
    assert variables(shared) != before
    said = called("restore", folder=tmp_path, environment=environment)
    assert "restored: " in said.stdout and "sync_binlog" in said.stdout
    assert variables(shared) == before
    again = called("restore", folder=tmp_path, environment=environment)
    assert "nothing to restore" in again.stderr


def test_a_journal_without_a_whole_line_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "x-1-2.jsonl").write_text('{"target": "mysql')
    assert read_journal(tmp_path / "x-1-2.jsonl") is None
    assert left_behind(tmp_path) == LeftBehind((), ())
    assert list(tmp_path.iterdir()) == []


def _set(sandbox: Sandbox, setting: str) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {setting}")
