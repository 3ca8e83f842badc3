"""axe-core finds nothing on the documentation's site: both themes, at a desk and on a phone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import axe

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
SPHINX = ROOT / ".cache/docs/bin/sphinx-build"


def test_axe_finds_nothing_on_the_site(tmp_path: Path) -> None:
    if not SPHINX.exists():
        pytest.skip("not evaluated: there is no Sphinx (tools/setup docs)")
    site = tmp_path / "site"
    words = map(str, (SPHINX, "--quiet", "-d", tmp_path / "doctrees", ROOT / "docs", site))
    subprocess.run([*words], check=True, capture_output=True)
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    with axe.chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(axe.PATIENCE_MS)
        found = []
        for each in pages:
            page.goto(each.as_uri())
            axe.load(page)
            found += axe.findings_by_system_theme(page, str(each.relative_to(site)))
    assert found == []
