"""Findings of a run on a real server are put to the proof, and its variables are restored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import PATIENCE_S, set_globally, wait_until
from loadstone.cli.errors import exit_code_of
from loadstone.diagnosis.of_run import findings_of
from loadstone.diagnosis.trials import client
from loadstone.experiments.trials import FEWEST_ROUNDS, Timing
from loadstone.model.experiment import NetworkLimit
from loadstone.model.finding import Diagnosis, Finding, Setting, Trial
from loadstone.model.message import say
from loadstone.model.result import Result
from loadstone.model.target import Tls
from loadstone.mysql.facts import describe_server
from loadstone.runs import run_folder
from loadstone.sandbox import (
    Sandbox,
    SandboxSpec,
    clear_leftovers,
    list_sandboxes,
    start_sandbox,
)
from loadstone.sandbox.network import limit_line, namespace, passed, why_not
from loadstone.sandbox.state import sandboxes_folder
from pooled import Pool

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(240)]

RESTLESS = ("gtid", "timestamp", "last_", "innodb_buffer_pool_dump", "innodb_buffer_pool_load")
WORDS = {"proven", "refuted", "not enough evidence"}

# Only one finding is put to the proof, so that its variable is the first that is set.
ONLY_THE_LOG = """
import sys
from loadstone.runner import prove as proving
from loadstone.cli.errors import exit_code_of
all_of = proving.findings_of
def only_the_log(*known):
    kept = lambda found: tuple(each for each in found.findings if each.cause == "general-log")
    return [each.model_copy(update={"findings": kept(each)}) for each in all_of(*known)]
proving.findings_of = only_the_log
sys.exit(exit_code_of(["diagnose", sys.argv[1], "--prove"]))
"""


@dataclass(frozen=True)
class Driven:
    """A server that had TLS and wrote down each statement, and the run that was made on it."""

    server: Sandbox
    run: Path

    def variables(self) -> dict[str, str]:
        with self.server.connect() as connection:
            found = describe_server(connection, self.server.tcp.target).variables
        return {name: value for name, value in found.items() if not name.startswith(RESTLESS)}


@pytest.fixture(scope="module")
def driven(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    out = tmp_path_factory.mktemp("runs")
    with (
        pytest.MonkeyPatch.context() as patch,
        pool.schema() as server,
        set_globally(server, general_log=1),
    ):
        patch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
        encrypted = server.endpoint(tls=Tls(mode="required")).target
        where = ("--target", encrypted.url)
        tables = ("--tables", "1", "--table-size", "500")
        assert exit_code_of(["prepare", *where, *tables]) == 0
        times = ("--concurrency", "4", "--duration", "2s", "--warmup", "0s")
        words = ("run", "oltp_point_select", *where, *times, "--out", str(out))
        assert exit_code_of([*words]) == 0
        (run,) = out.iterdir()
        yield Driven(server, run)


@pytest.fixture
def password(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_PASSWORD", driven.server.tcp.credentials.reveal())


def short(monkeypatch: pytest.MonkeyPatch, units: int = 2) -> None:
    """Shorten trials to so many rounds of half a second: their verdicts are not under test here."""
    spent = Timing(units, 0.6, 0.2, 10.0, 100.0)
    monkeypatch.setattr("loadstone.runner.prove.timing", lambda trial, seconds: spent)


def findings(monkeypatch: pytest.MonkeyPatch, *causes: str, more: tuple[Finding, ...] = ()) -> None:
    """Only these of the rules' findings, and some that no rule would report."""

    def chosen(path: Path, result: Result, environment: dict[str, Any]) -> list[Diagnosis]:
        (found,) = findings_of(path, result, environment)
        kept = tuple(each for each in found.findings if each.cause in causes)
        assert {each.cause for each in kept} == set(causes)
        return [found.model_copy(update={"findings": (*kept, *made_up(found, more))})]

    monkeypatch.setattr("loadstone.runner.prove.findings_of", chosen)


def made_up(found: Diagnosis, more: tuple[Finding, ...]) -> Iterator[Finding]:
    """A finding with figures of the run, as all findings have them."""
    figures = next(each.evidence for each in found.findings if each.evidence)
    for finding in more:
        yield finding.model_copy(update={"evidence": figures})


NO_EFFECT = Finding(
    cause="strictness",
    group="setting",
    sentence=say("Hosts are blocked after a hundred errors."),
    evidence=(),
    share=0.5,
    confidence=0.5,
    remedy=say("Allow more of them."),
    trial=Trial(
        kind="dynamic",
        settings=(Setting(name="max_connect_errors", before="100", value="200"),),
        subject=say("counting errors"),
    ),
)

# The rule leaves it out where encryption takes little of the load's CPU, or others take the cores.
ENCRYPTION = NO_EFFECT.model_copy(
    update={
        "cause": "tls",
        "sentence": say("The connection is encrypted."),
        "trial": client("tls", "disabled", "TLSv1.3", say("TLS")),
    }
)


