"""The report in the system's Chromium: charts are drawn, zoom is linked, there is no error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scripted_engine
from loadstone.report.html import as_html
from loadstone.report.opened import Run
from loadstone.report.page import unpacked
from report.a_day import a_day

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("not evaluated: there is no Chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_MS = 60_000
"""A machine may be busy with other tests; what takes longer hangs."""

STEPS = 2
"""Steps in the report; zooming the charts of one leaves those of the other alone."""

PIXELS = """(place) => {
  const canvas = place.querySelector("canvas");
  if (!canvas) { return place.querySelectorAll("svg path").length; }
  const drawn = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let found = 0;
  for (let at = 3; at < drawn.length; at += 4) { if (drawn[at]) { found += 1; } }
  return found;
}"""
"""The opaque pixels of a canvas; the paths of a figure drawn as SVG."""

ZOOMS = """(group) => Array.from(document.querySelectorAll(".figure"))
  .map((place) => echarts.getInstanceByDom(place))
  .filter((chart) => chart && chart.group === group)
  .map((chart) => { const at = chart.getOption().dataZoom[0]; return [at.start, at.end]; })"""

GROUP = "(place) => echarts.getInstanceByDom(place).group || ''"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of four hours, with all parts open."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        made = as_html(Run(a_day(folder, STEPS)))
    place = folder / "report.html"
    place.write_text(made.replace("<details", "<details open"))
    return place


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        # As root Chromium does not start with its sandbox; the page is our own.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An offline page; any error in its console fails the test."""
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 900})
    found = context.new_page()
    found.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
    yield found
    assert complaints == []


@pytest.mark.smoke
def test_charts_are_drawn_and_zoom_together_and_nothing_complains(
    report: Path, page: Page, record_property: Callable[[str, object], None]
) -> None:
    page.goto(report.as_uri())
    page.locator(".figure[data-drawn]").first.wait_for()
    # Logged, not judged: it depends on the machine too.
    record_property("opened_ms", round(page.evaluate("performance.now()")))
    figures = page.locator(".figure")
    assert figures.count() == len(unpacked(report.read_text())["figures"])
    groups = []
    for number in range(figures.count()):
        figure = figures.nth(number)
        figure.scroll_into_view_if_needed()
        page.locator(f"#figure-{number}[data-drawn]").wait_for()
        assert figure.evaluate(PIXELS) > 5, number
        groups.append(figure.evaluate(GROUP))
    assert [groups.count(f"step-{step}") for step in range(1, STEPS + 1)] == [2] * STEPS
    figures.nth(groups.index("step-2")).press("+")
    assert page.evaluate(ZOOMS, "step-2") == [[25, 75], [25, 75]]
    assert page.evaluate(ZOOMS, "step-1") == [[0, 100], [0, 100]]
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("h1", has_text="<script>alert('mine')").count() == 1
