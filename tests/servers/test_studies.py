"""The recipes of the field studies, on the releases that the studies ran on and on all others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.model.result import Result, StepResult
from loadstone.runs import run_folder
from servers.conftest import OLDEST, Cell, Release

pytestmark = [
    pytest.mark.server, pytest.mark.slow, pytest.mark.nightly, pytest.mark.servers,
    pytest.mark.timeout(1200),
]  # fmt: skip


def has_pool(release: Release) -> bool:
    """Whether there is a thread pool that anybody may use: MariaDB's, or MySQL's plugin."""
    if release.sandbox.flavour == "mariadb":
        return True
    with release.sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@plugin_dir")
        ((folder,),) = cursor.fetchall()
    return Path(folder, "thread_pool.so").exists()


def carried_out(release: Release, recipe: str, *given: str) -> tuple[list[str], Result]:
    """What a recipe answers on servers of a release that it starts, and the run's result."""
    folder: Path = release.folder / recipe
    folder.mkdir()
    words = [word for each in (f"server={release.name}", *given) for word in ("--set", each)]
    done = called("recipes", "run", recipe, "--quick", *words, folder=folder)
    answers = re.findall(r"^here: +(.*)", done.stdout, re.MULTILINE)
    assert answers, done.stdout
    (run,) = (folder / "runs").iterdir()
    return answers, run_folder.load(run)


def levels(result: Result) -> set[int]:
    """The numbers of users that were measured."""
    return {step.concurrency for step in result.steps}


def rate(steps: list[StepResult]) -> float:
    """The mean rate of repeats."""
    rates = [step.tps for step in steps if step.tps is not None]
    return sum(rates) / len(rates)


def test_group_commit(release: Release, cell: Cell) -> None:
    """Case A: the more users, the more transactions of each sync."""
    answers, result = carried_out(release, "group-commit")
    (ladder,) = (each for each in answers if "transactions/sync: " in each)
    by_users = {
        users: [step for step in result.steps if step.concurrency == users]
        for users in (min(levels(result)), max(levels(result)))
    }
    assert ladder.startswith(("shown: ", "not so here: "))
    syncs = [
        steps[-1].server.transactions_per_sync for steps in by_users.values() if steps[-1].server
    ]
    assert all(syncs), syncs
    rates = [rate(steps) for steps in by_users.values()]
    cell(
        f"{ladder.partition(':')[0]}: {syncs[0]:.1f} to {syncs[1]:.1f} transactions a sync, "
        f"{rates[0]:,.0f} to {rates[1]:,.0f} tps"
    )


def test_thread_pool(release: Release, cell: Cell) -> None:
    """Case B: the same ladder with the pool off and on."""
    if not has_pool(release):
        pytest.skip("this build has no thread pool")
    answers, result = carried_out(release, "thread-pool", "repeats=2")
    most = max(levels(result))
    off, on = (
        rate([each for each in result.steps if each.concurrency == most and each.variant == name])
        for name in ("pool=off", "pool=on")
    )
    cell(f"{100 * (on / off - 1):+.0f} % at {most} connections: {answers[0].partition(':')[0]}")


def test_cost_of_TLS(release: Release, cell: Cell) -> None:
    """Case C: the rate with TLS, by the suite that both ends agree on."""
    versions = OLDEST.get(release.name, ())
    given = [f"tls_version={','.join(versions)}"] if versions else []
    _, result = carried_out(release, "tls", "repeats=6", *given)
    steps = {
        name: [one for one in result.steps if one.variant == name] for name in ("tls=off", "tls=on")
    }
    assert all(step.encrypted_users == step.concurrency for step in steps["tls=on"])
    assert not any(step.encrypted_users for step in steps["tls=off"])
    off, on = (rate(steps[name]) for name in ("tls=off", "tls=on"))
    cell(f"{100 * (on / off - 1):+.0f} % of the rate")
