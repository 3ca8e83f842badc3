"""Experiments on servers whose difference is known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kept import Stopwatch
from loadstone.cli.errors import exit_code_of
from null_server.conftest import Starter
from null_server.running import Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MUCH = 0.01
"""A share of the time: if a core was missing for less, most units must count."""

HEAD = """\
duration = "500ms"
warmup = "100ms"
ladder = [64]
repeats = 8
level = {level}

[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 100
"""


def taking(ms: int) -> dict[str, Any]:
    """Answers after this time, plus or minus a fifth, so that users do not stay in step."""
    return {"service": {"kind": "uniform", "from_us": 800 * ms, "to_us": 1200 * ms}}


def told(
    servers: tuple[Running, Running], level: float, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[str, float, str | None]:
    """The verdict, the effect by the servers' own counts, and why units are left out.

    `level` is the chance of a false verdict.
    """
    levels = [
        f"[factor.server.{name}]\n"
        f'target = {{ url = "mysql://u@127.0.0.1:{server.port}/sbtest?tls=disabled" }}\n'
        for name, server in zip("ab", servers, strict=True)
    ]
    (folder / "two.toml").write_text(HEAD.format(level=level) + "".join(levels))
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
    left_out = re.search(r"\d+ of \d+ units left out: .*", said)
    return found[1], answered[1] / answered[0] - 1, left_out and left_out[0]


@pytest.mark.nightly
def test_a_server_is_not_faster_than_itself(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, *_ = told((start(taking(100)), start(taking(100))), 0.001, tmp_path, capsys)
    undecided = ("not enough evidence", "cannot be decided")
    assert said.startswith(("no difference", *undecided))


@pytest.mark.timing
def test_a_server_whose_answers_take_a_fifth_longer_is_slower(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = start(taking(100)), start(taking(120))
    watch = Stopwatch(*(server.process.pid for server in servers))
    said, truth, left_out = told(servers, 0.05, tmp_path, capsys)
    kept = watch.kept_s / watch.passed_s
    # A sixth, by the servers' own counts; steps that had to wait for a core have done less.
    assert -0.2 - kept < truth < -0.1 + kept
    if left_out and said.startswith("not enough evidence") and kept > MUCH:
        pytest.skip(f"not evaluated, {kept:.0%} of the time without a core: {left_out}")
    assert said == "slower"
