"""From an empty state in a real browser: begin a run, restart the page, stop, prove, share."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from called import called
from loadstone.sandbox import Sandbox
from pooled import need
from web.browsing import (
    chromium,
    ended,
    expect,
    fill,
    nothing_left,
    opened,
    serving,
)

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.smoke
def test_a_run_is_begun_survives_the_page_and_is_stopped(browser: Browser, tmp_path: Path) -> None:
    need("mariadb")
    runs = tmp_path / "runs"
    with nothing_left(runs):
        with serving(runs, "--may-run") as link, opened(browser, link) as page:
            page.locator("#begin-link a").click()
            expect(page.locator("#begin-target")).to_have_value("throwaway")
            page.locator("#begin-workload").select_option("oltp_point_select")
            expect(page.locator("#begin-about")).to_have_text("one row by its primary key")
            fill(page, level="2", duration="600s", warmup="0s", tables="1", rows="100")
            page.locator("#begin-form > button").click()
            expect(page.locator("#plan-text")).to_contain_text("starts a throwaway server")
            expect(page.locator("#plan-text")).to_contain_text("makes and fills sbtest1 there")
            expect(page.locator("#plan-command")).to_contain_text(
                "loadstone run oltp_point_select --concurrency=2 --duration=600s"
            )
            assert not list(runs.glob(".begun/*")), "looking begins nothing"
            page.locator("#plan-start").click()
            expect(page.locator("#acts-list li")).to_have_count(1)
            page.locator("#acts-list a").click()
            expect(page.locator("#state")).to_have_text("running")
            expect(page.locator("#numbers")).to_contain_text("window")
            name = page.locator("#run-name").inner_text()
        time.sleep(1.0)
        assert not ended(runs), "the run goes on without its page"
        port = urlsplit(link).port or 0
        with serving(runs, "--may-run", port=port) as link, opened(browser, link) as page:
            page.goto(f"{link}#begin")
            expect(page.locator("#acts-list li")).to_contain_text("at work")
            page.locator("#acts-list button").click()
            expect(page.locator("#acts-list li")).to_contain_text("stopped")
            page.locator("#acts-list a").click()
            expect(page.locator("#run-name")).to_have_text(name)
            expect(page.locator("#state")).to_have_text("stopped")
    lines = [json.loads(line) for line in (runs / ".audit.jsonl").read_text().splitlines()]
    assert [(line["act"], line["outcome"]) for line in lines] == [
        ("look at run", "asked"),
        ("begin run", "started"),
        ("stop", "asked"),
    ]
    mode = os.stat(runs / ".audit.jsonl").st_mode & 0o777
    assert mode == 0o600


def test_consent_is_asked_for_and_a_proof_is_begun_from_the_runs_page(
    own_schema: Sandbox, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    # Without the tests' state folder the server is no sandbox: somebody's, on this machine.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOADSTONE_PASSWORD", own_schema.tcp.credentials.reveal())
    target = own_schema.tcp.target.url
    called("prepare", "--target", target, "--tables", "1", "--table-size", "100", folder=tmp_path)
    with own_schema.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE orders (id INT)")
    with (
        nothing_left(runs),
        serving(runs, "--may-run", "--target", target) as link,
        opened(browser, f"{link}#begin") as page,
    ):
        page.locator("#begin-target").select_option(target)
        page.locator("#begin-check").click()
        expect(page.locator("#begin-checked")).to_contain_text("MariaDB")
        expect(page.locator("#begin-check-command code")).to_contain_text("loadstone check")
        page.locator("#begin-workload").select_option("oltp_update_non_index")
        fill(page, level="4", duration="2s", warmup="0s")
        page.locator("#begin-form > button").click()
        expect(page.locator("#plan-text")).to_contain_text("orders")
        expect(page.locator("#plan-start")).to_be_disabled()
        page.locator("#plan-yes").check()
        expect(page.locator("#plan-text")).to_contain_text("oltp_update_non_index reads rows")
        expect(page.locator("#plan-command")).to_contain_text("--yes")
        page.locator("#plan-start").click()
        expect(page.locator("#acts-list li")).to_contain_text("done")
        page.locator("#acts-list a").click()
        expect(page.locator("#state")).to_have_text("finished")
        expect(page.locator("#findings article").first).to_be_visible()
        page.locator("#prove").click()
        expect(page.locator("#proof-plan-command")).to_contain_text("loadstone diagnose")
        expect(page.locator("#proof-plan-text")).not_to_be_empty()


@pytest.mark.nightly  # the trials take three minutes
@pytest.mark.timeout(600)
def test_one_click_lists_what_it_changes_and_the_second_proves_it(
    browser: Browser, tmp_path: Path
) -> None:
    need("mariadb")
    runs = tmp_path / "runs"
    load = ("run", "oltp_point_select", "--set", "general_log=1", "--concurrency", "8")
    size = ("--duration", "3s", "--warmup", "0s", "--tables", "1", "--table-size", "100")
    called(*load, *size, "--out", str(runs), folder=tmp_path)
    (run,) = runs.glob("*/journal.jsonl")
    with (
        nothing_left(runs),
        serving(runs, "--may-run") as link,
        opened(browser, link) as page,
    ):
        expect(page.locator("#findings article").first).to_be_visible()
        page.locator("#prove").click()
        change = "general_log=OFF in place of ON"
        expect(page.locator("#proof-plan-text")).to_contain_text(change)
        assert not list(runs.glob(".begun/*")), "looking begins nothing"
        page.locator("#proof-plan-start").click()
        expect(page.locator("#proof-trial")).to_contain_text(f"Changed now: {change}")
        expect(page.locator("#prove")).to_be_disabled()
        expect(page.locator("#proof-trial")).to_contain_text("what was changed is put back")
        done = page.locator("#proof-act strong")
        expect(done).to_have_text("done", timeout=300_000)
        expect(page.locator("#proof-trial")).to_be_hidden()
        said = page.locator("#proof-rows article")
        expect(said).to_contain_text("predicted with it (80 %)")
        expect(said).to_contain_text("measured with it")
        assert (run.parent / "proofs.json").exists()
    (asked,) = runs.glob(".begun/*/asked.json")
    words = json.loads(asked.read_text())["words"]
    assert words == ["diagnose", run.parent.name, "--prove", f"--out={runs}"]


@pytest.mark.nightly
def test_the_page_of_a_team_begins_in_chinese(browser: Browser, tmp_path: Path) -> None:
    need("mariadb")
    runs = tmp_path / "runs"
    token = "a-secret-of-many-characters"
    users = tmp_path / "users.toml"
    users.write_text(f'[user.li]\ntoken = "{token}"\nmay = "run"\n')
    users.chmod(0o600)
    with (
        nothing_left(runs),
        serving(runs, "--users", str(users)) as link,
        opened(browser, link.replace("…", token), "zh-CN") as page,
    ):
        page.locator("#begin-link a").click()
        expect(page.locator("#begin-title")).to_have_text("开始测试")
        fill(page, level="2", duration="1s", warmup="0s", tables="1", rows="100")
        page.locator("#begin-form > button").click()
        expect(page.locator("#plan-text")).to_contain_text("临时服务器")
        page.locator("#plan-start").click()
        expect(page.locator("#acts-list li")).to_contain_text("已完成")
        expect(page.locator("#acts-list li")).to_contain_text("li")
        page.locator("#acts-list a").click()
        page.locator("#share").click()
        expect(page.locator("#shared code")).to_contain_text("#run=")
        shared = page.locator("#shared code").inner_text()
        with opened(browser, shared) as guest:
            expect(guest.locator("#state")).to_have_text("finished")
            expect(guest.locator("#begin-link")).to_be_hidden()
            expect(guest.locator("#share")).to_be_hidden()
