"""Loadstone killed at random moments: what every command reports afterwards."""

from __future__ import annotations

import json
import logging
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from benches.accounting import account_of
from engine.servers import one
from loadstone.cli.errors import exit_code_of
from loadstone.model.exit_codes import ExitCode
from loadstone.model.result import Result
from loadstone.mysql.facts import describe_server
from loadstone.runs import run_folder
from loadstone.runs.rebuild import read_log
from loadstone.sandbox import Sandbox
from trust.faulted import (
    NIGHTLY,
    Home,
    Victim,
    a_server,
    nothing_is_left,
    wait_until,
)
from trust.tally import COUNTS

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(1200 if NIGHTLY else 600)]

KILLS = 20 if NIGHTLY else 4
KILLS_AMID_SANDBOXES = 20 if NIGHTLY else 2

EXPERIMENT = """\
duration = "1s"
warmup = "0s"
ladder = [4]
repeats = 2

[target]
url = "{url}"

[[workload]]
name = "oltp_update_non_index"
tables = 1
table_size = 500

[factor.durability.full]
[factor.durability.relaxed]
dynamic = {{ sort_buffer_size = 262144, max_connections = 777 }}
"""
RESTLESS = ("gtid", "timestamp", "last_", "innodb_buffer_pool_dump", "innodb_buffer_pool_load")

Said = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The victims' home, in which commands that are called here look for what is left."""
    made = Home(tmp_path / "home")
    made.folder.mkdir()
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sandbox]:
    """A server that is no sandbox to users with another state folder."""
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(tmp_path / "servers"))
            patch.setenv("HOME", str(tmp_path))
            sandbox = stack.enter_context(a_server())
        yield sandbox


def moments(number: int, from_s: float, to_s: float) -> list[float]:
    """A random moment within each of `number` equal parts, in any order: no phase is left out."""
    seed = random.SystemRandom().randrange(2**32)
    logging.getLogger(__name__).warning("seed %s", seed)
    chance = random.Random(seed)
    width = (to_s - from_s) / number
    found = [from_s + (part + chance.random()) * width for part in range(number)]
    chance.shuffle(found)
    return found


def kill(home: Home, when: Callable[[], bool], *words: str) -> None:
    """Start a command, and kill it at a moment, unless it has ended by then."""
    victim = Victim(home, words)
    while not when() and victim.process.poll() is None:
        time.sleep(0.01)
    victim.signal(signal.SIGKILL)
    ended = victim.ended()
    assert ended.code in (-signal.SIGKILL, 0), ended.err
    if ended.code:
        COUNTS["faults injected"] += 1


def after(seconds: float) -> Callable[[], bool]:
    """Whether this many seconds have passed since the call."""
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


def is_changed(server: Sandbox) -> bool:
    """Whether the variable has the experiment's value."""
    return bool(one(server, "SELECT @@GLOBAL.max_connections") == 777)


def variables(server: Sandbox) -> dict[str, str]:
    with server.connect() as connection:
        found = describe_server(connection, server.tcp.target).variables
    return {name: value for name, value in found.items() if not name.startswith(RESTLESS)}


def answers_are_sane(home: Home, said: Said) -> Result | None:
    """Check `runs` and `sandbox list` on what is left; returns the last run, if there is one."""
    assert exit_code_of(["runs", "list"]) == 0
    said.readouterr()
    assert exit_code_of(["sandbox", "list", "--json"]) == 0
    assert json.loads(said.readouterr().out) == []
    code = exit_code_of(["runs", "show", "last", "--json"])
    shown = said.readouterr()
    if not home.found():
        assert (code, "there are no runs in" in shown.err) == (ExitCode.STORE, True)
        return None
    assert code == 0, shown.err
    result = Result.model_validate_json(shown.out)
    assert result.run.state in ("interrupted", "finished")
    assert result == run_folder.load(home.found()[-1])
    for step in read_log(home.found()[-1]).steps:
        account = account_of(step)
        COUNTS["events accounted for"] += account.due
        COUNTS["events unaccounted"] += account.unaccounted
        assert (account.unaccounted, account.missing_s) == (0, 0.0)
    return result


@pytest.mark.nightly
def test_an_experiment_that_is_killed_again_and_again_comes_to_its_end(
    home: Home, server: Sandbox, capsys: Said
) -> None:
    before = variables(server)
    Path("e.toml").write_text(EXPERIMENT.format(url=server.tcp.target.url))
    anew = ("experiment", "e.toml", "--no-observe", "--yes")
    words: tuple[str, ...] = anew
    amid = 0
    for moment in (*moments(KILLS, 0.5, 6.0), None):
        # The last one is killed when a variable is changed, which chance alone may never hit.
        kill(home, (lambda: is_changed(server)) if moment is None else after(moment), *words)
        amid += is_changed(server)
        assert exit_code_of(["restore"]) == 0
        assert variables(server) == before
        assert not list(home.state.glob("settings/*"))
        left = answers_are_sane(home, capsys)
        begun = left is not None and left.run.plan is not None and left.run.state != "finished"
        words = ("resume", "--no-observe", "--yes") if begun else anew
    assert amid, "no kill fell while a variable was changed"
    COUNTS["killed while a variable was changed"] += amid
    ended = home.loadstone(*words)
    assert ended.code == 0, ended.err
    assert variables(server) == before
    nothing_is_left(home, server, was_killed=True)
    result = answers_are_sane(home, capsys)
    assert result and result.run.state == "finished"
    assert {(step.state, step.tally_balances) for step in result.steps} == {("finished", True)}
    assert len(result.steps) >= 4


def test_a_run_that_is_killed_leaves_nothing_of_its_throwaway_server(
    home: Home, capsys: Said
) -> None:
    words = ("run", "oltp_read_write", "--server", "mariadb", "--tables", "1")
    times = ("--table-size", "500", "--concurrency", "4", "--duration", "2s", "--warmup", "0s")
    for moment in moments(KILLS_AMID_SANDBOXES, 0.8, 6.0):
        kill(home, after(moment), *words, *times)
        answers_are_sane(home, capsys)
        wait_until(lambda: not servers_in(home), "the end of its server")
        assert exit_code_of(["sandbox", "stop", "--all"]) == 0
        capsys.readouterr()
        assert not [each for each in home.state.glob("sandboxes/*") if each.is_dir()]
    nothing_is_left(home, was_killed=True)


def servers_in(home: Home) -> list[int]:
    """Servers whose data folders are below this home."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if f"--datadir={home.state}" in " ".join(process.info["cmdline"] or ())
    ]
