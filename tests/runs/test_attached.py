"""A console's export that is attached to a run."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import random
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from called import called
from diagnose.test_in_chinese import assert_has_chinese
from loadstone.diagnosis.of_run import findings_of
from loadstone.model.language import ENGLISH
from loadstone.model.message import Message
from loadstone.model.result import Result
from loadstone.observe.export_file import ExportError
from loadstone.report.html import as_html
from loadstone.report.observed import attached_notes
from loadstone.report.opened import Run
from loadstone.report.step_panels import Seconds
from loadstone.runner.attach import AttachRequest, attach
from loadstone.runs import run_folder, signature
from loadstone.runs.anonymous.folder import archive
from loadstone.runs.attached import ATTACHED
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import JOURNAL, read_log
from recorded import a_plan, recorded_run
from scripted_engine import Script
from trust.hostile_runs import changed
from trust.tally import COUNTS

STEP_S = 300.0


@pytest.fixture
def run(tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two steps of five minutes; the clock advances by a second with each of the records."""
    clock = itertools.count(1000.0, 1.0)
    monkeypatch.setattr("loadstone.runs.recorder.time.monotonic", lambda: next(clock))
    return recorded_run(tmp_path / "runs", a_plan(ladder=(1, 4), duration_s=STEP_S))


def loads(run: Path) -> list[float]:
    """When the load of each step began, in UNIX time."""
    log = read_log(run)
    assert log.begin is not None
    return [log.begin.unix_s + step.load_began_s for step in log.steps]


