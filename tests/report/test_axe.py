"""axe-core finds nothing in the report: both languages, both themes, at a desk and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

import axe
from loadstone.model.language import Lang
from loadstone.report.html import as_html
from loadstone.report.opened import Run

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(300)]

FOLDERS = Path(__file__).parents[1] / "compatibility/folders/0.1"
UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("run", ["ladder-20261124T084358Z", "search-20261124T084245Z"])
def test_axe_finds_nothing_in_a_report(run: str, language: Lang, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(as_html(Run(FOLDERS / run), language))
    with axe.chromium() as browser:
        page = browser.new_page(locale="en-US")
        page.set_default_timeout(axe.PATIENCE_MS)
        page.goto(report.as_uri())
        axe.load(page)
        page.evaluate(UNFOLD)
        assert axe.findings_by_system_theme(page, "report") == []
