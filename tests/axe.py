"""axe-core in the system's Chromium; tests that need one of them skip where it is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from in_browser import FAINT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_MS = 60_000
WIDTHS = (1280, 768, 390)
"""A desk, a tablet, and a phone, in CSS pixels."""

_AXE = Path(
    os.environ.get("LOADSTONE_AXE", Path(__file__).parents[1] / ".cache" / "axe" / "axe.min.js")
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium whose pages axe-core can look at."""
    sync_api = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("not evaluated: there is no Chromium")
    if not _AXE.exists():
        pytest.skip("not evaluated: there is no axe-core (tools/get-axe)")
    with sync_api.sync_playwright() as playwright:
        # As root Chromium does not start with its sandbox; the pages are our own.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def load(page: Page) -> None:
    """Load axe-core into the page that is shown."""
    page.evaluate(_AXE.read_text())


_OURS = "color-contrast"
"""The rule whose open questions we answer: axe-core takes the colours of a text for unknown where
its ground has a gradient, where something lies above a part of it, or where it is a single
character. Our grounds are of one colour each, but for the shadow at the edge of a table."""


def findings(page: Page, view: str) -> list[str]:
    """What is wrong with what is shown now.

    What axe-core finds; what it cannot decide, unless we can; texts with too little contrast,
    decided or not; and whether the page is wider than the window.
    """
    found: dict[str, Any] = page.evaluate(
        'axe.run(document, { resultTypes: ["violations", "incomplete"] })'
    )
    assert len(found["passes"]) > 10, "it looked at something"
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [
        *(f"{view}: {_told(one)}" for one in found["violations"]),
        *(f"{view}: open: {_told(one)}" for one in found["incomplete"] if one["id"] != _OURS),
        *(f"{view}: faint: {one}" for one in page.evaluate(FAINT)),
        *([f"{view}: it scrolls sideways"] if wide else []),
    ]


def _told(found: dict[str, Any]) -> str:
    """A rule, the first element that it is about, and how many there are."""
    return f"{found['id']}: {found['nodes'][0]['html'][:200]} ({len(found['nodes'])})"


def findings_by_system_theme(page: Page, view: str) -> list[str]:
    """Those of a document that has the system's theme: in both, at a desk and on a phone."""
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme="light" if theme == "light" else "dark")
        for width in (WIDTHS[0], WIDTHS[-1]):
            page.set_viewport_size({"width": width, "height": 900})
            found += findings(page, f"{view}, {theme}, {width} px")
    return found
