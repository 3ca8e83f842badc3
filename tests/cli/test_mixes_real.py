"""A mix in phases with reconnects and idle connections, from the command line to the report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from loadstone import engine
from loadstone.cli.errors import exit_code_of
from loadstone.model.null_server import NullServerSettings

USERS, IDLE = 6, 20


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The run's folder, and the server's own counts."""
    out = tmp_path_factory.mktemp("runs")
    server = engine.null_server(NullServerSettings())
    words = [
        "run", "oltp_point_select:weight=3", "oltp_update_index:as=writes",
        "oltp_read_only:as=report,users=2,range_size=10",
        "--target", f"mysql://u@127.0.0.1:{server.port}/sbtest?tls=disabled",
        "--phases", "warm 1s 2, ramp 2s 2..4, soak 1s 4", "--reconnect", "5", "--idle", str(IDLE),
        "--out", str(out), "--no-observe", "--shards", "2",
    ]  # fmt: skip
    assert exit_code_of(words) == 0
    counted = server.stop()
    (run,) = out.iterdir()
    return run, counted


def the_step(run: Path) -> dict[str, Any]:
    (step,) = json.loads((run / "result.json").read_text())["steps"]
    return dict(step)


def test_the_parts_are_the_whole_and_the_whole_is_what_the_server_counted(
    driven: tuple[Path, Any],
) -> None:
    run, counted = driven
    step = the_step(run)
    for name in ("events", "reads", "writes", "other", "failed", "due"):
        assert sum(member[name] for member in step["members"]) == step[name], name
    assert step["tally_balances"] is True
    names = [member["name"] for member in step["members"]]
    assert names == ["oltp_point_select", "writes", "report"]
    assert all(member["latency"]["response"]["count"] == member["events"] > 0
               for member in step["members"])  # fmt: skip
    assert sum(phase["events"] for phase in step["phases"][1:]) == step["events"]
    assert step["idle"] == {"asked": IDLE, "open": IDLE, "lost": 0, "opened": 0}
    assert (step["concurrency"], step["users"]) == (USERS, USERS)
    assert step["connect"]["count"] == step["connects"] > 0
    journal = (run / "journal.jsonl").read_text().splitlines()
    samples = [
        entry["record"]
        for entry in map(json.loads, journal)
        if entry["kind"] == "engine" and entry["record"]["kind"] == "sample"
    ]
    connects = sum(sample["counts"]["connects"] for sample in samples)
    # Each workload's tables are checked over one more connection; each user and idle one has its
    # own.
    ours = counted.logins - connects - USERS - IDLE
    assert 0 < ours < 20 + USERS


def test_the_text_tells_each_workload_and_each_phase(
    driven: tuple[Path, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = driven
    assert exit_code_of(["runs", "show", str(run)]) == 0
    text = capsys.readouterr().out
    for line in (
        "  report: 2 users, oltp_read_only, 10 tables × 10,000 rows",
        "each user opens a new connection after 5 transactions",
        "20 idle connections alongside the users",
        "Each workload of the mix:",
        "Phase by phase:",
        "New connections, and how long opening one took:",
        "20 of 20 idle connections were held alongside the users",
    ):
        assert line in text, text
    assert re.search(r"^ramp +1\.\.3 +2\.\.4 users", text, re.MULTILINE), text
    assert re.search(r"^writes \(oltp_update_index\) +weight 1 ", text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("lang", "said", "member"),
    [
        ("en", "Phase by phase", "writes (oltp_update_index)"),
        ("zh", "分阶段结果", "writes（oltp_update_index）"),
    ],
)
def test_the_page_has_the_same(
    driven: tuple[Path, Any], tmp_path: Path, lang: str, said: str, member: str
) -> None:
    run, _ = driven
    page = tmp_path / "report.html"
    assert exit_code_of(["report", str(run), "-o", str(page), "--lang", lang]) == 0
    written = page.read_text()
    assert said in written
    assert member in written
