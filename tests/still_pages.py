"""Pages in the system's Chromium that look the same each time: their clock, letters and motion."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kept_pictures import KeptPictures

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

KEPT = Path(__file__).parent / "pictures"
WIDTHS = (400, 800, 1280)
NOW_S = 1_800_000_000.0
PATIENCE_MS = 60_000

_FONT = "Noto Sans CJK SC"
_STILL = """*, *::before, *::after {
  animation: none !important; transition: none !important; caret-color: transparent !important
}"""
_LETTERS = f'html, body, body * {{ font-family: "{_FONT}", sans-serif !important }}'


def _has_font() -> bool:
    listed = shutil.which("fc-list")
    return bool(listed and subprocess.run([listed, _FONT], capture_output=True, check=True).stdout)


@contextmanager
def still_browser() -> Iterator[Browser]:
    """The test is skipped where there is no Chromium, or not the font of the kept pictures."""
    sync_api = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("not evaluated: there is no Chromium")
    if not _has_font():
        pytest.skip(f"not evaluated: there is no {_FONT} (fonts-noto-cjk)")
    with sync_api.sync_playwright() as playwright:
        # As root Chromium does not start with its sandbox; the page is our own.
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--font-render-hinting=none"]
        )
        yield browser
        browser.close()


@contextmanager
def still_page(browser: Browser) -> Iterator[Page]:
    """A page whose clock, time zone and motion are those of the kept pictures."""
    context = browser.new_context(
        locale="en-US", timezone_id="UTC", reduced_motion="reduce", bypass_csp=True
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.clock.set_fixed_time(NOW_S)
    yield page
    context.close()


def in_one_font(page: Page) -> None:
    """What is shown gets the letters of the kept pictures."""
    page.add_style_tag(content=_STILL + _LETTERS)


def screenshot(page: Page, *, whole: bool = True) -> bytes:
    """What the page, or only the window, looks like once it no longer changes."""
    before, now = b"", page.screenshot(full_page=whole)
    while now != before:
        page.wait_for_timeout(200)
        before, now = now, page.screenshot(full_page=whole)
    return now


def kept_pictures(differing: Path) -> KeptPictures:
    """Those of the repository; what differs is written to this folder, or where it is asked for."""
    renew = os.environ.get("LOADSTONE_KEEP_PICTURES") == "1"
    return KeptPictures(KEPT, Path(os.environ.get("LOADSTONE_PICTURES_TO") or differing), renew)