def iso(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat()


def export(run: Path, every_s: float, metrics: dict[str, float], name: str = "iops.csv") -> Path:
    """A file with these values at all times of the run, and of a while before and after."""
    first, last = loads(run)[0] - 600, loads(run)[-1] + 900
    times = itertools.takewhile(lambda at: at < last, itertools.count(first, every_s))
    rows = [f"{iso(at)},{','.join(map(str, metrics.values()))}\n" for at in times]
    path = run.parent.parent / name
    path.write_text(f"time,{','.join(metrics)}\n{''.join(rows)}")
    return path


def said(texts: Iterable[Message]) -> list[str]:
    found = list(texts)
    for text in found:
        assert_has_chinese(text)
    return [str(text) for text in found]


def test_means_that_a_window_holds_are_figures_of_the_host(run: Path) -> None:
    path = export(run, 60, {"WriteIOPS": 2900.0, "CPUUtilization": 25.0, "WriteLatency": 0.004})
    result, _ = attach(run, AttachRequest(path))
    assert result == run_folder.load(run)
    for step in result.steps:
        assert step.host is not None
        assert step.host.disk_write_iops == 2900
        assert step.host.cpu_idle == pytest.approx(0.75)
        assert step.host.disk_write_await_ms == pytest.approx(4)
        assert step.host.coarse == dict.fromkeys(
            ("disk_write_iops", "cpu_idle", "disk_write_await_ms"), 60.0
        )
        assert step.attached[0].values == 4  # of five minutes: the first and the last are cut
        assert step.attached[0].seconds == pytest.approx(240)
    assert said(attached_notes(result.steps))[0] == (
        "WriteIOPS (disk_write_iops) is from iops.csv: means of 60 s"
    )


def test_each_step_has_the_values_of_its_own_time(run: Path) -> None:
    first, second = loads(run)
    rows = [f"{iso(first + 10 + at)},{100 + at / 60}\n" for at in range(0, 300, 60)]
    rows += [f"{iso(second + 10 + at)},{200 + at / 60}\n" for at in range(0, 300, 60)]
    path = run / "iops.csv"
    path.write_text(f"time,disk_write_iops\n{''.join(rows)}")
    result, _ = attach(run, AttachRequest(path, granularity_s=60.0))
    means = [step.attached[0].mean for step in result.steps]
    assert means == pytest.approx([101.5, 201.5])
    assert [step.attached[0].highest for step in result.steps] == [103, 203]


def test_means_that_are_too_coarse_are_not_evaluated_and_say_why(run: Path) -> None:
    path = export(run, 600, {"WriteIOPS": 2900.0})
    result, _ = attach(run, AttachRequest(path))
    why = "no mean of 10 min is wholly within the window of 5 min"
    for step in result.steps:
        assert step.host is None
        assert step.attached[0].mean is None
        assert str(step.attached[0].why_not) == why
    assert said(attached_notes(result.steps))[1] == (f"WriteIOPS not evaluated at step 1, 2: {why}")
    (ceilings, _) = Run(run).ceilings
    (writes,) = [one for one in ceilings.ceilings if one.resource == "disk writes"]
    assert writes.events_per_s is None


def test_the_end_of_an_interval_is_not_its_start(run: Path) -> None:
    began = loads(run)[0]
    path = run / "iops.csv"
    path.write_text(f"time,disk_write_iops\n{iso(began + 10)},5\n{iso(began + 210)},7\n")
    starts, _ = attach(run, AttachRequest(path, granularity_s=200.0))
    assert starts.steps[0].attached[0].mean == 5
    ends, _ = attach(run, AttachRequest(path, granularity_s=200.0, ends=True))
    assert ends.steps[0].attached[0].mean == 7


def test_a_finding_uses_a_stated_limit_and_says_how_coarse_its_figures_are(run: Path) -> None:
    environment = {"version": 1, "limits": {"disk_iops": 3000.0, "cores": 8.0}}
    (run / run_folder.ENVIRONMENT).write_text(json.dumps(environment))
    path = export(run, 60, {"WriteIOPS": 2900.0, "ReadIOPS": 50.0, "cpu_percent": 20.0})
    result, _ = attach(run, AttachRequest(path))
    assert result.steps[0].host is not None and result.steps[0].host.cores == 8
    (diagnosis,) = findings_of(run, result)
    (finding,) = [one for one in diagnosis.findings if one.cause == "disk-cap"]
    assert_has_chinese(finding.sentence)
    assert "98 % of its disk operations: 3,000 operations/s" in str(finding.sentence)
    assert "(limit stated by hand), by means of 60 s" in str(finding.sentence)
    assert "The figures of the server's host are means of 60 s" in str(finding.sentence)


def test_a_rule_that_lacks_a_figure_says_that_the_attached_one_is_too_coarse(run: Path) -> None:
    path = export(run, 600, {"cpu_percent": 20.0, "disk_busy_percent": 99.0, "disk_queue": 9.0})
    result, _ = attach(run, AttachRequest(path))
    (diagnosis,) = findings_of(run, result)
    needs = {one.cause: one.needs for one in diagnosis.not_evaluated}
    assert_has_chinese(needs["disk-cap"])
    assert str(needs["disk-cap"]) == (
        "host's disk_busy (iops.csv: no mean of 10 min is wholly within the window of 5 min)"
    )


def test_it_is_drawn_on_the_clock_of_each_step(run: Path) -> None:
    began = loads(run)[0]
    path = run / "iops.csv"
    path.write_text(
        f"time,metric,value\n{iso(began + 60)},<b>w</b>,5\n{iso(began + 120)},<b>w</b>,7\n"
        f"{iso(began + 180)},<b>w</b>,6\n"
    )
    attach(run, AttachRequest(path))
    opened = Run(run)
    frames = Seconds(opened.load, opened.server, opened.host, ENGLISH, opened.attached)
    panel = frames.panels(opened.result.steps[0])[-1]
    assert panel.title == "<b>w</b>, means of 60 s (iops.csv)"
    (line,) = panel.lines.values()
    drawn = dict(zip(panel.times.tolist(), line.tolist(), strict=True))
    assert [drawn[at] for at in (61.0, 120.0, 121.0, 180.0, 240.0)] == [5, 5, 7, 7, 6]
    assert all(math.isnan(drawn[at]) for at in (1.0, 60.0, 241.0, 300.0))
    page = as_html(opened)
    assert "<b>w</b>" not in page
    assert "only drawn" in page


def test_the_folder_stays_as_it_was_sealed(run: Path) -> None:
    before = {
        path.name: path.read_bytes()
        for path in run.iterdir()
        if path.name not in (run_folder.RESULT, ATTACHED)
    }
    attach(run, AttachRequest(export(run, 60, {"WriteIOPS": 2900.0})))
    assert {name: (run / name).read_bytes() for name in before} == before
    assert signature.is_ours(run, run_folder.RUN, before[run_folder.RUN])
    assert signature.is_ours(run, run_folder.LOAD, before[run_folder.LOAD])
    assert (run / ATTACHED).stat().st_mode & 0o777 == 0o600
    # The result comes again from the journal, with what is attached.
    (run / run_folder.RESULT).unlink()
    host = run_folder.load(run).steps[0].host
    assert host is not None and host.disk_write_iops == 2900


def test_a_killed_run_is_attached_to_and_stays_one(run: Path) -> None:
    for made in (run_folder.RESULT, run_folder.LOAD):
        (run / made).unlink()
    lines = (run / JOURNAL).read_bytes().splitlines(keepends=True)
    (run / JOURNAL).write_bytes(b"".join(lines[:-1]))
    path = export(run, 60, {"WriteIOPS": 2900.0})
    result, _ = attach(run, AttachRequest(path))
    assert result.run.state == "interrupted"
    assert result.steps[0].host is not None
    assert not (run / run_folder.RESULT).exists()


def test_a_step_that_is_measured_again_has_none_of_the_values_of_the_first_time(run: Path) -> None:
    attach(run, AttachRequest(export(run, 60, {"WriteIOPS": 2900.0})))
    document = json.loads((run / ATTACHED).read_text())
    document["steps"][1]["started_at"] = "2026-01-01T00:00:00.000+00:00"
    (run / ATTACHED).write_text(json.dumps(document))
    first, second = run_folder.load(run).steps
    assert first.host is not None
    assert second.host is None and not second.attached


def test_a_file_of_the_same_name_replaces_and_another_one_is_added(run: Path) -> None:
    attach(run, AttachRequest(export(run, 60, {"WriteIOPS": 2900.0})))
    attach(run, AttachRequest(export(run, 60, {"WriteIOPS": 100.0})))
    result, _ = attach(run, AttachRequest(export(run, 60, {"ReadIOPS": 7.0}, "reads.csv")))
    host = result.steps[0].host
    assert host is not None
    assert (host.disk_write_iops, host.disk_read_iops) == (100, 7)
    assert [one.file for one in result.steps[0].attached] == ["iops.csv", "reads.csv"]


def test_what_was_observed_each_second_stands(run: Path) -> None:
    attach(run, AttachRequest(export(run, 60, {"WriteIOPS": 2900.0, "ReadIOPS": 1.0})))
    result = json.loads((run / run_folder.RESULT).read_text())
    seen = {"seconds": 300.0, "disk_write_iops": 12.0}
    for step in result["steps"]:
        step["host"] |= seen | {"coarse": {"disk_read_iops": 60.0}}
    (run / run_folder.RESULT).write_text(json.dumps(result))
    host = run_folder.load(run).steps[0].host
    assert host is not None
    assert (host.disk_write_iops, host.disk_read_iops) == (12, 1)
    assert host.coarse == {"disk_read_iops": 60.0}


def test_a_file_just_as_it_was_exported_is_read(run: Path) -> None:
    """Lines before the columns, and values with the units that Grafana shows."""
    times = [iso(loads(run)[0] - 600 + at * 60) for at in range(30)]
    head = "sep=,\nDisk of db1\n\nTime,disk_write_iops,disk_write_bytes,cpu_percent,net_in_mbit"
    rows = [f"{at},2.9 K,1.2 MB/s,45%,4 MB/s" for at in times]
    path = run / "grafana.csv"
    path.write_text("\n".join((f"{head},disk_write_await_ms", *(f"{row},900 µs" for row in rows))))
    host = attach(run, AttachRequest(path))[0].steps[0].host
    assert host is not None
    assert (host.disk_write_iops, host.disk_write_bytes_per_s) == (2900, 1.2e6)
    assert host.cpu_idle == pytest.approx(0.55)
    assert host.net_bytes_in_per_s == pytest.approx(4e6)
    assert host.disk_write_await_ms == pytest.approx(0.9)
    assert set(host.coarse.values()) == {60.0}


def test_a_statistic_alone_is_no_metric(run: Path) -> None:
    path = export(run, 60, {"Average": 2900.0, "Maximum": 3000.0})
    with pytest.raises(ExportError) as error:
        attach(run, AttachRequest(path))
    assert str(error.value.message) == (
        "iops.csv: its column Average is a statistic of a metric that it does not name: say which "
        "figure it is with --metric Average=FIGURE, such as disk_write_iops"
    )
    named = (("Average", "disk_write_iops"),)
    host = attach(run, AttachRequest(path, named=named))[0].steps[0].host
    assert host is not None
    assert host.disk_write_iops == 2900


@pytest.mark.parametrize(
    ("changes", "text", "refused"),
    [
        ({}, "time,w\n2020-01-01T00:00Z,1\n2020-01-01T00:01Z,1\n", "its values are from 2020-01"),
        ({}, "time,w\n0001-01-01T00:00Z,1\n9999-12-31T00:00Z,1\n", "its values are from"),
        ({}, "time,w\n2020-01-01T00:00Z,1\n", "has one value only"),
        ({"named": (("r", "disk_iops"),)}, "time,w\n1769860800,1\n", "no metric 'r' in it"),
    ],
)
def test_files_that_do_not_fit_get_one_line(
    run: Path, changes: dict[str, Any], text: str, refused: str
) -> None:
    path = run / "w.csv"
    path.write_text(text)
    with pytest.raises(ExportError) as error:
        attach(run, AttachRequest(path, **changes))
    assert refused in str(error.value.message)
    assert "\n" not in str(error.value.message)
    assert not (run / ATTACHED).exists()


@pytest.mark.parametrize(
    ("head", "cells", "refused"),
    [
        ("WriteIOPS,disk_write_iops", "1,2", "WriteIOPS and disk_write_iops are both the host's"),
        ("disk_write_iops", "-1", "disk_write_iops is -1: no value of disk_write_iops"),
        ("cpu_percent", "640", "cpu_percent is 640: no value of cpu_percent"),
        ("cpu_percent", "64 MB/s", "values of cpu_percent are in bytes, as those of cpu_percent"),
    ],
)
def test_values_that_a_figure_cannot_have_are_refused(
    run: Path, head: str, cells: str, refused: str
) -> None:
    path = run / "w.csv"
    path.write_text(f"time,{head}\n{iso(loads(run)[0] + 5)},{cells}\n")
    with pytest.raises(ExportError, match=refused):
        attach(run, AttachRequest(path, granularity_s=60.0))


def test_times_of_another_zone_are_recognised(run: Path) -> None:
    path = run / "w.csv"
    there = loads(run)[0] - 7200
    path.write_text(f"time,w\n{iso(there)},1\n{iso(there + 60)},1\n")
    with pytest.raises(ExportError) as error:
        attach(run, AttachRequest(path))
    assert str(error.value.hint).startswith("moved by 2 h they would fit")


def test_a_damaged_file_is_named_and_does_no_harm(run: Path) -> None:
    for content in (b"{}", b"[" * 100_000, b'{"version":1,"steps":[],"files":[{}]}', b"\xff"):
        (run / ATTACHED).write_bytes(content)
        with pytest.raises(StoreError, match=r"cannot read .*attached\.json"):
            run_folder.load(run)
    (run / ATTACHED).unlink()
    (run / ATTACHED).symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="link"):
        run_folder.load(run)


