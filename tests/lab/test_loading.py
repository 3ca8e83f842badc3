"""A load that a user wants to end, in each of its phases."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from loadstone.lab.step.interrupts import Interrupted
from loadstone.lab.tables import load as tables_load
from loadstone.lab.tables import waiting
from loadstone.lab.tables.load import Loader, layout_for
from loadstone.model.engine_plan import LoadPlan
from loadstone.model.records import LoadEnd
from loadstone.model.target import Endpoint, Target
from loadstone.mysql import family
from loadstone.observe import presence
from loadstone.runner import tables as filling
from loadstone.runner.tables import Filling, fill
from loadstone.runner.view import Quiet
from loadstone.servers.guard import Consent, PrepareDecision, SchemaState

PLAN = LoadPlan(layout=layout_for("sbtest", 5000, 1), parallel=1, seed=0)
END = LoadEnd(reason="finished", seconds=1.0, rows=5000, rows_loaded=5000, method="insert")


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], None]]:
    """What happens in each phase, if anything."""
    doing: dict[str, Callable[[], None]] = {}

    def phase(name: str, answer: object = None) -> None:
        def step(*arguments: object, **more: object) -> object:
            doing.get(name, lambda: None)()
            return answer

        owner = tables_load if name in ("_load", "decide_prepare") else family
        monkeypatch.setattr(owner, name, step)

    @contextmanager
    def connect(*arguments: object, **more: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(tables_load, "connect", connect)
    monkeypatch.setattr(waiting.Waits, "connected", connect)
    monkeypatch.setattr(presence, "alone", connect)
    monkeypatch.setattr(tables_load, "_refuse_another_load", lambda *arguments: None)
    monkeypatch.setattr(tables_load, "_refuse_strangers", lambda *arguments: None)
    phase("is_passed_on", False)
    phase("read_schema", SchemaState(schema_name="shop", exists=True))
    phase("decide_prepare", PrepareDecision(continues=(), creates_schema=False))
    phase("list_tables")
    phase("takes_files", True)
    phase("_load", END)
    phase("mark_ready")
    return doing


def load() -> LoadEnd:
    return fill(PLAN, Endpoint(target=Target()), Filling(Consent(yes=True)), Quiet())


@pytest.mark.parametrize("phase", ["read_schema", "list_tables", "_load", "mark_ready"])
def test_ctrl_c_ends_a_load_in_every_phase(
    phase: str, calls: dict[str, Callable[[], None]]
) -> None:
    times = []

    def signalled() -> None:
        times.append(phase)
        if len(times) == 1:
            ctrl_c()

    calls[phase] = signalled
    with pytest.raises(Interrupted):
        load()
    assert len(times) == 1


def test_ctrl_c_in_the_last_moment_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepared(plan: LoadPlan, loader: Loader) -> LoadEnd:
        ctrl_c()
        return END

    monkeypatch.setattr(filling, "prepare", prepared)
    with pytest.raises(Interrupted):
        load()


@pytest.mark.parametrize("phase", ["list_tables", "mark_ready"])
def test_a_second_ctrl_c_does_not_wait_for_the_server(
    phase: str, calls: dict[str, Callable[[], None]]
) -> None:
    def twice() -> None:
        ctrl_c()
        ctrl_c()
        pytest.fail("went on after a second Ctrl-C")

    calls[phase] = twice
    with pytest.raises(KeyboardInterrupt):
        load()
