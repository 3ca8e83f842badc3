"""Findings of a run on a real PostgreSQL are put to the proof, and its settings are as before."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.experiments.trials import Timing
from loadstone.model.finding import Diagnosis, Evidence, Finding, Setting, Trial
from loadstone.model.message import plain, say
from loadstone.model.result import Result
from loadstone.runs import run_folder
from pooled import need
from postgres.server import LONGEST_S, PASSWORD, Server

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(240)]

USERS = 4
SHORT = Timing(units=1, window_s=0.5, warmup_s=0.1, planned_s=10.0, most_s=100.0)
LOAD = ("--concurrency", str(USERS), "--duration", "1.5", "--warmup", "0", "--tables", "1")
SMALL = ("--tables", "1", "--table-size", "500")
SHOWN = "SELECT current_setting('track_io_timing'), current_setting('wal_writer_delay')"

# A process of its own, which is killed, with one finding that no rule reports.
BY_ITSELF = """
import sys
from loadstone.cli.errors import exit_code_of
from postgres.test_proving import TIMED, instead
from loadstone.runner import prove
prove.findings_of = instead(TIMED)
sys.exit(exit_code_of(["diagnose", sys.argv[1], "--prove", "--yes"]))
"""


def finding(cause: str, kind: str, **settings: tuple[str | None, str]) -> Finding:
    """A finding with a trial of this kind, as a rule would make it."""
    changes = tuple(
        Setting(name=name, before=before, value=value) for name, (before, value) in settings.items()
    )
    trial = Trial.model_validate({"kind": kind, "settings": changes, "subject": plain(cause)})
    seen = Evidence(
        counter=plain("x"), value=1.0, unit=plain(""), threshold=None, users=USERS, from_s=0.0,
        to_s=1.0,
    )  # fmt: skip
    return Finding(
        cause=cause,
        group="setting",
        sentence=say("It is set so."),
        evidence=(seen,),
        share=0.5,
        confidence=0.5,
        remedy=say("Set it otherwise."),
        trial=trial,
    )


TIMED = finding(
    "timing", "dynamic", track_io_timing=("off", "on"), wal_writer_delay=("300ms", "400ms")
)
PLANS = finding("plans", "dynamic", jit=("on", "off"), work_mem=("4MB", "64MB"))
"""Each session may set these for itself."""

ENCRYPTED = finding("tls", "client", tls=("TLSv1.3", "disabled"))
PREPARED = finding("protocol", "client", prepared=("on", "off"))
BY_TCP = finding("way", "client", connect=("tcp", "socket"))
MORE = finding("few-users", "users", concurrency=(str(USERS), str(2 * USERS)))
MEMORY = finding("memory", "start", shared_buffers=("16MB", "32MB"))
LOST = finding("commits", "dynamic", synchronous_commit=("on", "off")).model_copy(
    update={
        "trial": Trial(
            kind="dynamic",
            settings=(Setting(name="synchronous_commit", before="on", value="off"),),
            subject=say("TLS"),
            risks_commits=True,
        )
    }
)
LOGGED = finding("log", "dynamic", log_statement=("all", "none"))
RESTART = finding("slots", "start", max_connections=("20", "40"))
MISSPELT = finding("misspelt", "dynamic", no_such_setting=(None, "1"))


def instead(*chosen: Finding) -> Any:
    """Replaces the rules: these findings at the run's own ladder."""
    from loadstone.diagnosis.of_run import findings_of

    def found(path: Path, result: Result, environment: dict[str, Any]) -> list[Diagnosis]:
        (ladder,) = findings_of(path, result, environment)
        return [ladder.model_copy(update={"findings": chosen})]

    return found


@dataclass(frozen=True)
class Driven:
    """A server over TLS, the folder of its runs, and a run on it."""

    server: Server
    folder: Path

    @property
    def run(self) -> Path:
        (run,) = (self.folder / "runs").iterdir()
        return run

    @property
    def settings(self) -> list[list[str]]:
        return self.server.asked(SHOWN)

    @property
    def file(self) -> list[str]:
        return kept(self.server)


def kept(server: Server) -> list[str]:
    """The lines of the file that ALTER SYSTEM writes."""
    return sorted((server.folder / "data/postgresql.auto.conf").read_text().splitlines())


@pytest.fixture
def driven(
    server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driven]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOADSTONE_PASSWORD", PASSWORD)
    secret = PASSWORD.replace("'", "''")
    server.asked(f"CREATE ROLE prover SUPERUSER LOGIN PASSWORD '{secret}'")
    server.asked("ALTER SYSTEM SET wal_writer_delay = '300ms';\nSELECT pg_reload_conf()")
    target = f"postgresql://prover@127.0.0.1:{server.port}/{database}?sslmode=require"
    try:
        called("prepare", "oltp_point_select", "--target", target, *SMALL, folder=tmp_path)
        called("run", "oltp_point_select", "--target", target, *LOAD, folder=tmp_path)
        yield Driven(server, tmp_path)
    finally:
        server.asked("ALTER SYSTEM RESET ALL;\nSELECT pg_reload_conf()")
        server.asked(f"DROP DATABASE {database} WITH (FORCE);\nCREATE DATABASE {database}")
        server.asked("DROP ROLE prover")


