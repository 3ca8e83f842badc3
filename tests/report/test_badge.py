"""A run's highest rate as a small image."""

from __future__ import annotations

import xml.etree.ElementTree as tree
from pathlib import Path

from loadstone.cli.errors import exit_code_of
from loadstone.report.badge import as_badge
from loadstone.report.opened import Run
from recorded import a_plan, recorded_run
from scripted_engine import Script

SVG = "{http://www.w3.org/2000/svg}"


def shown(badge: str) -> tuple[list[str], str]:
    """Its texts, and the colour behind the figure."""
    drawn = tree.fromstring(badge)
    texts = [text.text or "" for text in drawn.iter(f"{SVG}text")]
    colours = [box.attrib["fill"] for box in drawn.iter(f"{SVG}rect")]
    return texts, colours[1]


def test_it_shows_the_highest_rate_of_the_run(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 500 * users
    steps = Run(recorded_run(tmp_path, a_plan(ladder=(1, 4)))).result.steps
    texts, good = shown(as_badge(steps, "a <name>"))
    assert texts == ["a <name>", "2,000 tps"]
    bound = [
        step.model_copy(
            update={"generator": step.generator.model_copy(update={"client_bound": True})}
        )
        for step in steps
    ]
    texts, doubtful = shown(as_badge(bound, "a <name>"))
    assert texts == ["a <name>", "2,000! tps"]
    assert doubtful != good
    assert shown(as_badge([], "nothing")) == (["nothing", "no rate"], doubtful)


def test_the_command_writes_it(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 1000
    run = recorded_run(tmp_path, a_plan(ladder=(4,)))
    place = tmp_path / "badge.svg"
    assert exit_code_of(["report", str(run), "--badge", "-o", str(place)]) == 0
    texts, _ = shown(place.read_text())
    assert texts == ["test", "1,000 tps"]
