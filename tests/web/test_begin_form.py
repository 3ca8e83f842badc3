"""The form to begin with, in a browser: templates, places of recipes, and consent."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scripted_engine
from called import called
from loadstone.model.control import SetRate, SetUsers, StopRun
from loadstone.model.plan import Rate, Step
from loadstone.model.records import Connected
from loadstone.recipes.offered import recipes_offered
from loadstone.runs import control_requests
from loadstone.runs.recorder import Recorder
from loadstone.web.access import Keys
from loadstone.web.begin import routes
from loadstone.web.begin.dry_run import Said
from loadstone.web.begin.offers import Offers
from recorded import a_plan, recorder_for
from web.browsing import chromium, expect, opened
from web.served import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KEPT = "mysql://bench@db1.example:3306/shop"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The form of a page with a kept target."""
    runs = tmp_path / "runs"
    runs.mkdir()
    offers = Offers(recipes_offered(), [KEPT])
    with (
        served(runs, Keys(may_run=True), offers=offers) as page,
        opened(browser, page.link) as found,
    ):
        found.locator("#begin-link a").click()
        expect(found.locator("#begin-target")).to_have_value("throwaway")
        yield found


def keep(page: Page, name: str, languages: Sequence[str] = ("en", "zh")) -> None:
    """Pictures to look at, if a folder for them is named.

    `languages`: another one closes what was asked for in the first.
    """
    folder = os.environ.get("LOADSTONE_LOOK")
    if not folder:
        return
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        for language in languages:
            if languages[1:]:
                page.locator("#language").select_option(language)
            page.wait_for_timeout(300)
            page.screenshot(path=Path(folder) / f"{name}-{width}-{language}.png", full_page=True)
    if languages[1:]:
        page.locator("#language").select_option("en")


def test_a_template_is_a_workload_without_tables_of_the_form_and_without_proof(
    page: Page,
) -> None:
    page.locator("#begin-tables").fill("3")
    page.locator("#begin-prove").check()
    page.locator("#begin-workload").select_option("shop.toml")
    expect(page.locator("#begin-about")).to_have_text(
        "looks at products, buys some, and lists what was bought"
    )
    for hidden in ("#begin-tables", "#begin-rows", "#begin-prove", "#begin-options-all"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator("#begin-template")).to_be_visible()
    keep(page, "template")
    sent = looked(page)
    assert (sent["workload"], sent["tables"], sent["prove"]) == ("shop.toml", "", False)
    page.locator("#begin-workload").select_option("oltp_read_write")
    expect(page.locator("#begin-template")).to_be_hidden()
    sent = looked(page)
    assert (sent["tables"], sent["prove"]) == ("3", True)


def looked(page: Page) -> dict[str, object]:
    """The form that is sent to be looked at; the answer is no matter here."""
    page.route("**/api/begin/look", lambda route: route.fulfill(json={"text": "", "code": 0}))
    with page.expect_request("**/api/begin/look") as request:
        page.locator("#begin-form > button").click()
    form = json.loads(request.value.post_data or "")["form"]
    assert isinstance(form, dict)
    return form


def test_a_recipe_says_what_it_needs_and_offers_kept_servers_with_their_passwords(
    page: Page,
) -> None:
    page.locator("#begin-kind-recipe").check()
    page.locator("#begin-recipe").select_option("tls")
    expect(page.locator("#begin-question")).to_contain_text(
        "It needs: at full size 32 GB of memory"
    )
    page.locator("#of-recipes summary").click()
    server = page.locator("#begin-parameters [list]").first
    offered = page.locator("#begin-places option")
    expect(offered.last).to_have_attribute("value", KEPT)
    password = page.locator("#begin-parameters [data-password]").first
    expect(password).to_have_text("")
    server.fill(KEPT)
    expect(password).to_contain_text("password: ")
    keep(page, "recipe")
    server.fill("mysql://me@elsewhere/shop")
    expect(password).to_contain_text("The password is read where this page's server runs")
    # Another size of the recipe is the same form, and what was typed stays.
    page.locator("#begin-quick").uncheck()
    expect(server).to_have_value("mysql://me@elsewhere/shop")
    expect(password).to_contain_text("The password is read")


def test_consent_that_adds_trials_is_a_tick_that_need_not_be_set(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def said_by(words: tuple[str, ...], language: str) -> Said:
        return Said("all is tried" if "--yes" in words else "not tried  flush: --yes", 0)

    monkeypatch.setattr(routes, "said_by", said_by)
    page.locator("#begin-target").select_option(KEPT)
    page.locator("#begin-prove").check()
    page.locator("#begin-form > button").click()
    expect(page.locator("#plan-text")).to_have_text("not tried  flush: --yes")
    expect(page.locator("#plan-more")).to_be_visible()
    expect(page.locator("#plan-start")).to_be_enabled()
    keep(page, "consent", ["en"])
    page.locator("#plan-yes").check()
    expect(page.locator("#plan-text")).to_have_text("all is tried")
    expect(page.locator("#plan-command")).to_contain_text("--yes")
    expect(page.locator("#plan-more")).to_be_hidden()
    expect(page.locator("#plan-yes")).to_be_checked()


def test_a_check_shows_its_command_to_copy(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    async def said_by(words: tuple[str, ...], language: str) -> Said:
        return Said("MariaDB 10.11", 0)

    monkeypatch.setattr(routes, "said_by", said_by)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#begin-target").select_option(KEPT)
    expect(page.locator("#begin-check-command")).to_be_hidden()
    page.locator("#begin-check").click()
    command = f"loadstone check --target={KEPT}"
    expect(page.locator("#begin-check-command code")).to_have_text(command)
    keep(page, "check", ["en"])
    page.locator("#begin-check-command button").click()
    expect(page.locator("#begin-answer")).to_have_text("The command was copied.")
    assert page.evaluate("navigator.clipboard.readText()") == command
    page.locator("#begin-target").select_option("throwaway")
    expect(page.locator("#begin-check-command")).to_be_hidden()


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    """A run with a step under way whose users are connected."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        found = recorder_for(tmp_path / "runs", a_plan())
        step = Step(number=1, workload="oltp_read_write", concurrency=4, rate=Rate(rate=100.0))
        found.begin_step(step)
        found.record(step, Connected(seconds=0.1, users=4, encrypted_users=0))
        yield found
        found.close()


def test_what_the_controls_ask_is_shown_as_commands_that_ask_the_same(
    browser: Browser, recorder: Recorder
) -> None:
    run = recorder.folder
    with served(run.parent) as page, opened(browser, page.link) as found:
        found.locator("#as-commands summary").click()
        commands = found.locator("#commands code")
        expect(commands).to_have_count(3)
        found.locator("#users").fill("3")
        expect(commands.first).to_contain_text("--users=3")
        found.locator("#users").fill("9")  # more than the step has
        expect(commands).to_have_count(2)
        # What the fields say follows the run, once they are left.
        found.locator("#users").fill("2")
        expect(commands.first).to_contain_text("--users=2")
        asked = [commands.first.inner_text()]
        found.locator("#rate").fill("12.5")
        expect(commands.nth(1)).to_contain_text("--rate=12.5")
        asked += commands.all_inner_texts()[1:]
        keep(found, "controls")
        for line in asked:
            program, *words = shlex.split(line)
            assert program == "loadstone"
            called(*words, folder=run.parent)
    assert control_requests.take(run) == [
        SetUsers(step=1, users=2), SetRate(step=1, rate=12.5), StopRun(),
    ]  # fmt: skip
