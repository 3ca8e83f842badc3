"""Experiments on servers whose difference is known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of
from null_server.conftest import Starter
from null_server.running import Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HEAD = """\
duration = "1s"
warmup = "200ms"
ladder = [4]
repeats = 8
level = 0.01

[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 100
"""


def told(
    servers: tuple[Running, Running], folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[str, float]:
    """The verdict, and the effect by the rates that the servers themselves were driven at."""
    levels = [
        f"[factor.server.{name}]\n"
        f'target = {{ url = "mysql://u@127.0.0.1:{server.port}/sbtest?tls=disabled" }}\n'
        for name, server in zip("ab", servers, strict=True)
    ]
    (folder / "two.toml").write_text(HEAD + "".join(levels))
    out = folder / "runs"
    assert exit_code_of(["experiment", str(folder / "two.toml"), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    found = re.search(r"server=b against server=a: (.*)", said)
    assert found, said
    (run,) = out.iterdir()
    events = {"server=a": 0, "server=b": 0}
    for step in json.loads((run / "result.json").read_text())["steps"]:
        events[step["variant"]] += step["tally"]["succeeded"]
    # Nothing is counted that the servers did not answer.
    answered = [server.status()["answered"] for server in servers]
    assert list(events.values()) == answered
    return found[1], answered[1] / answered[0] - 1


def test_a_server_is_not_faster_than_itself(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, _ = told((start(), start()), tmp_path, capsys)
    assert said.startswith(("no difference", "not enough evidence"))


def test_a_server_whose_answers_take_a_fifth_longer_is_slower(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = [start({"service": {"kind": "constant", "us": us}}) for us in (10_000, 12_000)]
    said, truth = told((slow[0], slow[1]), tmp_path, capsys)
    assert -0.2 < truth < -0.1
    assert said == "slower"
