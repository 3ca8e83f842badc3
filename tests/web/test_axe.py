"""axe-core finds nothing on the page: each view, both languages, both themes, three widths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import axe
from loadstone.recipes.offered import recipes_offered
from loadstone.runs.proofs import STEPS, write_proofs
from loadstone.web.access import Keys
from loadstone.web.begin.begun import ASKED, FOLDER, Asked
from loadstone.web.begin.offers import Offers
from recorded import a_plan, recorded_run, recorder_for
from scripted_engine import Script
from web.proved import a_proof, with_a_trial
from web.served import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(300)]

ID = "20260101000000-0123abcd"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with axe.chromium() as found:
        yield found


def in_every_look(page: Page, view: str) -> list[str]:
    """The findings of a view in both languages and themes, and at each width."""
    found = []
    for width in axe.WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for language in ("en", "zh"):
            for theme in ("light", "dark"):
                page.locator("#language").select_option(language)
                page.locator("#theme").select_option(theme)
                found += axe.findings(page, f"{view}, {language}, {theme}, {width} px")
    return found


def with_an_act(runs: Path) -> None:
    folder = runs / FOLDER / ID
    folder.mkdir(parents=True)
    (runs / FOLDER).chmod(0o700)
    asked = Asked(
        id=ID, kind="run", words=("run", "tpcc", "--out=runs"), targets=(), who="li", unix_s=1.0
    )
    (folder / ASKED).write_text(asked.model_dump_json())
    (folder / "output").write_text("starting a throwaway server\n")
    (folder / "ended.json").write_text(json.dumps({"code": 6, "unix_s": 2.0}))


def test_axe_finds_nothing_on_any_view(
    browser: Browser, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.web.diagnosis.findings_of", with_a_trial)
    first, second = recorded_run(tmp_path), recorded_run(tmp_path)
    with_an_act(tmp_path)
    write_proofs(second, [a_proof("not-observed")])
    trial = recorder_for(second / STEPS, a_plan(name="not-observed", ladder=(4, 4)))
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    page.set_default_timeout(axe.PATIENCE_MS)
    expect.set_options(timeout=axe.PATIENCE_MS)
    found: list[str] = []
    with served(tmp_path, Keys(may_run=True), offers=Offers(recipes_offered())) as server:
        page.goto(server.link)
        axe.load(page)
        expect(page.locator("#proof-rows article")).to_be_visible()
        expect(page.locator("#proof-trial")).to_be_visible()
        page.locator("#filters summary").click()
        found += in_every_look(page, "a run")
        page.evaluate(f"location.hash = 'compare={first.name}/{second.name}'")
        expect(page.locator("#comparison table").first).to_be_visible()
        found += in_every_look(page, "a comparison")
        page.evaluate("location.hash = 'trend='")
        expect(page.locator("#trend table")).to_be_visible()
        found += in_every_look(page, "a trend")
        page.evaluate("location.hash = 'begin'")
        expect(page.locator("#begin-target")).to_have_value("throwaway")
        page.locator("#acts-list summary").click()
        for details in page.locator("#begin-form details:visible summary").all():
            details.click()
        found += in_every_look(page, "a run to begin")
        page.locator("#begin-kind-recipe").check()
        found += in_every_look(page, "a recipe to begin")
    context.close()
    trial.close()
    assert found == []


def test_axe_finds_nothing_on_what_a_run_would_do(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    page.set_default_timeout(axe.PATIENCE_MS)
    expect.set_options(timeout=axe.PATIENCE_MS)
    with served(tmp_path, Keys(may_run=True), offers=Offers(recipes_offered())) as server:
        page.goto(server.link)
        page.evaluate("location.hash = 'begin'")
        axe.load(page)
        expect(page.locator("#begin-target")).to_have_value("throwaway")
        page.locator("#begin-level").fill("1")
        found: list[str] = []
        for theme in ("light", "dark"):
            page.locator("#theme").select_option(theme)
            for language in ("en", "zh"):
                # In other words the list has to be asked for again.
                page.locator("#language").select_option(language)
                page.locator("#begin-form > .sure-begin").click()
                expect(page.locator("#plan-text")).not_to_be_empty()
                # The consent, as where the command asks for it.
                page.evaluate("document.getElementById('plan-yes-row').hidden = false")
                for width in axe.WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    found += axe.findings(page, f"a plan, {language}, {theme}, {width} px")
    context.close()
    assert found == []


def test_axe_finds_nothing_on_a_shared_run(
    browser: Browser, tmp_path: Path, script: Script
) -> None:
    run = recorded_run(tmp_path)
    recorded_run(tmp_path)
    found: list[str] = []
    expect.set_options(timeout=axe.PATIENCE_MS)
    with served(tmp_path, Keys(may_run=True), offers=Offers(recipes_offered())) as server:
        owner, reader = (browser.new_context(locale="en-US") for _ in range(2))
        page = owner.new_page()
        page.goto(f"{server.link}#run={run.name}")
        expect(page.locator("#run-name")).to_have_text(run.name)
        page.locator("#share").click()
        link = page.locator("#shared code").inner_text()
        page = reader.new_page()
        page.goto(link)
        axe.load(page)
        expect(page.locator("#run-name")).to_have_text(run.name)
        expect(page.locator("#findings article").first).to_be_visible()
        assert not page.locator("#share").is_visible(), "it is the reader's view"
        found = in_every_look(page, "a shared run")
        owner.close()
        reader.close()
    assert found == []


def test_the_form_is_filled_by_keyboard_alone(
    browser: Browser, tmp_path: Path, script: Script
) -> None:
    context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(axe.PATIENCE_MS)
    with served(tmp_path, Keys(may_run=True), offers=Offers(recipes_offered())) as server:
        page.goto(server.link)
        page.evaluate("location.hash = 'begin'")
        expect(page.locator("#begin-target")).to_have_value("throwaway")
        page.locator("#begin-kind-run").focus()
        reached = []
        for _ in range(30):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate("document.activeElement.id || document.activeElement.textContent")
            )
            if reached[-1] == "Show what it will do":
                break
        wanted = ["begin-target", "begin-server", "begin-workload", "begin-load", "begin-level"]
        assert [one for one in reached if one in wanted] == wanted
        assert reached[-1] == "Show what it will do"
    context.close()
