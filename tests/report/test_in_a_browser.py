"""The report in the system's Chromium: charts are drawn, zoom links them, nothing complains."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import scripted_engine
from loadstone.report.html import as_html
from loadstone.report.opened import Run
from loadstone.report.page import unpacked
from report.a_day import a_day

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="not evaluated: no chromium here"),
    pytest.mark.slow,
]

# Runs beside the page's own script, which is why the copy that it is put into has no policy.
PROBE = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const places = Array.from(document.querySelectorAll(".figure"));
  const seen = places.map((place) => {
    const chart = echarts.getInstanceByDom(place);
    const canvas = place.querySelector("canvas");
    const blank = document.createElement("canvas");
    if (canvas) { blank.width = canvas.width; blank.height = canvas.height; }
    return {
      drawn: canvas ? canvas.toDataURL() !== blank.toDataURL() : false,
      paths: place.querySelectorAll("svg path").length,
      words: place.querySelectorAll("svg text").length,
      group: chart ? chart.group || "" : "none",
    };
  });
  const first = places.find((place) => echarts.getInstanceByDom(place).group);
  const group = echarts.getInstanceByDom(first).group;
  first.focus();
  first.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
  const zooms = places.map((place) => echarts.getInstanceByDom(place))
    .filter((chart) => chart.group === group)
    .map((chart) => { const at = chart.getOption().dataZoom[0]; return [at.start, at.end]; });
  document.getElementById("theme").click();
  const theme = document.documentElement.dataset.theme;
  document.body.dataset.probe = JSON.stringify({ seen, zooms, theme });
}, 1500));
</script>
"""


@dataclass(frozen=True)
class Shown:
    """What a browser made of a page."""

    dom: str
    console: list[str]

    @property
    def probe(self) -> dict[str, Any]:
        found = re.search(r'data-probe="([^"]*)"', self.dom)
        assert found is not None, self.console
        told: dict[str, Any] = json.loads(html.unescape(found[1]))
        return told


def show(page: Path, profile: Path) -> Shown:
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
            "--disable-background-networking", "--disable-dev-shm-usage",
            f"--user-data-dir={profile}", "--enable-logging=stderr",
            "--window-size=1200,14000", "--virtual-time-budget=40000",
            "--dump-dom", page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Shown(done.stdout, console)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two steps of four hours, with all parts open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        made = as_html(Run(a_day(tmp_path_factory.mktemp("runs"), steps=2)))
    return made.replace("<details", "<details open")


def test_charts_are_drawn_without_a_word_on_the_console(page: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page)
    shown = show(path, tmp_path / "profile")
    assert shown.console == []
    figures = len(unpacked(page)["figures"])
    assert shown.dom.count('data-drawn="yes"') == figures
    assert "&lt;script&gt;alert('mine')" in shown.dom


def test_figures_have_content_and_zoom_together(
    folder: Path, script: Script, tmp_path: Path
) -> None:
    page = as_html(Run(folder))
    path = tmp_path / "report.html"
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
    path.write_text(policy.sub("", page).replace("</body>", f"{PROBE}</body>"))
    probe = show(path, tmp_path / "profile").probe
    assert len(probe["seen"]) == len(unpacked(page)["figures"])
    for number, figure in enumerate(probe["seen"]):
        assert figure["drawn"] or (figure["paths"] > 5 and figure["words"] > 3), number
    assert probe["zooms"] == [[25, 75], [25, 75]]
    assert probe["theme"] == "dark"
