"""The report in the system's Chromium: charts are drawn, zoom is linked, there is no error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

import scripted_engine
from analyse.made import a_step
from in_browser import FAINT
from loadstone.model.finding import Finding
from loadstone.model.language import ENGLISH, in_language
from loadstone.model.message import plain
from loadstone.report.figures.evidence import evidence_figure
from loadstone.report.html import as_html
from loadstone.report.markup import element
from loadstone.report.opened import Run
from loadstone.report.page import Figures, document, unpacked
from loadstone.report.plain_page import Part
from loadstone.report.plain_page import page as plain_page
from loadstone.report.table import table_of
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

LINES = """(one) => {
  const text = document.createRange();
  text.selectNodeContents(one);
  return new Set(Array.from(text.getClientRects(), (line) => line.top)).size;
}"""
"""The lines that a text takes."""

PAPER_PX = 182 / 25.4 * 96
"""The width of A4 without its margins."""

ON_PAPER = """() => ({
  folded: document.querySelectorAll("details:not([open])").length,
  wide: Math.max(...Array.from(document.querySelectorAll("main *"))
    .filter((one) => !one.closest(".figure"))
    .map((one) => one.getBoundingClientRect().right)),
  longest: Math.max(...Array.from(document.querySelectorAll(".figure"))
    .map((place) => place.getBoundingClientRect().height)),
  drawn: Array.from(document.querySelectorAll(".figure"), (place) => {
    const [drawn, room] = [place.querySelector("svg"), place.getBoundingClientRect()];
    return drawn !== null && drawn.getBoundingClientRect().width <= room.width + 1;
  }),
  ends: document.querySelector(".figure").getBoundingClientRect().bottom
    - document.documentElement.getBoundingClientRect().top,
  dark: getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)",
})"""
"""What a printer gets."""

CUT = """() => Array.from(document.querySelectorAll(".figure")).flatMap((place) => {
  const room = place.getBoundingClientRect();
  const legends = Array.from(place.querySelectorAll("svg text"))
    .filter((one) => one.textContent && one.checkVisibility());
  return legends.filter((one) => {
    const box = one.getBoundingClientRect();
    return box.left < room.left - 1 || box.right > room.right + 1
      || box.top < room.top - 1 || box.bottom > room.bottom + 1;
  }).map((one) => `${place.id}: ${one.textContent}`);
})"""
"""Texts of figures that their edge cuts."""

COVERED = """(place) => {
  const texts = Array.from(place.querySelectorAll("svg text")).filter((one) => one.textContent)
    .map((one) => [one.textContent, one.getBoundingClientRect()]);
  const cover = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  return texts.flatMap(([said, box], at) => texts.slice(at + 1)
    .filter(([, other]) => cover(box, other)).map(([other]) => `${said} / ${other}`));
}"""
"""Texts of one figure that cover each other."""

GROUP = "(place) => echarts.getInstanceByDom(place).group || ''"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of four hours, with all parts open."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        made = as_html(Run(a_day(folder, STEPS)))
    (folder / "folded.html").write_text(made)
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
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Colours").select_option("dark")
    assert page.evaluate(ground) != light
    page.get_by_label("Colours").select_option("as the system")
    assert page.evaluate(ground) == light
    assert page.locator("h1", has_text="<script>alert('mine')").count() == 1


def test_on_paper_all_is_open_light_and_within_the_page_and_then_as_before(
    report: Path, page: Page
) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(report.with_name("folded.html").as_uri())
    page.locator(".figure[data-drawn]").first.wait_for()
    before = page.evaluate(ON_PAPER)
    assert before["folded"]
    assert before["dark"]
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    paper = page.evaluate(ON_PAPER)
    assert paper["folded"] == 0
    assert not paper["dark"]
    assert paper["wide"] <= PAPER_PX + 1
    assert paper["longest"] < 240 / 25.4 * 96
    # The first one is on the page of the answer.
    assert paper["ends"] <= 264 / 25.4 * 96
    # Heat maps too, which are a canvas on the screen: Chromium prints none that was just drawn.
    assert all(paper["drawn"])
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    after = page.evaluate(ON_PAPER)
    assert (after["folded"], after["dark"]) == (before["folded"], before["dark"])
    assert after["wide"] > PAPER_PX
    assert after["ends"] > paper["ends"]


def draw_all(page: Page) -> None:
    for number in range(page.locator(".figure").count()):
        page.locator(f"#figure-{number}").scroll_into_view_if_needed()
        page.locator(f"#figure-{number}[data-drawn]").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_cut_covered_or_faint(
    report: Path, page: Page, width: int, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(report.as_uri())
    draw_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT) == []
    assert page.evaluate(FAINT) == []
    for figure in page.locator(".figure[id]").all():
        assert figure.evaluate(COVERED) == []


def test_legends_find_their_place_when_a_window_becomes_narrow(report: Path, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(report.as_uri())
    draw_all(page)
    wide = page.locator(".figure[data-drawn=wide]:has(svg)").count()
    narrow = page.locator(".figure[data-drawn=narrow]")
    page.set_viewport_size({"width": 400, "height": 900})
    narrow.first.wait_for()
    for figure in narrow.all():
        assert figure.evaluate(COVERED) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    sync_api.expect(narrow).to_have_count(0, timeout=PATIENCE_MS)
    sync_api.expect(page.locator(".figure[data-drawn=wide]:has(svg)")).to_have_count(wide)


def test_a_wide_table_keeps_chinese_words_whole_and_breaks_lists_without_spaces(
    tmp_path: Path, page: Page
) -> None:
    switches = ",".join(f"index_merge_of_kind_{number}=on" for number in range(30))
    why = "优化器的各个开关决定它可以采用哪些执行计划，因此同一条语句的代价可能相差很大。" * 4
    rows = (("影响性能", "optimizer_switch", "default", switches, why),)
    table = table_of(("", "项目", "A", "B", "对性能的影响"), rows, text=5)
    place = tmp_path / "page.html"
    place.write_text(plain_page("比较", (), (Part("差异", table=table),), in_language("zh")))
    page.goto(place.as_uri())
    scrolls = page.locator(".scrolls")
    assert scrolls.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    first = page.locator("tbody td").first
    assert first.evaluate(LINES) == 1
    assert "kind_0=on,<wbr>index" in page.locator("tbody").inner_html()


@pytest.mark.parametrize("width", [400, 1280])
def test_long_names_and_large_numbers_of_a_findings_chart_are_not_cut(
    page: Page, tmp_path: Path, width: int
) -> None:
    counter = "performance_schema_events_statements_history_long_size of all sessions"
    ladder = [a_step(users=users, tps=12_345_678.0 * users) for users in (1, 4, 16)]
    finding = Finding(
        cause="any",
        group="setting",
        sentence=plain("-"),
        evidence=(),
        share=None,
        confidence=0.6,
        remedy=plain("-"),
    )
    figure = replace(evidence_figure(finding, ladder, ENGLISH), title=counter)
    figures = Figures(ENGLISH)
    drawn = element("article", element("p", "-"), figures.place(figure), class_="finding")
    place = tmp_path / "finding.html"
    place.write_text(document("A finding", drawn, figures))
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(place.as_uri())
    draw_all(page)
    assert page.evaluate(CUT) == []
    assert page.locator("figcaption").inner_text() == counter
    assert page.evaluate("document.documentElement.scrollWidth") <= width
