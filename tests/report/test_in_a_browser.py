"""The report in the system's Chromium: charts are drawn, zoom links them, nothing complains."""

from __future__ import annotations

import base64
import hashlib
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
    pytest.mark.timeout(300),
]

# Virtual time does not wait for other threads, which unpack the library: work that takes real time
# on this one does, and the more the slower the machine is.
TICKER = "setInterval(() => { for (let n = 0; n < 1e7; n++) { Math.sqrt(n); } }, 100);"

PROBE = """
setTimeout(() => {
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
}, 15000);
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
            "--window-size=1200,14000", "--virtual-time-budget=20000",
            "--dump-dom", page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=280,
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


def with_script(page: str, code: str) -> str:
    """The page with a script more, which its policy allows as it does its own: by its hash."""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    allowed = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    return allowed.replace("</body>", f"<script>{code}</script></body>")


def test_charts_are_drawn_and_zoom_together_and_nothing_complains(
    page: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(with_script(page, TICKER + PROBE))
    shown = show(path, tmp_path / "profile")
    assert shown.console == []
    probe = shown.probe
    assert len(probe["seen"]) == len(unpacked(page)["figures"])
    for number, figure in enumerate(probe["seen"]):
        assert figure["drawn"] or (figure["paths"] > 5 and figure["words"] > 3), number
    assert probe["zooms"] == [[25, 75], [25, 75]]
    assert probe["theme"] == "dark"
    assert "&lt;script&gt;alert('mine')" in shown.dom
