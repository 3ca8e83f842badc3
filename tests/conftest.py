"""What tests of the person-facing side share: the engine's double, and runs that it filled."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import scripted_engine

# How long an example takes, or how long it takes to think of one, is the machine's own matter.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")

_SHOWN = 400
"""Characters of a command line: a server's has all its options."""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[scripted_engine.Script]:
    """The engine's double in place of the engine; the script says what its steps do."""
    fresh = scripted_engine.Script()
    monkeypatch.setitem(sys.modules, "loadstone._engine", scripted_engine)
    monkeypatch.setattr(scripted_engine, "SCRIPT", fresh)
    monkeypatch.setattr(scripted_engine, "PLANS", [])
    yield fresh


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the programs that somebody started and never waited for: Python knows only their ids."""
    gc.collect()
    started = [each for each in gc.get_objects() if isinstance(each, subprocess.Popen)]
    for process in started:
        if process.returncode is None:
            state = "ended" if process.poll() is not None else "runs on"
            told = f"nobody waited for {process.args!r}"[:_SHOWN]
            terminalreporter.write_line(f"{told} ({state})", red=True)
