"""The page's main views look as they are kept: three widths, two themes, two languages.

LOADSTONE_KEEP_PICTURES=1 keeps what is there now: look at it, then commit it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
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
from still_pages import (
    NOW_S,
    PATIENCE_MS,
    WIDTHS,
    in_one_font,
    kept_pictures,
    screenshot,
    still_browser,
    still_page,
)
from web.served import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with still_browser() as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    expect.set_options(timeout=PATIENCE_MS)
    with still_page(browser) as found:
        yield found


@pytest.fixture
def folder() -> Iterator[Path]:
    """Of the runs; commands show its name, whose width must not change: digits have the same."""
    found = Path(tempfile.gettempdir()) / f"runs{os.getpid():08d}"
    found.mkdir(mode=0o700)
    yield found
    shutil.rmtree(found)


@pytest.fixture
def runs(folder: Path, script: Script, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The names of two finished runs of another second each, in the folder."""
    script.tps = lambda users, second: 20 * users + second % 3
    monkeypatch.setattr("loadstone.runs.recorder.time.time", lambda: NOW_S)
    ticks = itertools.count(1)
    monkeypatch.setattr(recorder.Recorder, "_now", lambda self: float(next(ticks)))
    names = [recorded_run(folder, a_plan(name=name)).name for name in ("first", "second")]
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


def a_trend(page: Page, runs: tuple[str, str]) -> None:
    page.evaluate("location.hash = 'trend='")
    expect(page.locator("#trend-rates canvas")).to_be_visible()


def a_form(page: Page, runs: tuple[str, str]) -> None:
    page.evaluate("location.hash = 'begin'")
    expect(page.locator("#begin-target")).to_have_value("throwaway")


def differences(page: Page, view: str, kept: KeptPictures) -> list[str]:
    """Of a view in both languages and themes, and at each width."""
    found = []
    in_one_font(page)
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
def kept(tmp_path: Path) -> KeptPictures:
    return kept_pictures(tmp_path / "pictures")


VIEWS: dict[str, Callable[[Page, tuple[str, str]], None]] = {
    "run": a_run,
    "comparison": a_comparison,
    "trend": a_trend,
    "begin": a_form,
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_looks_as_it_is_kept(
    view: str, page: Page, runs: tuple[str, str], folder: Path, kept: KeptPictures
) -> None:
    with served(folder, Keys(may_run=True), offers=Offers(recipes_offered())) as server:
        page.goto(server.link)
        VIEWS[view](page, runs)
        assert differences(page, view, kept) == []


def test_an_empty_list_looks_as_it_is_kept(page: Page, folder: Path, kept: KeptPictures) -> None:
    with served(folder) as server:
        page.goto(server.link)
        expect(page.locator("#no-runs")).to_be_visible()
        assert differences(page, "empty", kept) == []