@pytest.mark.usefixtures("password")
def test_findings_are_tried_on_the_run_s_server_and_the_proofs_kept(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = driven.variables()
    short(monkeypatch)
    findings(monkeypatch, "general-log", more=(ENCRYPTION, NO_EFFECT))
    assert exit_code_of(["diagnose", str(driven.run), "--prove"]) == 0
    assert driven.variables() == before
    proofs = {proof.cause: proof for proof in run_folder.load(driven.run).proofs}
    assert proofs.keys() == {"general-log", "tls", "strictness"}
    shown = " ".join(capsys.readouterr().out.split())
    for proof in proofs.values():
        assert proof.verdict in WORDS
        assert proof.sentence in shown
        # On a busy machine units may be left out, and each would be reported as such.
        assert proof.left_out or (proof.change_low is not None and proof.units == 2)
        assert (
            proof.change_low is None
            or proof.change is None
            or proof.change_high is None
            or (proof.change_low <= proof.change <= proof.change_high)
        )
    # TLS was really off in the steps with the change, and on in the others.
    steps = json.loads((driven.run / proofs["tls"].steps / "result.json").read_text())["steps"]
    assert {(step["variant"], step["encrypted_users"]) for step in steps} == {
        ("trial=before", 4),
        ("trial=changed", 0),
    }
    assert exit_code_of(["runs", "show", str(driven.run), "--wide"]) == 0
    assert (
        f"proof tls: {proofs['tls'].verdict}: {proofs['tls'].sentence}" in capsys.readouterr().out
    )
    assert exit_code_of(["diagnose", str(driven.run), "--json"]) == 0
    (ladder,) = json.loads(capsys.readouterr().out)["ladders"]
    found = {each["cause"]: each["proof"] for each in ladder["findings"]}
    assert found["general-log"] == proofs["general-log"].model_dump(mode="json")


@pytest.mark.usefixtures("password")
def test_who_may_set_nothing_is_told_what_to_grant(
    driven: Driven,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def ask(*statements: str) -> None:
        with driven.server.connect() as connection, connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    request.addfinalizer(lambda: ask("DROP USER humble"))
    ask("CREATE USER humble IDENTIFIED BY 'humble'", "GRANT SELECT, PROCESS ON *.* TO humble")
    monkeypatch.setenv("LOADSTONE_PASSWORD", "humble")
    asked = driven.run / run_folder.RUN
    before, user = asked.read_text(), driven.server.accounts[0].user
    humble = before.replace(f'"user": "{user}"', '"user": "humble"')
    assert humble != before
    variables = driven.variables()
    short(monkeypatch, units=1)
    findings(monkeypatch, "general-log")
    asked.write_text(humble)  # which breaks its seal
    try:
        assert exit_code_of(["diagnose", str(driven.run), "--prove", "--trust-folder"]) == 0
    finally:
        asked.write_text(before)
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("not tried gen") == 1
    assert "cannot set general_log" in told and "GRANT SYSTEM_VARIABLES_ADMIN" in told
    assert driven.variables() == variables


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGKILL, marks=pytest.mark.smoke), signal.SIGINT]
)
@pytest.mark.usefixtures("password")
def test_after_any_ending_all_variables_can_be_put_back(
    driven: Driven, number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = driven.variables()
    kept = set((driven.run / "proofs").glob("*/journal.jsonl"))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", ONLY_THE_LOG, str(driven.run)]
    with subprocess.Popen(words, env=environment) as proving:
        # Its folder is created after the change was tried once and undone.
        wait_until(lambda: set((driven.run / "proofs").glob("*/journal.jsonl")) > kept)
        wait_until(lambda: driven.variables()["general_log"] == "OFF")
        proving.send_signal(number)
        proving.wait(PATIENCE_S)
    if number == signal.SIGINT:
        assert proving.returncode == 130
        assert "not tried  general-log: interrupted" in capfd.readouterr().out
    else:
        assert proving.returncode == -signal.SIGKILL
        assert driven.variables()["general_log"] == "OFF"
        assert exit_code_of(["restore"]) == 0
        assert "restored: general_log" in capfd.readouterr().out
    assert driven.variables() == before


RESTARTED = """
import sys
from loadstone.runner import prove as proving
from loadstone.cli.errors import exit_code_of
from loadstone.model.finding import Setting, Trial
trial = Trial(
    kind="start",
    settings=(Setting(name="thread_handling", before=None, value="pool-of-threads"),),
    subject="a thread for each connection",
)
all_of = proving.findings_of
def with_a_restart(*known):
    (found,) = all_of(*known)
    kept = [each for each in found.findings if each.cause == "general-log"]
    changed = tuple(each.model_copy(update={"trial": trial}) for each in kept)
    return [found.model_copy(update={"findings": changed})]
proving.findings_of = with_a_restart
sys.exit(exit_code_of(["diagnose", sys.argv[1], "--prove"]))
"""


@pytest.mark.usefixtures("password")
def test_a_kill_amid_restarts_leaves_no_server_and_no_folder(driven: Driven) -> None:
    before, kept = driven.variables(), {each.name for each in list_sandboxes()}
    journals = set((driven.run / "proofs").glob("*/journal.jsonl"))
    sandboxes = sandboxes_folder()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", RESTARTED, str(driven.run)]
    with subprocess.Popen(words, env=environment) as proving:
        # The trial's steps are running: both servers were up, and one of them still is.
        wait_until(lambda: set((driven.run / "proofs").glob("*/journal.jsonl")) > journals)
        proving.kill()
        proving.wait(PATIENCE_S)
    left = [each for each in sandboxes.iterdir() if each.is_dir() and each.name not in kept]
    assert len(left) == 2, "each side has a server of its own"
    # The next start clears away what is left, including a server that was starting.
    clear_leftovers()
    assert {each.name for each in list_sandboxes()} == kept
    assert not [each for each in left if each.exists() or is_up(each)]
    assert exit_code_of(["restore"]) == 0
    assert driven.variables() == before


def is_up(sandbox: Path) -> bool:
    """Whether a server with this data folder is running."""
    return any(
        str(sandbox / "data") in " ".join(process.info["cmdline"] or ())
        for process in psutil.process_iter(["cmdline"])
    )


@pytest.mark.smoke
def test_a_server_that_is_no_sandbox_is_not_set_unasked(
    driven: Driven,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A user with another state folder cannot know that it is a sandbox, nor whose run it is.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LOADSTONE_PASSWORD", driven.server.tcp.credentials.reveal())
    before = driven.variables()
    short(monkeypatch, units=1)
    findings(monkeypatch, "general-log")
    environment = driven.run / run_folder.ENVIRONMENT
    told = json.loads(environment.read_text())
    environment.write_text(json.dumps(told | {"sandbox": None}))
    prove = ["diagnose", str(driven.run), "--prove", "--trust-folder"]
    try:
        assert exit_code_of(prove) == 7
        place = driven.server.tcp.target.place
        said = f"it would set general_log for all on {place}, which is no sandbox"
        assert said in capsys.readouterr().err
        assert driven.variables() == before
        assert exit_code_of([*prove, "--yes"]) == 0
    finally:
        environment.write_text(json.dumps(told))
    assert driven.variables() == before
    (proof,) = (each for each in run_folder.load(driven.run).proofs if each.cause == "general-log")
    assert proof.verdict in WORDS


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")
def test_a_full_line_is_found_and_proven_by_going_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = NetworkLimit(bits_per_s=8_000_000)
    refused = why_not(limit)
    if refused:
        pytest.skip(f"not evaluated: {refused[1]}")
    short(monkeypatch, units=FEWEST_ROUNDS)
    with namespace() as line, start_sandbox(SandboxSpec(namespace=line)) as server:
        monkeypatch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
        tables = ("--tables", "1", "--table-size", "1000")
        assert exit_code_of(["prepare", "--target", server.local.target.url, *tables]) == 0
        limit_line(line, limit)
        words = ("run", "oltp_read_only", "--target", server.tcp.target.url, "--json")
        times = ("--concurrency", "8", "--duration", "3s", "--warmup", "0s")
        out = ("--out", str(tmp_path / "runs"))
        assert exit_code_of([*words, *times, *out]) == 0
        assert passed(line).held_back > 0
        found, _ = diagnosed(capsys, "last", *out)
        if "line-full" not in found and found.keys() & {"noisy-neighbour", "steal", "client-bound"}:
            pytest.skip("not evaluated: others fill this host, and no line is accused then")
        only = ("--prove", "--prove-only", "line-full")
        found, not_tried = diagnosed(capsys, "last", *only, *out)
    assert "line-full" not in not_tried, not_tried
    proof = found["line-full"]["proof"]
    assert [each["name"] for each in proof["trial"]["settings"]] == ["connect"]
    # On a busy machine too few rounds may agree, but the opposite must not be found.
    assert proof["verdict"] != "refuted"
    if proof["left_out"] and proof["cost"] is None:
        pytest.skip(f"not evaluated, rounds were left out: {proof['left_out']}")
    assert proof["cost"] > 0.2
    assert proof["verdict"] != "proven" or proof["sentence"].startswith("the line costs ")


def diagnosed(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Findings of a run of one ladder, by cause; and why the others were not tried."""
    capsys.readouterr()
    assert exit_code_of(["diagnose", *words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (ladder,) = said["ladders"]
    not_tried = {each["cause"]: each["why"] for each in said["not_tried"]}
    return {each["cause"]: each for each in ladder["findings"]}, not_tried
