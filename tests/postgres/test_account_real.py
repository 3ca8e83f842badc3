"""Where users' time goes on a durable PostgreSQL, against a wait of a known length."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from loadstone.runs import run_folder
from loadstone.sandbox import SandboxSpec, start_sandbox
from pooled import need
from postgres.test_commands import only_run

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.nightly]

DELAY_S = 0.02
USERS = 4
TOLERANCE = 0.05


def test_a_configured_delay_is_what_it_is_and_all_places_are_all_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = {"commit_delay": str(round(DELAY_S * 1e6)), "commit_siblings": "0"}
    with start_sandbox(SandboxSpec(server=need("postgresql"), settings=settings)) as sandbox:
        person = Person(tmp_path, sandbox, careful=False)
        person.loadstone("prepare", "hot_row", *person.target)
        person.loadstone(
            "run", "hot_row", *person.target, "--concurrency", str(USERS), "--duration", "10s",
            "--warmup", "1s", "--out", "runs",
        )  # fmt: skip
    (step,) = run_folder.load(only_run(tmp_path)).steps
    account, server = step.account, step.server
    assert account is not None
    assert server is not None
    assert server.log_syncs_per_s
    (delay,) = (one for one in account.entries if one.place == "commit delay")
    assert delay.low is not None
    assert delay.high is not None
    # Who syncs the log sleeps before that, and all others wait for it.
    truth = server.log_syncs_per_s * DELAY_S / USERS
    assert delay.low - TOLERANCE <= truth <= delay.high + TOLERANCE
    assert account.share_of("commit") > delay.share
    assert account.unnamed < 0.1
    assert account.beyond < 0.05
