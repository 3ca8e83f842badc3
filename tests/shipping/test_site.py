"""axe-core finds nothing on the documentation's site: both themes, at a desk and on a phone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import axe

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(300)]

DOCS = Path(__file__).parents[2] / "docs"
SPHINX = DOCS.parent / ".cache/docs/bin/sphinx-build"
MADE = ("genindex", "search")
"""Pages without a source."""

PAGES = [str(each.relative_to(DOCS).with_suffix("")) for each in sorted(DOCS.rglob("*.md"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not SPHINX.exists():
        pytest.skip("not evaluated: there is no Sphinx (tools/setup docs)")
    folder = tmp_path_factory.mktemp("site")
    words = map(str, (SPHINX, "--quiet", "-d", folder / "doctrees", DOCS, folder / "site"))
    subprocess.run([*words], check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with axe.chromium() as found:
        yield found


def test_the_site_has_a_page_of_each_document(site: Path) -> None:
    pages = {str(each.relative_to(site).with_suffix("")) for each in site.rglob("*.html")}
    assert len(PAGES) > 40
    assert pages - {one for one in pages if one.startswith("_")} == {*PAGES, *MADE}


@pytest.mark.parametrize("document", [*PAGES, *MADE])
def test_axe_finds_nothing_on_the_page(browser: Browser, site: Path, document: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(axe.PATIENCE_MS)
    page.goto((site / f"{document}.html").as_uri())
    axe.load(page)
    found = axe.findings_by_system_theme(page, document)
    page.close()
    assert found == []