def test_operations_of_both_kinds_are_compared_with_their_limit(run: Path) -> None:
    limits = {"version": 1, "limits": {"disk_iops": 3000.0}}
    (run / run_folder.ENVIRONMENT).write_text(json.dumps(limits))
    attach(run, AttachRequest(export(run, 60, {"disk_iops": 1500.0})))
    (step, _) = Run(run).ceilings
    (found,) = [one for one in step.ceilings if one.resource == "disk operations"]
    assert found.used == pytest.approx(0.5)
    assert found.granularity_s == 60
    attach(run, AttachRequest(export(run, 600, {"disk_iops": 1500.0})))
    (step, _) = Run(run).ceilings
    (found,) = [one for one in step.ceilings if one.resource == "disk operations"]
    assert found.why_not is not None and "no mean of 10 min" in str(found.why_not)
    assert_has_chinese(found.why_not)


def test_a_limit_that_is_known_later_counts_like_one_of_the_run(run: Path) -> None:
    home = run.parent.parent
    attach(run, AttachRequest(export(run, 60, {"disk_iops": 1500.0})))
    words = ("runs", "attach", "last")
    nothing = called(*words, folder=home, environment={"HOME": str(home)}, code=2)
    assert "name a file, a URL or a --limit to attach" in nothing.stderr
    for wrong, why in (
        (("http://prometheus:9090?a=b", "--metric", "a=disk_iops"), "--metric is for files only"),
        (("iops.csv", "--late", "5m"), "--late is for URLs only"),
    ):
        said = called(*words, *wrong, folder=home, environment={"HOME": str(home)}, code=2)
        assert why in said.stderr
    more = ("--limit", "disk_iops=3000", "--limit", "cores=2")
    called(*words, *more, folder=home, environment={"HOME": str(home)}, code=0)
    (step, _) = Run(run).ceilings
    (found,) = [one for one in step.ceilings if one.resource == "disk operations"]
    assert found.by_hand and found.used == pytest.approx(0.5)


