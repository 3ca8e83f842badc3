"""A run to pass on has no names in it, and is read like any other."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.model.language import in_language
from loadstone.model.message import Message, plain, say
from loadstone.model.plan import WorkloadSpec
from loadstone.model.records import FirstError
from loadstone.model.target import Target, Tls
from loadstone.report.opened import Run
from loadstone.runs.anonymous import fields
from loadstone.runs.anonymous.folder import archive
from loadstone.runs.anonymous.hiding import Hiding
from loadstone.runs.errors import StoreError
from recorded import a_plan, record_step, recorder_for, steps_of
from scripted_engine import Script

FOLDERS = Path(__file__).parents[1] / "compatibility" / "folders" / "0.1"
SECRETS = (
    "acme-db7.internal", "10.77.1.9", "svc_billing", "billing", "/srv/acme", "acme-nightly",
    "c0ffee00-1111-2222-3333-444455556666", "SELECT iban", "acmehost", "uk-line",
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, script: Script) -> Path:
    """A run with names in every kind of field."""
    tls = Tls(mode="required", ca=Path("/srv/acme/ca.pem"))
    target = Target(host="acme-db7.internal", user="svc_billing", database="billing", tls=tls)
    recorder = recorder_for(tmp_path, a_plan(targets=(target,), name="acme-nightly"))
    variables = {
        "hostname": "acmehost",
        "report_host": "10.77.1.9",
        "datadir": "/srv/acme/data",
        "server_uuid": "c0ffee00-1111-2222-3333-444455556666",
        "innodb_buffer_pool_size": "134217728",
        "innodb_flush_method": "O_DIRECT",
    }
    variables |= {"tls_version": "TLSv1.2,TLSv1.3", "admin_tls_version": "TLSv1.2,TLSv1.3"}
    variables["relay_log"] = "acmehost-relay-bin"  # MySQL's default is made from the host's name
    environment = {
        "version": 1,
        "generator": {"host": "acmehost", "python": "3.11.7", "new_field": "uk-line"},
        "targets": [{"target": target.url, "version": "8.0.36", "variables": variables}],
    }
    recorder.environment(environment)
    recorder.note(plain("svc_billing of 10.77.1.9 runs SELECT iban"))
    recorder.note(say("the server of {host} is busy", host="acme-db7.internal"))
    for step in steps_of(a_plan()):
        record_step(recorder, a_plan(targets=(target,), name="acme-nightly"), step)
    recorder.end_run("finished")
    return recorder.folder


def unpacked(content: bytes, place: Path) -> Path:
    zipfile.ZipFile(io.BytesIO(content)).extractall(place)
    [folder] = place.iterdir()
    return folder


def test_no_name_is_in_any_file(run: Path, tmp_path: Path) -> None:
    before = b"".join(one.read_bytes() for one in run.iterdir() if one.suffix != ".hlog")
    folder = unpacked(archive(run), tmp_path / "new")
    assert [one for one in SECRETS if one.encode() in before] == list(SECRETS)
    for file in folder.iterdir():
        content = file.read_bytes()
        assert [one for one in SECRETS if one.encode() in content] == [], file.name
    assert not [one for one in SECRETS if one in folder.name]
    kept = json.loads((folder / "environment.json").read_text())["targets"][0]["variables"]
    assert kept["innodb_buffer_pool_size"] == "134217728"
    assert kept["innodb_flush_method"] == "O_DIRECT"


def test_a_run_named_after_its_workload_and_with_errors_is_read_back(
    tmp_path: Path, script: Script
) -> None:
    plan = a_plan(
        workload=WorkloadSpec(name="oltp_point_select", tables=1, table_size=1),
        name="oltp_point_select",
    )
    recorder = recorder_for(tmp_path, plan)
    for step in steps_of(plan):
        record_step(recorder, plan, step)
    recorder.end_run("finished")
    folder = unpacked(archive(recorder.folder), tmp_path / "new")
    assert folder.name == recorder.folder.name
    error = FirstError(code="1062", message="Duplicate entry 'acme'", statement="SELECT iban")
    hidden = Hiding(()).of(error.model_dump(mode="json"))
    assert FirstError.model_validate(hidden).code == "1062"
    assert "acme" not in str(hidden) and "iban" not in str(hidden)


def test_a_name_has_the_same_pseudonym_everywhere(run: Path, tmp_path: Path) -> None:
    folder = unpacked(archive(run), tmp_path / "new")
    asked = json.loads((folder / "run.json").read_text())["plan"]["targets"][0]
    shares = json.loads((folder / "result.json").read_text())["steps"][0]["targets"]
    assert asked["user"] in shares[0]["target"]
    assert asked["host"] in shares[0]["target"]
    assert asked["user"].startswith("user-")


def test_a_run_has_one_name_and_no_command(run: Path, tmp_path: Path) -> None:
    folder = unpacked(archive(run), tmp_path / "new")
    of = Run(folder)
    assert of.asked is not None
    assert of.result.run.id.startswith("run-1-")
    assert of.asked.plan.name == of.result.run.name == "run-1"
    assert exit_code_of(["report", str(folder), "--markdown", "-o", str(tmp_path / "r.md")]) == 0
    assert "```" not in (tmp_path / "r.md").read_text()


def test_messages_keep_their_templates_and_variables_their_names_and_switches() -> None:
    hiding = Hiding(set())
    hiding.learn({"variables": {"general_log": "ON", "report_host": "db7"}})
    changes = [
        say("{setting} in place of {before}", setting=setting, before="ON")
        for setting in ("general_log=OFF", "report_host=db7", "svc_billing=OFF")
    ]
    hidden = [
        hiding.of({"sentence": str(one), "messages": {"sentence": one.as_json()}})
        for one in changes
    ]
    assert [one["sentence"] for one in hidden] == [
        "general_log=OFF in place of ON",
        "report_host=value-1 in place of ON",
        "text-1 in place of ON",
    ]
    chinese = in_language("zh")
    kept = Message.from_json(hidden[0]["messages"]["sentence"])
    assert chinese(kept) == "general_log=OFF（原为 ON）"


def test_the_commands_read_it_and_the_figures_are_the_same(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.zip"
    assert exit_code_of(["runs", "export", str(run), str(file), "--anonymous"]) == 0
    folder = unpacked(file.read_bytes(), tmp_path / "new")
    assert exit_code_of(["report", str(folder), "--line"]) == 0
    assert exit_code_of(["diagnose", str(folder)]) == 0
    assert exit_code_of(["compare", str(run), str(folder)]) == 0
    before, after = Run(run).result.steps, Run(folder).result.steps
    assert [one.latency for one in before] == [one.latency for one in after]
    assert [one.tps for one in before] == [one.tps for one in after]
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", [one.name for one in sorted(FOLDERS.iterdir()) if "-2026" in one.name]
)
def test_every_kind_of_run_is_read_back(name: str, tmp_path: Path) -> None:
    before, after = Run(FOLDERS / name), Run(unpacked(archive(FOLDERS / name), tmp_path))
    assert after.asked is not None
    assert [one.tps for one in after.result.steps] == [one.tps for one in before.result.steps]
    causes = [[[one.cause for one in each.findings] for each in run.diagnoses]
              for run in (before, after)]  # fmt: skip
    assert causes[0] == causes[1]


def test_a_name_that_is_left_is_said_and_nothing_is_written(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fields, "STAYS", fields.STAYS | {"user"})
    monkeypatch.setattr(Hiding, "_url", lambda self, url: self._named("svc_billing", "user"))
    file = tmp_path / "run.zip"
    assert exit_code_of(["runs", "export", str(run), str(file), "--anonymous"]) == 8
    err = capsys.readouterr().err
    assert "nothing was exported: 'svc_billing' (user-" in err
    assert "run.json" in err
    assert not file.exists()


def test_sql_of_the_users_own_is_refused(run: Path) -> None:
    document = json.loads((run / "run.json").read_text())
    document["plan"]["workload"]["template"] = {"name": "orders"}
    (run / "run.json").write_text(json.dumps(document))
    with pytest.raises(StoreError, match="SQL of a workload file"):
        archive(run)


@pytest.mark.parametrize("more", [["--anonymous"], ["x.zip"]])
def test_a_file_and_the_option_go_together(run: Path, more: list[str]) -> None:
    assert exit_code_of(["runs", "export", str(run), *more]) == 2
