"""What viewers are sent, while a run is written and afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.experiment import Rules
from loadstone.model.message import plain
from loadstone.model.plan import WarmupSeconds
from loadstone.model.result import LevelChange
from loadstone.runs.rebuild import read_log
from loadstone.runs.recorder import Recorder, read_asked, write_private_json
from loadstone.web import hub
from loadstone.web.diagnosis import findings
from recorded import a_plan, record_step, recorded_run, recorder_for, steps_of
from scripted_engine import Script
from web.served import Event, Stream, served


def seconds(events: list[Event]) -> list[float]:
    return [event.data["second"]["at_s"] for event in events if event.name == "second"]


def write_step(recorder: Recorder, number: int = 0) -> None:
    plan = a_plan()
    record_step(recorder, plan, steps_of(plan)[number])


def test_one_who_comes_late_is_shown_all_that_was(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    with served(tmp_path) as page:
        stream = page.stream(run.name)
        snapshot = stream.until("snapshot").data
        extras = stream.until("extras").data
        stream.close()
    assert [row["users"] for row in snapshot["rows"]] == [1, 4]
    assert snapshot["run"]["ended"] == "finished"
    assert snapshot["step"] is None
    assert "the first of all notes" in snapshot["notes"]
    (rates,) = [one for name, one in snapshot["timelines"].items() if name == "rates"]
    drawn = {series["id"]: series["data"] for series in rates["option"]["series"]}
    # Two steps of a second of warm-up and four of the window: ten events a second and user.
    assert [value for _, value in drawn["tps"]] == [10.0] * 5 + [40.0] * 5
    assert [value for _, value in drawn["qps"]] == [200.0] * 5 + [800.0] * 5
    (line,) = snapshot["ladder"]["series"]
    assert line["data"] == [[1.0, 10.0], [4.0, 40.0]]
    assert extras["alive"] is False


def test_what_is_written_is_told_as_it_comes_and_what_is_stuck_is_not(
    tmp_path: Path, script: Script
) -> None:
    recorder = recorder_for(tmp_path, a_plan())
    with served(tmp_path) as page:
        stream = page.stream(recorder.folder.name)
        assert stream.until("snapshot").data["rows"] == []
        write_step(recorder)
        row = stream.until("row").data["row"]
        assert (row["users"], row["tps"], row["state"]) == (1, 10.0, "finished")
        assert seconds(stream.events) == [1.0, 2.0, 3.0, 4.0, 5.0]
        recorder.note(plain("a note from the middle"))
        assert stream.until("note").data["text"] == "a note from the middle"
        recorder.end_run("stopped")
        assert stream.until("run").data["ended"] == "stopped"
        stream.close()


def test_a_run_that_is_resumed_runs_again(tmp_path: Path, script: Script) -> None:
    recorder = recorder_for(tmp_path, a_plan())
    write_step(recorder)
    recorder.end_run("stopped")
    run = recorder.folder
    with served(tmp_path) as page:
        stream = page.stream(run.name)
        assert stream.until("snapshot").data["run"]["ended"] == "stopped"
        again = Recorder(run, read_asked(run), (), before=read_log(run).begin)
        again.note(plain("resumed"))
        assert stream.until("run").data["ended"] is None
        assert page.get("/api/runs").json["runs"][0]["state"] == "running"
        again.give_up("the disk is full")
        assert stream.until("run").data["ended"] == "failed"
        assert page.get("/api/runs").json["runs"][0]["state"] == "failed"
        again.close()
        assert page.get("/api/runs").json["runs"][0]["state"] == "failed"
        stream.close()


def test_the_findings_come_when_a_step_has_ended(tmp_path: Path, script: Script) -> None:
    recorder = recorder_for(tmp_path, a_plan())
    with served(tmp_path) as page:
        stream = page.stream(recorder.folder.name)
        assert stream.until("extras").data["findings"] is None
        write_step(recorder)
        while not (found := stream.until("extras").data["findings"]):
            continue
        stream.close()
        recorder.close()
    assert found[0]["workload"] == "oltp_read_write"
    first = found[0]["findings"][0]
    assert first["cause"]
    assert first["sentence"] in found[0]["told"]


def under_way(out: Path, measured_s: float) -> Recorder:
    """A run whose only step is under way and has been measured for so long."""
    plan = a_plan(duration_s=measured_s, ladder=(1,))
    recorder = recorder_for(out, plan)
    record_step(recorder, plan, steps_of(plan)[0], ends=False)
    return recorder


def test_a_step_under_way_is_diagnosed_once_it_shows_something(
    tmp_path: Path, script: Script
) -> None:
    recorder = under_way(tmp_path, 31.0)
    with served(tmp_path) as page:
        stream = page.stream(recorder.folder.name)
        while not (found := stream.until("extras").data["findings"]):
            continue
        stream.close()
    recorder.close()
    assert found[0]["findings"][0]["cause"]


def test_a_few_seconds_of_a_step_are_not_diagnosed(tmp_path: Path, script: Script) -> None:
    recorder = under_way(tmp_path, 29.0)
    assert findings(recorder.folder) == []
    recorder.close()


def test_one_who_comes_back_is_told_the_rest_and_nothing_twice(
    tmp_path: Path, script: Script
) -> None:
    recorder = recorder_for(tmp_path, a_plan())
    name = recorder.folder.name
    with served(tmp_path) as page:
        first = page.stream(name)
        first.until("snapshot")
        write_step(recorder)
        last = first.until("row").number
        first.close()
        write_step(recorder, 1)
        second = page.stream(name, **{"Last-Event-ID": str(last)})
        second.until("row")
        second.close()
    # This is another server, which has read the journal again.
    with served(tmp_path) as page:
        third = page.stream(name, **{"Last-Event-ID": str(last)})
        third.until("row")
        third.close()
    recorder.close()
    for stream in (second, third):
        told = [event.name for event in stream.events if event.name not in ("runs", "extras")]
        assert told == ["step", "step", *["second"] * 5, "row"]
        assert seconds(stream.events) == [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("last", ["99999999", "-1", "1e9", "x", "9" * 400])
def test_a_number_that_is_not_ours_gets_a_snapshot(
    tmp_path: Path, script: Script, last: str
) -> None:
    run = recorded_run(tmp_path)
    with served(tmp_path) as page:
        stream = page.stream(run.name, **{"Last-Event-ID": last})
        assert len(stream.until("snapshot").data["rows"]) == 2
        stream.close()


def test_what_one_asks_for_is_told_to_all_who_look_at_the_list(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LIST_EVERY_S", 3600.0)
    monkeypatch.setattr(hub, "QUIET_S", 3600.0)
    with served(tmp_path) as page:
        stream = page.stream()
        assert stream.until("runs").data["runs"] == []
        run = recorded_run(tmp_path)
        assert [one["name"] for one in page.get("/api/runs").json["runs"]] == [run.name]
        assert [one["name"] for one in stream.until("runs").data["runs"]] == [run.name]
        stream.close()


def test_a_new_run_is_told_of_to_whoever_looks_at_the_list(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LIST_EVERY_S", 0.2)
    with served(tmp_path) as page:
        stream = page.stream()
        assert stream.until("runs").data["runs"] == []
        recorder = recorder_for(tmp_path, a_plan())
        (line,) = stream.until("runs").data["runs"]
        assert (line["name"], line["state"]) == (recorder.folder.name, "running")
        recorder.close()
        (line,) = stream.until("runs").data["runs"]
        assert line["state"] == "interrupted"
        stream.close()


def test_ten_viewers_are_told_the_same(tmp_path: Path, script: Script) -> None:
    recorder = recorder_for(tmp_path, a_plan())
    with served(tmp_path) as page:
        streams: list[Stream] = [page.stream(recorder.folder.name) for _ in range(10)]
        for stream in streams:
            stream.until("snapshot")
        write_step(recorder)
        for stream in streams:
            stream.until("row")
            stream.close()
    recorder.close()
    assert all(seconds(stream.events) == [1.0, 2.0, 3.0, 4.0, 5.0] for stream in streams)


def test_a_change_by_hand_is_told_of(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(8,))
    recorder = recorder_for(tmp_path, plan)
    (step,) = steps_of(plan)
    recorder.begin_step(step)
    recorder.changed(step, LevelChange(at_s=3.0, what="users", value=2))
    with served(tmp_path) as page:
        stream = page.stream(recorder.folder.name)
        snapshot = stream.until("snapshot").data
        recorder.changed(step, LevelChange(at_s=5.0, what="users", value=5))
        told = stream.until("step").data
        note = stream.until("note").data
        stream.close()
    recorder.close()
    assert (snapshot["step"]["users"], snapshot["step"]["users_now"]) == (8, 2)
    assert snapshot["notes"] == ["users set to 2 by hand at 3 s"]
    assert (told["number"], told["users_now"]) == (1, 5)
    assert note["text"] == "users set to 5 by hand at 5 s"
    assert note["told"] == {note["text"]: {"zh": "5 秒时手动将并发改为 5"}}


def test_a_journal_that_is_none_is_said_and_ends_nothing(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "journal.jsonl").write_text('{"kind": "nonsense"}\n')
    with served(tmp_path) as page:
        stream = page.stream("damaged")
        while not (problem := stream.until("extras").data["problem"]):
            continue
        stream.close()
        assert "is not an entry of a journal" in problem
        states = {line["name"]: line["state"] for line in page.get("/api/runs").json["runs"]}
    assert states == {run.name: "finished", "damaged": "damaged"}


def test_a_hostile_name_is_data_and_never_markup(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    hostile = tmp_path / "<img src=x onerror=alert(1)>"
    run.rename(hostile)
    with served(tmp_path) as page:
        answer = page.get("/api/runs")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["runs"][0]["name"] == hostile.name
        assert b"onerror" not in page.get("/").body


def test_two_runs_are_compared_with_what_differs_on_top(tmp_path: Path, script: Script) -> None:
    one = recorded_run(tmp_path, a_plan(name="one"))
    script.tps = lambda users, second: 20 * users
    warmup = WarmupSeconds(warmup_s=2.0)
    other = recorded_run(tmp_path, a_plan(name="other", ladder=(4, 8), warmup=warmup))
    durable = {"innodb_flush_log_at_trx_commit": "1", "a_variable": "x", "socket": "/a"}
    for run, changes in ((one, {}), (other, {"innodb_flush_log_at_trx_commit": "0"})):
        variables = durable | changes | {"socket": run.name}
        write_private_json(run / "environment.json", {"targets": [{"variables": variables}]})
    with served(tmp_path) as page:
        pair = f"run={one.name}&run={other.name}"
        found = page.get(f"/api/compare?{pair}").json
        whole = page.get(f"/compare?{pair}")
        chinese = page.get(f"/compare?{pair}&lang=zh")
        assert page.get(f"/api/compare?run={one.name}").status == 400
        alone = page.get(f"/api/compare?run={one.name}&run={one.name}")
        assert page.get("/api/compare?" + "&".join(["run=x"] * 9)).status == 400
    assert (alone.status, alone.json["error"]) == (422, f"there is only one run: {one.name}")
    assert alone.json["told"][alone.json["error"]] == {"zh": f"只有一个测试：{one.name}"}
    assert [side["name"] for side in found["sides"]] == [one.name, other.name]
    first = found["differences"][0]
    assert (first["name"], first["weight"]) == ("innodb_flush_log_at_trx_commit", "unfair")
    assert first["values"] == {one.name: "1", other.name: "0"}
    rows = {line["name"]: line["values"] for line in found["differences"]}
    assert rows["warm-up"] == {one.name: "1 s", other.name: "2 s"}
    assert "socket" not in [line["name"] for line in found["differences"]]
    levels = {level["concurrency"]: level for level in found["levels"]}
    assert sorted(levels) == [1, 4, 8]
    (against,) = levels[4]["against_first"]
    assert against["changes"]["tps"]["relative"] == pytest.approx(1.0)
    # One step of each side is no evidence, however far they are apart.
    assert (against["word"], against["margin"]) == ("not enough evidence", Rules().margin)
    assert (levels[1]["against_first"], levels[8]["against_first"]) == ([], [])
    assert len(found["ladder"]["series"]) == 2
    assert found["command"] == f"loadstone compare {one.name} {other.name} --out={tmp_path}"
    # For download: a document with its own origin, as the report is.
    assert whole.status == 200
    assert "sandbox" in whole.headers["content-security-policy"]
    assert "innodb_flush_log_at_trx_commit" in whole.text
    assert "What differs</h2>" in whole.text and '<html lang="en">' in whole.text
    assert "差异</h2>" in chinese.text and '<html lang="zh-CN">' in chinese.text
