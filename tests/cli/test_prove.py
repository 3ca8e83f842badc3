"""`diagnose --prove` from the command line to the folder, with the scripted engine."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import scripted_engine
from loadstone.cli.errors import exit_code_of
from loadstone.experiments.servers import Servers
from loadstone.lab.step.runner import Lab
from loadstone.lab.tables.discover import Data, Wanted
from loadstone.lab.tables.inspect import InspectedTarget
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment
from loadstone.model.finding import Diagnosis, Evidence, Finding, Proof, Setting, Trial
from loadstone.model.message import Message, plain, say
from loadstone.model.plan import WorkloadSpec
from loadstone.model.target import Endpoint, Target
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.proofs import PROOFS
from loadstone.runs.recorder import read_asked, write_private_json
from loadstone.servers.facts import ServerFacts
from recorded import a_plan, recorded_run
from scripted_engine import Script

HERE = Target(host="127.0.0.1", port=3301, user="bench", database="sbtest")
ELSEWHERE = HERE.model_copy(update={"host": "db1"})
TLS = ("client", "tls", "TLSv1.3", "disabled")
COMPRESSION = ("client", "compression", "off", "zlib")
LOG = ("dynamic", "general_log", "ON", "OFF")
SYNCS = ("dynamic", "sync_binlog", "1", "0")


def made_up(endpoint: Endpoint) -> InspectedTarget:
    facts = ServerFacts(
        version="10.11.0",
        flavour="mariadb",
        comment="",
        variables={"max_connections": "100000", "general_log": "OFF"},
        connected=1,
        cipher="",
        max_connections=100_000,
    )
    return InspectedTarget(endpoint=endpoint, facts=facts, data=Data(tables=2, table_size=100))


def with_tables(endpoint: Endpoint, wanted: Wanted, timeout_s: float) -> InspectedTarget:
    return made_up(endpoint)


@pytest.fixture(autouse=True)
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("loadstone.experiments.servers.described", made_up)
    monkeypatch.setattr("loadstone.experiments.servers.inspect_target", with_tables)
    monkeypatch.setattr("loadstone.runner.prove.inspect_target", with_tables)
    # A made-up server has no counters that can be read.
    monkeypatch.setattr("loadstone.runner.prove.looking", lambda *told: lambda *step: None)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def a_run(target: Target = HERE) -> Path:
    plan = a_plan(
        targets=(target,),
        workload=WorkloadSpec(name="oltp_point_select", tables=2, table_size=100),
        ladder=(4,),
    )
    return recorded_run(Path("runs"), plan)


def finds(monkeypatch: pytest.MonkeyPatch, *trials: tuple[str, str, str, str]) -> Diagnosis:
    """Let the diagnosis find these, each named as what it changes."""
    figure = Evidence(
        counter=plain("x"),
        value=1.0,
        unit=plain(""),
        threshold=None,
        users=4,
        from_s=None,
        to_s=None,
    )
    findings = tuple(
        Finding(
            cause=name,
            group="setting",
            sentence=say("It is {name}.", name=name),
            evidence=(figure,),
            share=0.3,
            confidence=0.6,
            remedy=say("Change it."),
            steps=(1,),
            trial=Trial.model_validate(
                {
                    "kind": kind,
                    "settings": ({"name": name, "before": before, "value": value},),
                    "subject": name,
                    "risks_commits": name == "sync_binlog",
                }
            ),
        )
        for kind, name, before, value in trials
    )
    made = Diagnosis(
        variant="default",
        workload="oltp_point_select",
        answer=say("It is."),
        findings=findings,
        not_evaluated=(),
    )
    monkeypatch.setattr("loadstone.runner.prove.findings_of", lambda *_: [made])
    return made


def faster_without(script: Script, is_without: Callable[[dict[str, Any]], bool]) -> None:
    """Rates: 1,000 events a second, and 1,450 where the plan is without the cost in question."""
    now: dict[str, int] = {}

    def about_to(plan: dict[str, Any]) -> None:
        now["tps"] = 1450 if is_without(plan) else 1000
        now["step"] = int(plan["tag"].removeprefix("step-"))

    script.before_connect = about_to
    script.tps = lambda users, second: now["tps"] + 3 * now["step"] % 5


def without_tls(plan: dict[str, Any]) -> bool:
    return bool(plan["targets"][0]["tls"]["mode"] == "disabled")


def prove(*words: str) -> int:
    return exit_code_of(["diagnose", "last", "--prove", *words])


def proofs(run: Path) -> tuple[Proof, ...]:
    return run_folder.load(run).proofs


def test_what_costs_is_proven_and_what_does_not_refuted(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run()
    finds(monkeypatch, TLS, COMPRESSION)
    faster_without(script, without_tls)
    scripted_engine.PLANS.clear()
    assert prove("--prove-time", "3m") == 0
    out, err = capsys.readouterr()
    first, *plans = err.splitlines()
    assert first.startswith("proving 2 findings: about 2 min ")
    assert "at most 3 min" in first
    assert plans[0].startswith("  tls: tls=disabled in place of TLSv1.3, 4 users, 16 steps of 2.")
    assert "proof tls: proven: tls costs 31 % ± " in out
    assert "proof compression: refuted: compression=zlib in place of off has no" in out
    modes = [plan["targets"][0]["tls"]["mode"] for plan in scripted_engine.PLANS[:4]]
    assert modes == ["preferred", "disabled", "disabled", "preferred"]
    assert {plan["users"] for plan in scripted_engine.PLANS} == {4}
    tls, compression = proofs(run)
    assert (tls.verdict, tls.units) == ("proven", 4)
    assert tls.change_low is not None and tls.change_high is not None
    assert tls.change_low < 0.45 < tls.change_high
    assert (compression.verdict, compression.left_out) == ("refuted", {})
    assert (run / tls.steps / "journal.jsonl").exists()


def test_proofs_are_kept_and_shown_later(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run()
    finds(monkeypatch, TLS)
    faster_without(script, without_tls)
    assert prove("--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["not_tried"] == []
    (kept,) = proofs(run)
    for words in (["diagnose", "last", "--wide"], ["runs", "show", "last", "--wide"]):
        assert exit_code_of(words) == 0
        assert f"proof tls: proven: {kept.sentence}" in capsys.readouterr().out
    assert exit_code_of(["runs", "show", "last", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["proofs"]
    assert Proof.model_validate(shown) == kept
    assert json.loads((run / "result.json").read_text())["proofs"] == [shown]
    # result.json is rebuilt from the journal, which does not have the proofs.
    (run / "result.json").unlink()
    assert proofs(run) == (kept,)
    # The steps form a run of their own, which no list of runs shows.
    assert exit_code_of(["runs", "show", str(run / kept.steps)]) == 0
    assert "trial=changed against trial=before: faster" in capsys.readouterr().out
    assert [each.folder for each in run_folder.list_runs(Path("runs"))] == [run]


def test_a_finding_that_is_tried_again_has_one_proof(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run()
    finds(monkeypatch, TLS, COMPRESSION)
    faster_without(script, without_tls)
    assert prove() == 0
    finds(monkeypatch, TLS)
    script.before_connect = lambda plan: None
    script.tps = lambda users, second: 1000 + second % 3
    assert prove() == 0
    assert [(proof.cause, proof.verdict) for proof in proofs(run)] == [
        ("compression", "refuted"),
        ("tls", "refuted"),
    ]


def test_only_what_is_named_is_tried(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run()
    finds(monkeypatch, TLS, COMPRESSION)
    faster_without(script, without_tls)
    assert prove("--prove-only", "compression") == 0
    assert [proof.cause for proof in proofs(run)] == ["compression"]
    assert prove("--prove-only", "line-full") == 4
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"error: line-full is not among the findings of {run.name}",
        "hint:  its findings are tls, compression",
    ]


def test_what_is_left_changed_is_told_however_a_trial_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run()
    finds(monkeypatch, TLS)

    left = plain("db1:3306: set by another client since, and left: x")
    prepare = Servers.prepare

    def changed(servers: Servers) -> tuple[list[InspectedTarget], list[Message]]:
        servers.told.left.append(left)
        return prepare(servers)

    def full(source: object, lab: Lab) -> None:
        lab.recorder.close()
        raise StoreError("no space left on the device")

    monkeypatch.setattr(Servers, "prepare", changed)
    monkeypatch.setattr("loadstone.runner.prove.drive_steps", full)
    assert prove() == ExitCode.STORE
    err = capsys.readouterr().err
    assert "error: db1:3306: set by another client since, and left: x\n" in err
    assert "error: no space left on the device\n" in err


def test_a_finding_without_a_trial_is_told_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run()
    made = finds(monkeypatch, TLS)
    why = "not by --prove, which changes no table"
    changes = {"cause": "missing-index", "trial": None, "untried": why}
    without = made.findings[0].model_copy(update=changes)
    note = without.model_copy(update={"cause": "group-commit", "group": "note"})
    found = made.model_copy(update={"findings": (without, note)})
    monkeypatch.setattr("loadstone.runner.prove.findings_of", lambda *_: [found])
    assert prove() == 0
    out = capsys.readouterr().out
    assert f"not tried  missing-index: {why}" in out
    assert "not tried  group-commit" not in out


def test_a_cold_pool_is_measured_against_the_run_itself(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cold = a_run()
    measured = run_folder.load(cold).steps[0].tps
    assert measured is not None
    finds(monkeypatch, ("again", "buffer_pool", "cold", "warm"))
    script.tps = lambda users, second: round(2 * measured) + second % 3
    assert prove() == 0
    (proof,) = proofs(cold)
    assert (proof.verdict, proof.units) == ("proven", 4), "a second is the least part"
    assert proof.tps_before == pytest.approx(measured, rel=0.1)
    assert proof.cost == pytest.approx(0.5, abs=0.05)
    assert "not alternating" in capsys.readouterr().out


def test_too_little_time_is_told_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run()
    finds(monkeypatch, TLS, COMPRESSION)
    scripted_engine.PLANS.clear()
    assert prove("--prove-time", "10s") == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "nothing to prove" not in err
    said = "--prove-time is 10 s, and the trials take at least tls 60 s, compression 60 s: "
    assert f"{said}--prove-time 120s is enough for all\n" in err
    assert "hint:  nothing was driven or changed" in err
    assert scripted_engine.PLANS == []
    assert not (run / PROOFS).exists()


def test_nothing_is_set_for_all_on_a_server_that_is_no_sandbox_without_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run(ELSEWHERE)
    finds(monkeypatch, LOG, TLS)
    assert prove() == 7
    assert capsys.readouterr().err.splitlines() == [
        "error: general_log is not tried: it would set general_log for all on db1:3301, which is "
        "no sandbox: --yes",
        "hint:  if you mean it: --yes",
    ]
    # What needs no consent is tried, and the rest is reported.
    finds(monkeypatch, LOG, COMPRESSION)
    assert prove() == 0
    assert "not tried  general_log: it would set general_log for all" in capsys.readouterr().out


def test_commits_of_others_are_not_put_at_risk_even_with_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run(ELSEWHERE)
    finds(monkeypatch, SYNCS)
    scripted_engine.PLANS.clear()
    assert prove("--yes") == 0
    out = capsys.readouterr().out
    assert "not tried  sync_binlog: commits made meanwhile might be lost" in out
    assert scripted_engine.PLANS == []


def test_a_variable_that_is_otherwise_by_now_is_not_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run()
    finds(monkeypatch, LOG)
    assert prove("--yes") == 0
    assert "general_log is OFF now, and was ON in the run" in capsys.readouterr().out


def test_ctrl_c_ends_the_trial_and_keeps_those_before(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run()
    finds(monkeypatch, TLS, COMPRESSION)
    faster_without(script, without_tls)
    about_to = script.before_connect

    def interrupted(plan: dict[str, Any]) -> None:
        about_to(plan)
        if plan["targets"][0]["compression"] == ["zlib"]:
            os.kill(os.getpid(), signal.SIGINT)

    script.before_connect = interrupted
    assert prove() == 130
    assert "not tried  compression: interrupted" in capsys.readouterr().out
    assert [proof.cause for proof in proofs(run)] == ["tls"]


def test_a_server_that_refuses_the_change_is_quoted(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run()
    finds(monkeypatch, TLS)
    script.before_connect = lambda plan: {
        "kind": "login_refused",
        "message": "connections must be encrypted",
        "family": "mysql",
        "code": "3159",
    }
    assert prove() == 0
    assert "connections must be encrypted" in capsys.readouterr().out
    assert proofs(run) == ()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["diagnose", "last", "--prove-time", "1m"], 2, "--prove-time needs --prove"),
        (["diagnose", "last", "--yes"], 2, "--yes needs --prove"),
        (["diagnose", "last", "--prove-only", "tls"], 2, "--prove-only needs --prove"),
        (["diagnose", "last", "--password"], 2, "--password and --defaults-file need --prove"),
        (["diagnose", "last", "--prove", "--prove-time", "soon"], 2, "'soon' is not a time"),
        (["diagnose", "nothing", "--prove"], 8, "there is no run 'nothing'"),
        (["run", "oltp_point_select", "--prove", "--no-observe"], 2, "--prove needs findings"),
        (
            ["run", "oltp_point_select", "--prove", "--target", "mysql://a@h", "--target"]
            + ["mysql://a@i"],
            2,
            "--prove takes one --target",
        ),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run()
    assert exit_code_of(words) == code
    error = capsys.readouterr().err
    assert error.startswith("error: ") and said in error
    assert len(error.splitlines()) <= 2


def test_a_load_that_cannot_be_driven_again_by_turns_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = a_run()
    asked = read_asked(run)
    plan = asked.plan
    others: dict[str, dict[str, Any]] = {
        "spread its users over 2 targets (127.0.0.1:3301, db1:3301)": {
            "targets": (HERE, ELSEWHERE)
        },
        "was none of Loadstone's workloads": {
            "workload": plan.workload.model_copy(update={"name": "watch"})
        },
    }
    for said, changes in others.items():
        changed = asked.model_copy(update={"plan": plan.model_copy(update=changes)})
        write_private_json(run / run_folder.RUN, changed.model_dump(mode="json"))
        assert prove("--trust-folder") == 4
        assert said in capsys.readouterr().err
    experiment = Experiment(name="x", target=HERE, workloads=(plan.workload,), ladder=(1,))
    changed = asked.model_copy(update={"experiment": experiment})
    write_private_json(run / run_folder.RUN, changed.model_dump(mode="json"))
    assert prove("--trust-folder") == 4
    assert "is an experiment, which has already compared its variants" in capsys.readouterr().err


def test_a_damaged_file_of_proofs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    run = a_run()
    (run / PROOFS).write_text("{}")
    assert exit_code_of(["diagnose", "last"]) == 8
    assert f"cannot read {run / PROOFS}: it is damaged" in capsys.readouterr().err


def test_a_setting_is_a_value_of_its_own() -> None:
    setting = Setting(name="tls", before=None, value="disabled")
    trial = Trial(kind="client", settings=(setting,), subject=say("TLS"))
    assert trial.change == "tls=disabled"
