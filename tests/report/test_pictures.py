"""The top of a report and of the documentation look as they are kept, as the page's views do.

LOADSTONE_KEEP_PICTURES=1 keeps what is there now: look at it, then commit it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from kept_pictures import KeptPictures
from loadstone.report.html import as_html
from loadstone.report.opened import Run
from still_pages import (
    WIDTHS,
    in_one_font,
    kept_pictures,
    screenshot,
    still_browser,
    still_page,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tests/compatibility/folders/0.1/ladder-20261124T084358Z"
SPHINX = ROOT / ".cache/docs/bin/sphinx-build"
TOP_PX = 1200
THEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
# Pictures within the documentation are taken again from time to time.
NO_PICTURES = "img { visibility: hidden !important }"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with still_browser() as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with still_page(browser) as found:
        yield found


@pytest.fixture
def kept(tmp_path: Path) -> KeptPictures:
    return kept_pictures(tmp_path / "pictures")


def differences(page: Page, document: Path, view: str, kept: KeptPictures) -> list[str]:
    """Of the top of a document that has the system's theme: in both, and at each width."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": TOP_PX})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            page.goto(document.as_uri())
            in_one_font(page)
            page.add_style_tag(content=NO_PICTURES)
            name = view.format(width=width, theme=theme)
            found.append(kept.difference(name, screenshot(page, whole=False)))
    return [one for one in found if one is not None]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_top_of_a_report_looks_as_it_is_kept(
    language: Literal["en", "zh"], page: Page, tmp_path: Path, kept: KeptPictures
) -> None:
    report = tmp_path / "report.html"
    report.write_text(as_html(Run(RUN), language))
    view = f"report-{{width}}-{language}-{{theme}}"
    assert differences(page, report, view, kept) == []


def test_the_first_pages_of_the_documentation_look_as_they_are_kept(
    page: Page, tmp_path: Path, kept: KeptPictures
) -> None:
    if not SPHINX.exists():
        pytest.skip("not evaluated: there is no Sphinx (tools/setup docs)")
    site = tmp_path / "site"
    words = map(str, (SPHINX, "--quiet", "-d", tmp_path / "doctrees", ROOT / "docs", site))
    subprocess.run([*words], check=True, capture_output=True)
    found = []
    for language, name in (("en", "index.html"), ("zh", "zh/index.html")):
        view = f"docs-{{width}}-{language}-{{theme}}"
        found += differences(page, site / name, view, kept)
    assert found == []
