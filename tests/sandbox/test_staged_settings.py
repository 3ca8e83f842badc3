"""Settings on a real server: as they were, however the run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.lab.settings import _RESTLESS, put_back, staged, take_over
from loadstone.lab.settings_journal import SettingsError, left_behind, read_journal
from loadstone.model.target import Endpoint
from loadstone.sandbox import Sandbox
from loadstone.target.introspect import describe_server

pytestmark = pytest.mark.server

# A number, a switch, a text, a fraction, and one that moves another with it:
# MariaDB clips innodb_io_capacity, and has an alias of long_query_time.
WANTED = {
    "sync_binlog": "0",
    "innodb_adaptive_flushing": "OFF",
    "sql_mode": "ANSI_QUOTES",
    "long_query_time": "2.5",
    "innodb_io_capacity_max": "150",
    "max_connections": "777",
}

# Ends itself as kill -9 would, before or after the n-th thing that it writes to disk or server.
KILLED = """
import os, signal, sys
from pathlib import Path
from loadstone.lab import settings, settings_journal
from loadstone.model.target import Credentials, Endpoint, parse_target_url
url, folder, moment, when = sys.argv[1:5]
target, password = parse_target_url(url)
endpoint = Endpoint(target=target, credentials=Credentials(password=password))
acts = 0
def deadly(act):
    def acting(*arguments, **named):
        global acts
        acts += 1
        if acts == int(moment) and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        act(*arguments, **named)
        if acts == int(moment) and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
    return acting
settings._set = deadly(settings._set)
settings_journal.Journal._append = deadly(settings_journal.Journal._append)
wanted = dict(word.split("=") for word in sys.argv[5:])
with settings.staged(endpoint, wanted, Path(folder)):
    print("set")
print("acts", acts)
"""


def wanted_of(sandbox: Sandbox) -> dict[str, str]:
    """MySQL clips the maximum instead, so the capacity has to go before it."""
    first = {"innodb_io_capacity": "150"} if sandbox.state.flavour == "mysql" else {}
    return first | WANTED


def variables(sandbox: Sandbox) -> dict[str, str]:
    with sandbox.connect() as connection:
        found = describe_server(connection, sandbox.endpoint().target).variables
    return {name: value for name, value in found.items() if not _RESTLESS.fullmatch(name)}


def value(sandbox: Sandbox, name: str) -> str:
    return variables(sandbox)[name]


def carried_out(sandbox: Sandbox, folder: Path, moment: int, when: str) -> str:
    endpoint = sandbox.endpoint()
    url = endpoint.target.url.replace("@", f":{endpoint.credentials.reveal()}@", 1)
    words = [f"{name}={text}" for name, text in wanted_of(sandbox).items()]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, url, str(folder), str(moment), when, *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if done.returncode != -signal.SIGKILL:
        assert done.returncode == 0, done.stderr
    return done.stdout


def restored(folder: Path, endpoint: Endpoint) -> None:
    for staging in list(left_behind(folder)):
        journal = take_over(staging)
        assert journal is not None
        put_back(journal, endpoint)


def test_they_are_set_and_put_back(shared: Sandbox, tmp_path: Path) -> None:
    before = variables(shared)
    with staged(shared.endpoint(), wanted_of(shared), tmp_path):
        during = variables(shared)
        assert during["sync_binlog"] == "0"
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


def test_what_the_server_clips_is_refused(shared: Sandbox, tmp_path: Path) -> None:
    before = variables(shared)
    with (
        pytest.raises(SettingsError, match=r"made \d+ of table_open_cache = 900m"),
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
@pytest.mark.timeout(300)
def test_they_are_put_back_after_a_kill_at_any_moment(shared: Sandbox, tmp_path: Path) -> None:
    before = variables(shared)
    acts = int(carried_out(shared, tmp_path, 0, "never").split()[-1])
    assert acts >= 3 * len(wanted_of(shared))
    assert variables(shared) == before
    killed = 0
    for moment in range(1, acts + 1):
        for when in ("before", "after"):
            said = carried_out(shared, tmp_path, moment, when)
            killed += "acts" not in said
            restored(tmp_path, shared.endpoint())
            assert variables(shared) == before, f"killed {when} act {moment} of {acts}"
            assert list(tmp_path.iterdir()) == []
    assert killed == 2 * acts


def test_a_new_run_is_refused_while_old_settings_are_there(shared: Sandbox, tmp_path: Path) -> None:
    carried_out(shared, tmp_path, 6, "after")
    with (
        pytest.raises(SettingsError, match="an earlier run's settings"),
        staged(shared.endpoint(), wanted_of(shared), tmp_path),
    ):
        pytest.fail("it was set")
    restored(tmp_path, shared.endpoint())
    with staged(shared.endpoint(), wanted_of(shared), tmp_path):
        pass


def test_what_somebody_else_sets_meanwhile_is_left(shared: Sandbox, tmp_path: Path) -> None:
    before = value(shared, "max_connections")
    with staged(shared.endpoint(), {"max_connections": "777"}, tmp_path):
        _set(shared, "max_connections = 555")
    assert value(shared, "max_connections") == "555"
    _set(shared, f"max_connections = {before}")


def test_a_run_that_is_at_work_is_left_alone(shared: Sandbox, tmp_path: Path) -> None:
    with staged(shared.endpoint(), {"sync_binlog": "0"}, tmp_path):
        (staging,) = left_behind(tmp_path)
        assert take_over(staging) is None


def test_restore_puts_back_what_a_killed_run_left(
    shared: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_PASSWORD", shared.endpoint().credentials.reveal())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "loadstone" / "settings"
    folder.mkdir(parents=True)
    before = variables(shared)
    carried_out(shared, folder, 12, "after")
    assert variables(shared) != before
    said = restore()
    assert said.returncode == 0, said.stderr
    assert "put back: " in said.stdout and "sync_binlog" in said.stdout
    assert variables(shared) == before
    assert "nothing to put back" in restore().stderr


def restore() -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loadstone.cli", "restore"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_a_journal_without_a_whole_line_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "x-1-2.jsonl").write_text('{"target": "mysql')
    assert read_journal(tmp_path / "x-1-2.jsonl") is None
    assert list(left_behind(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_journal_is_told(tmp_path: Path) -> None:
    (tmp_path / "x-1-2.jsonl").write_text("nothing of ours\n")
    with pytest.raises(SettingsError, match="cannot read the old settings"):
        list(left_behind(tmp_path))


def _set(sandbox: Sandbox, setting: str) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {setting}")
