"""Findings of a run on a real server put to the proof, and its variables as they were after it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.cli.diagnose import findings_of
from loadstone.cli.errors import exit_code_of
from loadstone.lab.prove import Timing
from loadstone.model.finding import Diagnosis, Finding, Setting, Trial
from loadstone.model.result import Result
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.store import folder
from loadstone.target.introspect import describe_server

pytestmark = [pytest.mark.server, pytest.mark.timeout(240)]

try:
    find_server("mariadb")
except SandboxError:
    pytest.skip("no MariaDB here", allow_module_level=True)

RESTLESS = ("gtid", "timestamp", "last_", "innodb_buffer_pool_dump", "innodb_buffer_pool_load")
WORDS = {"proven", "refuted", "not enough evidence"}

# Only one finding is put to the proof, so that its variable is the first that is set.
ONLY_THE_LOG = """
import sys
from loadstone.cli import proving
from loadstone.cli.errors import exit_code_of
all_of = proving.findings_of
def only_the_log(path, result):
    kept = lambda found: tuple(each for each in found.findings if each.cause == "general-log")
    return [each.model_copy(update={"findings": kept(each)}) for each in all_of(path, result)]
proving.findings_of = only_the_log
sys.exit(exit_code_of(["diagnose", sys.argv[1], "--prove"]))
"""


@dataclass(frozen=True)
class Driven:
    """A server that was driven over TLS while it wrote down each statement, and the run of that."""

    server: Sandbox
    run: Path
    state: Path

    def variables(self) -> dict[str, str]:
        with self.server.connect() as connection:
            found = describe_server(connection, self.server.tcp.target).variables
        return {name: value for name, value in found.items() if not name.startswith(RESTLESS)}


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    state = tmp_path_factory.mktemp("state")
    out = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with start_sandbox(SandboxSpec(server="mariadb", settings={"general_log": "ON"})) as server:
            patch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
            where = ("--target", server.tcp.target.url)
            tables = ("--tables", "1", "--table-size", "500")
            assert exit_code_of(["prepare", *where, *tables]) == 0
            times = ("--concurrency", "4", "--duration", "3s", "--warmup", "500ms")
            words = ("run", "oltp_point_select", *where, *times, "--out", str(out))
            assert exit_code_of([*words]) == 0
            (run,) = out.iterdir()
            yield Driven(server, run, state)


@pytest.fixture
def in_state(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(driven.state))
    monkeypatch.setenv("LOADSTONE_PASSWORD", driven.server.tcp.credentials.reveal())


def short(monkeypatch: pytest.MonkeyPatch, units: int = 2) -> None:
    """Trials of so many rounds of half a second: what they say is not what is tested here."""
    spent = Timing(units, 0.6, 0.2, 10.0, 100.0)
    monkeypatch.setattr("loadstone.cli.proving.timing", lambda trial, seconds: spent)


def findings(monkeypatch: pytest.MonkeyPatch, *causes: str, more: tuple[Finding, ...] = ()) -> None:
    """Of all that the rules find, only these; and some that they would never find."""

    def chosen(path: Path, result: Result) -> list[Diagnosis]:
        (found,) = findings_of(path, result)
        kept = tuple(each for each in found.findings if each.cause in causes)
        assert {each.cause for each in kept} == set(causes)
        return [found.model_copy(update={"findings": (*kept, *made_up(found, more))})]

    monkeypatch.setattr("loadstone.cli.proving.findings_of", chosen)


def made_up(found: Diagnosis, more: tuple[Finding, ...]) -> Iterator[Finding]:
    """With figures of the run, as all findings have them."""
    figures = next(each.evidence for each in found.findings if each.evidence)
    for finding in more:
        yield finding.model_copy(update={"evidence": figures})


NO_EFFECT = Finding(
    cause="strictness",
    group="setting",
    sentence="Hosts are blocked after a hundred errors.",
    evidence=(),
    share=0.5,
    confidence=0.5,
    remedy="Allow more of them.",
    trial=Trial(
        kind="dynamic",
        settings=(Setting(name="max_connect_errors", before="100", value="200"),),
        subject="counting errors",
    ),
)


@pytest.mark.usefixtures("in_state")
def test_findings_are_tried_on_the_run_s_server_and_the_proofs_kept(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = driven.variables()
    short(monkeypatch)
    findings(monkeypatch, "tls", more=(NO_EFFECT,))
    assert exit_code_of(["diagnose", str(driven.run), "--prove"]) == 0
    assert driven.variables() == before
    proofs = {proof.cause: proof for proof in folder.load(driven.run).proofs}
    assert proofs.keys() == {"tls", "strictness"}
    shown = capsys.readouterr().out
    for proof in proofs.values():
        assert proof.verdict in WORDS
        assert proof.sentence in shown
        # A busy machine may have units left out; all of them would be told as such.
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
    assert exit_code_of(["runs", "show", str(driven.run)]) == 0
    assert (
        f"proof tls: {proofs['tls'].verdict}: {proofs['tls'].sentence}" in capsys.readouterr().out
    )
    assert exit_code_of(["diagnose", str(driven.run), "--json"]) == 0
    (ladder,) = json.loads(capsys.readouterr().out)["ladders"]
    found = {each["cause"]: each["proof"] for each in ladder["findings"]}
    assert found["tls"] == proofs["tls"].model_dump(mode="json")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.usefixtures("in_state")
def test_after_any_ending_all_variables_can_be_put_back(
    driven: Driven, number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = driven.variables()
    kept = set((driven.run / "proofs").glob("*/journal.jsonl"))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", ONLY_THE_LOG, str(driven.run)]
    with subprocess.Popen(words, env=environment) as proving:
        # Its folder is made after the change was tried once and put back.
        wait_until(lambda: set((driven.run / "proofs").glob("*/journal.jsonl")) > kept)
        wait_until(lambda: driven.variables()["general_log"] == "OFF")
        proving.send_signal(number)
        proving.wait(60)
    if number == signal.SIGINT:
        assert proving.returncode == 130
        assert "not tried  general-log: interrupted" in capfd.readouterr().out
    else:
        assert proving.returncode == -signal.SIGKILL
        assert driven.variables()["general_log"] == "OFF"
        assert exit_code_of(["restore"]) == 0
        assert "put back: general_log" in capfd.readouterr().out
    assert driven.variables() == before


def wait_until(holds: Callable[[], bool], timeout_s: float = 90) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_that_is_no_sandbox_is_not_set_unasked(
    driven: Driven,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Whoever has another state folder does not know that it is a sandbox.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LOADSTONE_PASSWORD", driven.server.tcp.credentials.reveal())
    before = driven.variables()
    short(monkeypatch, units=1)
    findings(monkeypatch, "general-log")
    environment = driven.run / folder.ENVIRONMENT
    told = json.loads(environment.read_text())
    environment.write_text(json.dumps(told | {"sandbox": None}))
    try:
        assert exit_code_of(["diagnose", str(driven.run), "--prove"]) == 7
        place = driven.server.tcp.target.place
        said = f"it would set general_log for all on {place}, which is no sandbox"
        assert said in capsys.readouterr().err
        assert driven.variables() == before
        assert exit_code_of(["diagnose", str(driven.run), "--prove", "--yes"]) == 0
    finally:
        environment.write_text(json.dumps(told))
    assert driven.variables() == before
    (proof,) = (each for each in folder.load(driven.run).proofs if each.cause == "general-log")
    assert proof.verdict in WORDS
