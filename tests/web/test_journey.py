"""From a question to a proven answer in a real browser, from an empty state, in both languages.

A run is started on a throwaway server and watched; another is stopped; the first is diagnosed and
proved; both are compared; the report is opened. LOADSTONE_KEEP_PICTURES=1 keeps a picture of each
stop in docs/pictures: look at them, then commit them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pooled import need
from web.browsing import (
    PATIENCE_S,
    chromium,
    expect,
    fill,
    nothing_left,
    opened,
    serving,
)

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(1500)]

PICTURES = Path(__file__).parents[2] / "docs/pictures"
HEIGHT = 1000
"""Pixels: of a longer page its beginning is kept."""

PROVED_S = 600.0
"""The longest that all trials of a run's findings take: each is limited, and a finding has few."""

LOCALES = {"en": "en-US", "zh": "zh-CN"}
DONE = {"en": "done", "zh": "已完成"}
PROOF = {"en": "Proof:", "zh": "实验验证："}

Keep = Callable[["Page", str], None]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def keeper(language: str) -> Keep:
    """Keeps a picture of each stop, numbered in their order, if that was asked for."""
    numbers = itertools.count(1)

    def keep(page: Page, stop: str) -> None:
        name = f"journey-{next(numbers)}-{stop}-{language}.png"
        if os.environ.get("LOADSTONE_KEEP_PICTURES") == "1":
            page.wait_for_timeout(1500)  # charts are animated
            page.screenshot(path=PICTURES / name)

    return keep


def keep_none(page: Page, stop: str) -> None:
    """For a stop that looks like one before."""


def begin(page: Page, keep: Keep, **values: str) -> None:
    """Fill the form, look at what it will do, and start it."""
    page.evaluate("location.hash = 'begin'")
    expect(page.locator("#begin-target")).to_have_value("throwaway")
    page.locator("#begin-workload").select_option("oltp_update_non_index")
    fill(page, tables="4", rows="10000", warmup="1s", **values)
    keep(page, "form")
    page.locator("#begin-form > button").click()
    expect(page.locator("#plan-command")).to_contain_text("loadstone run oltp_update_non_index")
    page.locator("#plan-text").scroll_into_view_if_needed()
    keep(page, "plan")
    page.locator("#plan-start").click()


def open_run(page: Page, name: str) -> str:
    """The page of the run that was started with that name; returns its whole name."""
    page.locator("#acts-list li").filter(has_text=name).locator("a").first.click()
    expect(page.locator("#run-name")).to_contain_text(name)
    return page.locator("#run-name").inner_text()


@pytest.mark.parametrize("language", LOCALES)
def test_a_question_is_answered_without_leaving_the_browser(
    language: str,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need("mariadb")
    monkeypatch.chdir(tmp_path)  # so that the commands that are shown name a user's folder
    runs, keep = Path("runs"), keeper(language)
    with (
        nothing_left(runs),
        serving(runs, "--may-run") as link,
        opened(browser, link, LOCALES[language]) as page,
    ):
        page.set_viewport_size({"width": 1280, "height": HEIGHT})
        expect(page.locator("#no-runs")).to_be_visible()
        keep(page, "empty")
        page.evaluate("location.hash = 'begin'")
        page.locator("#begin-prove").check()
        begin(page, keep, level="1,16", duration="6s", name="question")
        expect(page.locator("#acts-list li")).to_have_count(1)
        first = open_run(page, "question")
        expect(page.locator("#state")).to_have_class("state running")
        expect(page.locator("#rows tbody tr")).to_have_count(1)
        keep(page, "watched")
        page.evaluate("location.hash = 'begin'")
        outcome = page.locator("#acts-list li").first.locator("strong")
        expect(outcome).to_have_text(DONE[language], timeout=PROVED_S * 1000)
        page.evaluate(f"location.hash = 'run={first}'")
        expect(page.locator("#state")).to_have_class("state finished")
        proved = page.locator("#findings article").filter(has_text=PROOF[language])
        expect(proved.first).to_be_visible()
        keep(page, "answer")
        page.locator("#findings").scroll_into_view_if_needed()
        keep(page, "proof")
        page.evaluate("location.hash = 'begin'")
        page.locator("#begin-prove").uncheck()
        begin(page, keep_none, level="1,16", duration="20s", name="second-thoughts")
        expect(page.locator("#acts-list li")).to_have_count(2)
        second = open_run(page, "second-thoughts")
        expect(page.locator("#rows tbody tr")).to_have_count(1)
        page.locator("#stop").click()
        page.locator("#stop").click()
        expect(page.locator("#state")).to_have_class("state stopped")
        keep(page, "stopped")
        page.evaluate(f"location.hash = 'compare={first}/{second}'")
        expect(page.locator("#comparison table").first).to_be_visible()
        keep(page, "compared")
        page.goto(f"{link.partition('?')[0]}runs/{first}/report?lang={language}")
        expect(page.locator("h1")).to_be_visible(timeout=PATIENCE_S * 1000)
        keep(page, "report")
