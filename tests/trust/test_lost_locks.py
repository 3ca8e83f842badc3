"""A schema's lock is lost with its connection, and is taken again before the next step."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from loadstone.lab.step import runner
from loadstone.observe import presence
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox
from trust.experiments import AS_TEXT, experiment

pytestmark = [pytest.mark.server, pytest.mark.slow]

SIZES = ("--tables", "1", "--table-size", "100")
LOST = "was lost with its connection, and taken again"


def at_work(server: Sandbox) -> list[int]:
    """The connections that announce the work in the schema."""
    with server.connect() as admin:
        there = presence.at_work(admin, server.tcp.target, server.state.database)
    return [one.holder.connection for one in there]


def cut_amid_each_step(server: Sandbox, monkeypatch: pytest.MonkeyPatch, module: str) -> list[int]:
    """Cut each connection that announces our work; returns how many were cut at each begin."""
    seen: list[int] = []

    def driven(*given: Any) -> Any:
        holders = at_work(server)
        seen.append(len(holders))
        with server.connect() as admin, admin.cursor() as cursor:
            for number in holders:
                cursor.execute(f"KILL {number}")
        until = time.monotonic() + 20
        while at_work(server):
            assert time.monotonic() < until
            time.sleep(0.05)
        return drive_step(*given)

    drive_step = runner.drive_step
    monkeypatch.setattr(f"{module}.drive_step", driven)
    return seen


def test_a_run_takes_its_place_again(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    assert person.server is not None
    person.loadstone("prepare", *person.target, *SIZES)
    seen = cut_amid_each_step(person.server, monkeypatch, "loadstone.lab.step.order")
    words = ("oltp_point_select", *person.target, "--concurrency", "1,2", "--duration", "300ms")
    person.loadstone("run", *words, "--warmup", "0s", "--no-observe")
    assert seen == [1, 1]
    result = run_folder.load(person.only_run())
    assert any(LOST in note for note in result.run.notes)


def test_an_experiment_takes_its_schema_again(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert person.server is not None
    seen = cut_amid_each_step(person.server, monkeypatch, "loadstone.experiments.runner")
    (person.folder / "e.toml").write_text(experiment(person.url, AS_TEXT, "300ms"))
    person.loadstone("experiment", "e.toml", "--no-observe")
    # On a busy machine units are measured again.
    assert len(seen) >= 4 and set(seen) == {1}
    result = run_folder.load(person.only_run())
    assert any(LOST in note for note in result.run.notes)
