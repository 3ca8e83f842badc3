"""What all tests share: lanes, servers, isolated state, the scripted engine."""

from __future__ import annotations

import gc
import importlib
import ipaddress
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st

import scripted_engine
from alone import Room
from lanes import Watch, count_syncs, lane_of, lines_are_counted, places_of
from loadstone.sandbox import Sandbox
from pooled import Pool

# It compares the output of two programs, and shows what differs.
pytest.register_assert_rewrite("sysbench.comparing")

# How long an example takes to run or to generate depends on the machine.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")

_SHOWN = 400
"""The longest command line, in characters: a server's has all its options."""

_ROOM = pytest.StashKey[Room]()
_WATCH = pytest.StashKey[Watch]()


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sandboxes, journals and seals of this worker's tests are in a folder of their own.

    So are the user's defaults: there are none. What is printed has no width but what a test sets.
    """
    state = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("LOADSTONE_KEPT_GIB", "0")  # a test starts on what it loads itself
        patch.delenv("LOADSTONE_CONFIG", raising=False)
        patch.delenv("COLUMNS", raising=False)  # pytest sets it to its own terminal's
        yield state


@pytest.fixture(scope="session", autouse=True)
def a_disk_with_room() -> Iterator[None]:
    """How full this machine's disk is ends no test's run; a test of that sets its own limit."""
    with pytest.MonkeyPatch.context() as patch:
        room = ("disk_free<1MB", "disk_free<1MB")
        patch.setattr("loadstone.lab.protection.protector.NEARLY_FULL", room)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_resolver() -> Iterator[None]:
    """Made-up hosts are unknown at once: how long a resolver takes to say so is not our subject."""
    asked = socket.getaddrinfo

    def known(host: Any, *arguments: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in (None, "", "localhost", socket.gethostname()) and not _is_address(name):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return asked(host, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", known)
        yield


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


@pytest.fixture(scope="session", autouse=True)
def what_is_loaded_once() -> None:
    """Load once what all tests use, so that the first test does not pay for it."""
    for name in ("jsonschema", "polars", "scipy.stats", "loadstone.cli.app"):
        importlib.import_module(name)
    # Unicode's table, which hypothesis makes once.
    find(st.text(), lambda text: True, settings=settings(database=None, max_examples=1))


@pytest.fixture(scope="session")
def pool(state_of_its_own: Path) -> Iterator[Pool]:
    """Servers that run until the worker ends."""
    with ExitStack() as stack:
        yield Pool(stack, state_of_its_own)


@pytest.fixture
def own_schema(pool: Pool) -> Iterator[Sandbox]:
    """The pool's MariaDB with an empty schema of the test's own."""
    with pool.schema() as server:
        yield server


class _Alone:
    """A schema's lock on a made-up server."""

    def __init__(self, endpoint: object) -> None: ...

    def renew(self) -> None: ...

    def close(self) -> None: ...


def _nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up server has no locks, and no tables that could be dropped."""

    def unchanged(*arguments: object) -> object:
        from loadstone.experiments.changes import Changes

        return Changes("a double")

    from loadstone.lab.protection.company import Company

    nobody = nullcontext(Company([], []))
    monkeypatch.setattr("loadstone.runner.run.beside_others", lambda endpoints: nobody)
    monkeypatch.setattr("loadstone.experiments.servers.Alone", _Alone)
    for name in ("runner.run", "runner.prove", "experiments.servers"):
        monkeypatch.setattr(f"loadstone.{name}.look_before_load", lambda *arguments, **asked: [])
    monkeypatch.setattr("loadstone.experiments.servers.changes_on", unchanged)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[scripted_engine.Script]:
    """Replaces the engine by the scripted one; the script says what its steps do."""
    _nobody_else(monkeypatch)
    fresh = scripted_engine.Script()
    monkeypatch.setitem(sys.modules, "loadstone._engine", scripted_engine)
    monkeypatch.setattr(scripted_engine, "SCRIPT", fresh)
    monkeypatch.setattr(scripted_engine, "PLANS", [])
    yield fresh


class _Shared:
    """A plugin: pytest does not report a session's fixtures to a conftest below the root."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        """The time of shared fixtures counts for no single test."""
        watch = request._pyfuncitem.stash.get(_WATCH, None)
        shared = watch is not None and fixturedef.scope != "function"
        with watch.paused() if shared and watch else nullcontext():
            return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Restore SIGHUP, which nohup ignores: programs that tests start must not inherit that."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.pluginmanager.register(_Shared())
    count_syncs()


@pytest.hookimpl(trylast=True)  # of what is not selected no module's place depends
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first and tests that judge time last; keep a module's tests on one worker."""
    places = places_of(items)
    items.sort(key=lambda item: places[item.path])  # stable: within a module the order stays


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tests that judge time run while no other does."""
    config = item.config
    if _ROOM not in config.stash:
        config.stash[_ROOM] = Room(_folder_of_all_workers(config))
    with config.stash[_ROOM].entered(alone=lane_of(item) == "timing"):
        return (yield)


def pytest_collection_finish() -> None:
    """Leave what was collected out of later garbage collections: it stays, and is much."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """The time of a test's own fixtures counts as the test's."""
    if lane_of(item) is None:
        item.stash[_WATCH] = Watch()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a slow test that has no lane: it would make everybody wait."""
    yield
    if _WATCH in item.stash:
        item.stash[_WATCH].judge(counted=lines_are_counted())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the files of the lock."""
    if _ROOM in config.stash:
        config.stash[_ROOM].close()


def _folder_of_all_workers(config: pytest.Config) -> Path:
    """The test run's own temporary folder, which its workers share."""
    base = Path(config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]
    return base.parent if hasattr(config, "workerinput") else base


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List programs that were started and never waited for: Python only knows their ids."""
    gc.collect()
    started = [each for each in gc.get_objects() if isinstance(each, subprocess.Popen)]
    for process in started:
        if process.returncode is None:
            state = "ended" if process.poll() is not None else "runs on"
            told = f"nobody waited for {process.args!r}"[:_SHOWN]
            terminalreporter.write_line(f"{told} ({state})", red=True)
