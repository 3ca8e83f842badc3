"""The trend of selected runs on the page, and their selection, as the command line has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from called import called
from loadstone.model.plan import WorkloadSpec
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.labels import LABELS, MOST, read_labels, write_labels
from loadstone.runs.selection import Selection
from loadstone.web.listing import RunList
from loadstone.web.trends import trend_of
from recorded import a_plan, recorded_run
from scripted_engine import Script
from web.served import served


def at_rate(rate: int) -> Callable[[int, int], int]:
    return lambda users, second: rate * users


def nights(out: Path, script: Script, count: int, slower_from: int) -> list[Path]:
    """Runs of one name, the later ones at half the rate."""
    made = []
    for night in range(count):
        script.tps = at_rate((400 + night % 3) // (2 if night >= slower_from else 1))
        plan = a_plan(name=f"nightly{night}", ladder=(2, 4), duration_s=2.0)
        made.append(recorded_run(out, plan))
    return made


def test_peak_and_levels_are_followed_with_the_run_that_changed_them(
    tmp_path: Path, script: Script
) -> None:
    # Runs of one target, whatever they are called.
    runs = nights(tmp_path, script, 8, slower_from=4)
    found = trend_of(runs)
    assert {one["name"] for one in found["levels"]} == {"mysql://bench@db1/sbtest"}
    assert [one["level"] for one in found["levels"]] == [
        "oltp_read_write, 2 users",
        "oltp_read_write, 4 users",
    ]
    peak, tps, p95, p99 = found["levels"][1]["series"]
    assert (peak["where"], tps["metric"], p95["metric"], p99["metric"]) == (
        "peak of oltp_read_write", "tps", "p95", "p99",
    )  # fmt: skip
    # The highest level is the peak.
    assert (peak["first"], peak["newest"]) == (tps["first"], tps["newest"])
    assert (tps["first"], tps["newest"], tps["points"]) == (1600.0, 800.0, 8)
    for series in (peak, tps):
        (change,) = series["changes"]
        assert (change["run"], change["before_run"]) == (runs[4].name, runs[3].name)
        assert change["worse"] and change["relative"] == pytest.approx(-0.5, abs=0.01)
        assert found["told"][change["said"][0]]["zh"]
    rates = found["levels"][1]["rates"]["option"]
    assert [line["markLine"]["data"] for line in rates["series"]] == [[{"xAxis": 4}]] * 2
    assert len(rates["xAxis"]["data"]) == 8


@pytest.mark.slow  # trends are found in processes of their own
def test_page_and_command_line_select_the_same_runs(tmp_path: Path, script: Script) -> None:
    runs = nights(tmp_path, script, 2, slower_from=9)
    reads = WorkloadSpec(name="oltp_read_only", tables=2, table_size=100)
    other = recorded_run(tmp_path, a_plan(name="other", workload=reads))
    write_labels(runs[0], ["release", "11.4"])
    listing = RunList(tmp_path)
    listing.look()
    cases = [
        ({"name": "NIGHT"}, {run.name for run in runs}),
        ({"workload": "read_only"}, {other.name}),
        ({"target": "db1"}, {other.name, *(run.name for run in runs)}),
        ({"target": "db2"}, set()),
        ({"label": "release", "workload": "read_write"}, {runs[0].name}),
    ]
    for given, wanted in cases:
        assert {run.name for run in listing.chosen(Selection(**given))} == wanted
        named = {"named" if name == "name" else name: value for name, value in given.items()}
        options = [f"--{name}={value}" for name, value in named.items()]
        listed = called("runs", "list", *options, "--json", "--out", str(tmp_path), folder=tmp_path)
        assert {Path(each["run"]).name for each in json.loads(listed.stdout)} == wanted
    with served(tmp_path) as page:
        one = page.get("/api/trend?name=nightly").json
        assert (one["runs"], one["left_out"]) == (2, [])
        assert page.get("/api/trend?label=release").status == 422
        lines = {line["name"]: line for line in page.get("/api/runs").json["runs"]}
        assert lines[runs[0].name]["labels"] == ["release", "11.4"]
        assert lines[other.name]["targets"] == ["mysql://bench@db1/sbtest"]
        # The command that is shown prints the same series.
        words = one["command"].split()[1:]
    said = json.loads(called(*words, "--json", folder=tmp_path).stdout)
    printed = {(each["level"], each["metric"]) for each in said["series"]}
    shown = {(row["where"], row["metric"]) for level in one["levels"] for row in level["series"]}
    assert printed == shown and len(shown) == 7


def test_labels_are_given_shown_and_removed(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    label = ("runs", "label", "last", "--out", str(tmp_path))
    assert called(*label, "nightly", "b", "nightly", folder=tmp_path).stdout == "nightly\nb\n"
    assert called(*label, folder=tmp_path).stdout == "nightly\nb\n"
    assert called(*label, "--remove", "b", folder=tmp_path).stdout == "nightly\n"
    for wrong in ("", "x" * 65, "two\nlines"):
        assert called(*label, wrong, folder=tmp_path, code=2).stderr
    assert called(*label, "--remove", folder=tmp_path, code=2).stderr
    with pytest.raises(StoreError, match="at most"):
        write_labels(run, [str(number) for number in range(MOST + 1)])
    assert read_labels(run) == ("nightly",)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"labels": ["a\\u0000"]}', b"\xff", b"x" * 20_000]
)
def test_labels_that_are_damaged_are_refused(
    tmp_path: Path, script: Script, content: bytes
) -> None:
    run = recorded_run(tmp_path)
    (run / LABELS).write_bytes(content)
    with pytest.raises(StoreError, match=r"labels\.json"):
        read_labels(run)
    listing = RunList(tmp_path)
    listing.look()
    assert [line["state"] for line in listing.lines] == ["damaged"]
    assert listing.chosen(Selection()) == []
    (run / LABELS).unlink()
    (run / LABELS).symlink_to("/dev/zero")
    with pytest.raises(StoreError):
        read_labels(run)
    assert run_folder.load(run).steps, "the run itself is read as before"
