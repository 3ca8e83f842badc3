"""Experiments whose workloads are mixes and files, in phases, on real servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from called import called
from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment
from loadstone.experiments.schedule import schedule
from loadstone.model.plan import Drive, MixMember, Phase
from pooled import Pool

SHOP = """
name = "shop"
[table.orders]
rows = 300
primary_key = ["id"]
[table.orders.columns]
id = { type = "INT NOT NULL", sequence = true }
price = { type = "INT NOT NULL", integer = [1, 100] }
[transaction.look]
autocommit = true
statements = [{ sql = "SELECT price FROM orders WHERE id = :id", rows = 1 }]
parameters.id = { row = "orders" }
"""

FILE = """
repeats = 2
phases = "warm 1s 2, busy 2s 4"
idle = 3

[[workload]]
name = "both"
[[workload.mix]]
name = "shop.toml"
weight = 3
[[workload.mix]]
name = "oltp_read_only"
as = "report"
users = 2
think = "50ms"
tables = 1
table_size = 200

[factor.way.prepared]
[factor.way.text]
client = { prepared = false }
"""


def test_a_file_says_what_the_command_line_says() -> None:
    file = parse_experiment(FILE + "[sandbox]\n", "both.toml", Machine(is_root=False, cores=2))
    experiment = file.experiment
    (workload,) = experiment.workloads
    shop, report = workload.mix
    assert isinstance(shop, MixMember)
    assert (shop.name, shop.weight, shop.users) == ("shop", 3.0, None)
    assert (report.name, report.weight, report.users, report.think_s) == ("report", None, 2, 0.05)
    assert experiment.phases == (
        Phase(name="warm", seconds=1, users=(2, 2), is_warmup=True),
        Phase(name="busy", seconds=2, users=(4, 4)),
    )
    assert (experiment.duration_s, experiment.drive) == (2.0, Drive(idle=3))
    # Dedicated users come on top of those of the phases.
    assert {planned.step.concurrency for planned in schedule(experiment)} == {4 + 2}


def found(out: Path) -> dict[str, Any]:
    (run,) = out.iterdir()
    result: dict[str, Any] = json.loads((run / "result.json").read_text())
    return result


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("where", ["sandbox", pytest.param("target", marks=pytest.mark.nightly)])
def test_a_mix_with_a_file_is_driven_by_phases_on_each_variant(
    where: str, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.toml").write_text(SHOP)
    with pool.schema() as server:
        monkeypatch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
        of_target = f'[target]\nurl = "{server.tcp.target.url}"\n'
        text = FILE + ("[sandbox]\n" if where == "sandbox" else of_target)
        (tmp_path / "both.toml").write_text(text)
        if where == "target":
            url = server.tcp.target.url
            called("prepare", "shop.toml", "--target", url, folder=tmp_path)
            sizes = ("--tables", "1", "--table-size", "200")
            called("prepare", "oltp_read_only", "--target", url, *sizes, folder=tmp_path)
        said = called("experiment", "both.toml", "--out", "runs", folder=tmp_path).stdout
    steps = found(tmp_path / "runs")["steps"]
    # More units follow if noise has disturbed one.
    assert [step["variant"] for step in steps][:4] == [
        "way=prepared", "way=text", "way=text", "way=prepared",
    ]  # fmt: skip
    for step in steps:
        assert (step["state"], step["concurrency"]) == ("finished", 6)
        shop, report = step["members"]
        assert (shop["name"], report["name"]) == ("shop", "report")
        # Two users with a think time of 50 ms start at most 40 events a second.
        assert 0 < report["tps"] <= 41 and shop["tps"] > report["tps"]
        warm, busy = step["phases"]
        assert (warm["name"], busy["name"]) == ("warm", "busy")
        assert step["idle"]["open"] == 3
    called("report", "last", "--out", "runs", folder=tmp_path)
    (page,) = (tmp_path / "runs").glob("*/report.html")
    for title in ("Each workload of the mix", "Phase by phase"):
        assert f"{title}:" in said
        assert f">{title}</h3>" in page.read_text()


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text(FILE.replace("shop.toml", "gone.toml") + "[sandbox]\n")
    said = called("experiment", "both.toml", "--dry-run", folder=tmp_path, code=None)
    assert said.returncode == 4
    assert "gone.toml" in said.stderr