def test_a_changed_file_is_read_or_refused(run: Path) -> None:
    attach(run, AttachRequest(export(run, 60, {"WriteIOPS": 2900.0, "cpu_percent": 20.0})))
    good, chance = (run / ATTACHED).read_bytes(), random.Random(5)
    for _ in range(100):
        COUNTS["inputs tried"] += 1
        (run / ATTACHED).write_bytes(changed(good, chance))
        with contextlib.suppress(StoreError):
            result = run_folder.load(run)
            Result.model_validate_json(run_folder.to_json(result))
            list(attached_notes(result.steps))


def test_a_copy_without_names_has_no_attached_file(run: Path) -> None:
    attach(run, AttachRequest(export(run, 60, {"db1.example.com writes": 2900.0})))
    with zipfile.ZipFile(io.BytesIO(archive(run))) as copy:
        assert not [name for name in copy.namelist() if name.endswith(ATTACHED)]
        assert not [name for name in copy.namelist() if b"db1.example" in copy.read(name)]


def test_from_the_command_line(run: Path) -> None:
    home = run.parent.parent
    path = export(run, 60, {"Disk writes": 2900.0})
    path.write_text(path.read_text().replace("+00:00", ""))
    words = ("runs", "attach", "last", path.name)
    environment = {"HOME": str(home)}
    lacks = called(*words, folder=home, environment=environment, code=2)
    assert "has no offset from UTC: say with --timezone" in lacks.stderr
    wrong = ("--metric", "Disk writes=disk_write_iop", "--timezone", "UTC")
    near = called(*words, *wrong, folder=home, environment=environment, code=2)
    assert "did you mean disk_write_iops?" in near.stderr
    more = ("--metric", "Disk writes=disk_write_iops", "--timezone", "UTC")
    done = called(*words, *more, folder=home, environment=environment, code=0)
    assert done.stdout.startswith("Disk writes (disk_write_iops) is from iops.csv: means of 60 s")
    shown = called("runs", "show", "last", folder=home, environment=environment, code=0)
    assert "2,900" in shown.stdout
    assert "Disk writes (disk_write_iops) is from iops.csv" in shown.stdout
