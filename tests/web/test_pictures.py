"""The page's main views look as they are kept: three widths, two themes, two languages.

LOADSTONE_KEEP_PICTURES=1 keeps what is there now: look at it, then commit it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kept_pictures import KeptPictures
from loadstone.recipes.offered import recipes_offered
from loadstone.runs import recorder
from loadstone.web.access import Keys
from loadstone.web.begin.offers import Offers
from recorded import a_plan, recorded_run
from scripted_engine import Script
from web.served import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("not evaluated: there is no Chromium", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600)]

KEPT = Path(__file__).parents[1] / "pictures"
FONT = "Noto Sans CJK SC"
WIDTHS = (400, 800, 1280)
NOW_S = 1_800_000_000.0
PATIENCE_MS = 60_000
STILL = """*, *::before, *::after {
  animation: none !important; transition: none !important; caret-color: transparent !important
}"""
LETTERS = f'html, body, body * {{ font-family: "{FONT}", sans-serif !important }}'


def has_font() -> bool:
    listed = shutil.which("fc-list")
    return bool(listed and subprocess.run([listed, FONT], capture_output=True, check=True).stdout)


if not has_font():
    pytest.skip(f"not evaluated: there is no {FONT} (fonts-noto-cjk)", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        # As root Chromium does not start with its sandbox; the page is our own.
        found = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--font-render-hinting=none"]
        )
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose clock, time zone, fonts and letters are those of the kept pictures."""
    context = browser.new_context(
        locale="en-US", timezone_id="UTC", reduced_motion="reduce", bypass_csp=True
    )
    found = context.new_page()
    found.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    found.clock.set_fixed_time(NOW_S)
    yield found
    context.close()


@pytest.fixture
def runs(tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The names of two finished runs of another second each, in the test's folder."""
    script.tps = lambda users, second: 20 * users + second % 3
    monkeypatch.setattr("loadstone.runs.recorder.time.time", lambda: NOW_S)
    ticks = itertools.count(1)
    monkeypatch.setattr(recorder.Recorder, "_now", lambda self: float(next(ticks)))
    names = [recorded_run(tmp_path, a_plan(name=name)).name for name in ("first", "second")]
    monkeypatch.undo()
    return names[0], names[1]


def a_run(page: Page, runs: tuple[str, str]) -> None:
    page.evaluate(f"location.hash = 'run={runs[0]}'")
    expect(page.locator("#run-name")).to_have_text(runs[0])
    expect(page.locator("#findings article").first).to_be_visible()
    expect(page.locator("#timeline-rates canvas")).to_be_visible()


def a_comparison(page: Page, runs: tuple[str, str]) -> None:
    page.evaluate(f"location.hash = 'compare={runs[0]}/{runs[1]}'")
    expect(page.locator("#comparison table").first).to_be_visible()


def a_form(page: Page, runs: tuple[str, str]) -> None:
    page.evaluate("location.hash = 'begin'")
    expect(page.locator("#begin-target")).to_have_value("throwaway")


def screenshot(page: Page) -> bytes:
    """What the page looks like once it no longer changes."""
    before, now = b"", page.screenshot(full_page=True)
    while now != before:
        page.wait_for_timeout(200)
        before, now = now, page.screenshot(full_page=True)
    return now


def differences(page: Page, view: str, kept: KeptPictures) -> list[str]:
    """Of a view in both languages and themes, and at each width."""
    found = []
    page.add_style_tag(content=STILL + LETTERS)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for language in ("en", "zh"):
            for theme in ("light", "dark"):
                page.locator("#language").select_option(language)
                page.locator("#theme").select_option(theme)
                name = f"{view}-{width}-{language}-{theme}"
                found.append(kept.difference(name, screenshot(page)))
    return [one for one in found if one is not None]


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptPictures:
    renew = os.environ.get("LOADSTONE_KEEP_PICTURES") == "1"
    differing = os.environ.get("LOADSTONE_PICTURES_TO")
    return KeptPictures(
        KEPT, Path(differing) if differing else tmp_path_factory.mktemp("pictures"), renew
    )


VIEWS: dict[str, Callable[[Page, tuple[str, str]], None]] = {
    "run": a_run,
    "comparison": a_comparison,
    "begin": a_form,
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_looks_as_it_is_kept(
    view: str, page: Page, runs: tuple[str, str], tmp_path: Path, kept: KeptPictures
) -> None:
    with served(tmp_path, Keys(may_run=True), offers=Offers(recipes_offered())) as server:
        page.goto(server.link)
        VIEWS[view](page, runs)
        assert differences(page, view, kept) == []


def test_an_empty_list_looks_as_it_is_kept(page: Page, tmp_path: Path, kept: KeptPictures) -> None:
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#no-runs")).to_be_visible()
        assert differences(page, "empty", kept) == []