def steps_of(run: Path, cause: str) -> list[dict[str, Any]]:
    (proof,) = (each for each in run_folder.load(run).proofs if each.cause == cause)
    steps = json.loads((run / proof.steps / "result.json").read_text())["steps"]
    return list(steps)


def test_trials_change_what_they_say_and_the_server_is_then_as_before(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file = driven.settings, driven.file
    assert before == [["off", "300ms"]]
    monkeypatch.setattr("loadstone.runner.prove.timing", lambda trial, seconds: SHORT)
    tried = (TIMED, ENCRYPTED, PREPARED, BY_TCP, MORE)
    chosen = (*tried, RESTART, MISSPELT)
    monkeypatch.setattr("loadstone.runner.prove.findings_of", instead(*chosen))
    words = ("diagnose", "last", "--prove", "--prove-time", "10m")
    unasked = called(*words, "--prove-only", "timing", folder=driven.folder, code=7)
    assert "it would set track_io_timing, wal_writer_delay for all on" in unasked.stderr
    said = " ".join(called(*words, "--yes", folder=driven.folder).stdout.split())
    assert (driven.settings, driven.file) == (before, file)
    proofs = {proof.cause for proof in run_folder.load(driven.run).proofs}
    assert proofs == {each.cause for each in tried}, said
    encrypted = {(one["variant"], one["encrypted_users"]) for one in steps_of(driven.run, "tls")}
    assert encrypted == {("trial=before", USERS), ("trial=changed", 0)}
    ways = {
        (one["variant"], "socket=" in one["targets"][0]["target"])
        for one in steps_of(driven.run, "way")
    }
    assert ways == {("trial=before", False), ("trial=changed", True)}
    assert {one["concurrency"] for one in steps_of(driven.run, "few-users")} == {USERS, 2 * USERS}
    for cause, why in (
        ("slots", "it takes a restart, and only throwaway servers"),
        ("misspelt", "has no setting no_such_setting"),
    ):
        assert f"not tried {cause}: " in said
        assert why in said


def test_what_each_session_may_set_is_tried_without_asking_and_reaches_nobody_else(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file = driven.settings, driven.file
    monkeypatch.setattr("loadstone.runner.prove.timing", lambda trial, seconds: SHORT)
    monkeypatch.setattr("loadstone.runner.prove.findings_of", instead(PLANS, LOST))
    words = ("diagnose", "last", "--prove", "--prove-time", "10m")
    said = " ".join(called(*words, folder=driven.folder).stdout.split())
    assert {proof.cause for proof in run_folder.load(driven.run).proofs} == {"plans"}, said
    assert "not tried commits: a crash of" in said
    called(*words, "--prove-only", "commits", "--yes", folder=driven.folder)
    assert "commits" in {proof.cause for proof in run_folder.load(driven.run).proofs}
    assert (driven.settings, driven.file) == (before, file)


def test_after_a_kill_the_settings_are_put_back(driven: Driven) -> None:
    before, file = driven.settings, driven.file
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", BY_ITSELF, str(driven.run)]
    with (
        (driven.folder / "said").open("w") as said,
        subprocess.Popen(
            words, cwd=driven.folder, env=environment, stdout=said, stderr=said
        ) as proving,
    ):
        until = time.monotonic() + LONGEST_S / 2
        try:
            # Its steps' folder is made after the change was tried once and undone.
            while not [*driven.run.glob("proofs/*/journal.jsonl")] or driven.settings == before:
                assert proving.poll() is None, (driven.folder / "said").read_text()
                assert time.monotonic() < until
                time.sleep(0.02)
        finally:
            proving.send_signal(signal.SIGKILL)
    assert driven.settings != before
    assert "restored: " in called("restore", folder=driven.folder).stdout
    assert (driven.settings, driven.file) == (before, file)


@pytest.mark.nightly
def test_trials_of_a_throwaway_server_that_is_gone_run_on_one_like_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("postgresql")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("loadstone.runner.prove.timing", lambda trial, seconds: SHORT)
    monkeypatch.setattr("loadstone.runner.prove.findings_of", instead(MEMORY, LOST, LOGGED))
    started = (
        "--server",
        "postgresql",
        "--set",
        "shared_buffers=16MB",
        "--set",
        "log_statement=all",
    )
    words = ("run", "oltp_point_select", *started, *LOAD, "--table-size", "500")
    said = called(*words, "--prove", "--prove-time", "10m", folder=tmp_path).stdout
    (run,) = (tmp_path / "runs").iterdir()
    assert {proof.cause for proof in run_folder.load(run).proofs} == {"memory", "commits", "log"}, (
        said
    )
    (proof,) = (one for one in run_folder.load(run).proofs if one.cause == "memory")
    environment = (run / proof.steps / "environment.json").read_text()
    assert "shared_buffers" in environment
    for cause in ("memory", "log"):
        assert {one["state"] for one in steps_of(run, cause)} == {"finished"}
