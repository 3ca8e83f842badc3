"""A run on a throwaway server, watched and steered in a browser while its page's server changes."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from called import called
from loadstone.model.exit_codes import ExitCode
from loadstone.sandbox import Sandbox

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")
sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("not evaluated: there is no Chromium", allow_module_level=True)

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 90.0
"""Seconds to wait: a machine may be busy with other tests; what takes longer hangs."""

CLI = (sys.executable, "-m", "loadstone.cli")
SIZES = ("--tables", "1", "--table-size", "100")
RUN = "run oltp_point_select --concurrency 4 --rate 200 --warmup 0s --duration 600s".split()


@contextmanager
def serving(runs: Path, port: int = 0) -> Iterator[str]:
    """`loadstone serve` as its own process, and its link; ended by SIGTERM."""
    words = [*CLI, "serve", "--runs", str(runs), "--address", f"127.0.0.1:{port}"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        address = re.match(r"live  (http\S+)", said)
        assert address is not None, said
        yield address[1]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE_S)


@contextmanager
def running(runs: Path, target: tuple[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A run that is stopped at the end of the test, if it still goes on."""
    # Its errors are shown where the test fails: a run that was refused leaves no folder.
    run = subprocess.Popen(
        [*CLI, *RUN, *SIZES, *target, "--out", str(runs)], stdout=subprocess.DEVNULL
    )
    try:
        yield run
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
        run.wait(PATIENCE_S)


@pytest.mark.smoke
def test_a_run_is_followed_through_a_restart_slowed_down_and_stopped(
    own_schema: Sandbox, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    target = ("--target", own_schema.tcp.target.url)
    called("prepare", *target, *SIZES, folder=tmp_path)
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_api.sync_playwright())
        # As root Chromium does not start with its sandbox; the page is our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        stack.callback(browser.close)
        context = browser.new_context(locale="en-US")
        page = context.new_page()
        expect = sync_api.expect
        expect.set_options(timeout=PATIENCE_S * 1000)
        with serving(runs) as link:
            page.goto(link)
            expect(page.locator("#no-runs")).to_be_visible()
            run = stack.enter_context(running(runs, target))
            # An open page shows a run that starts, without a click.
            expect(page.locator("#state")).to_have_text("running")
            expect(page.locator("#step")).to_contain_text("200 events/s due")
            expect(page.locator("#numbers")).to_contain_text("window")
            expect(page.locator("#about")).to_contain_text("oltp_point_select")
        expect(page.locator("#link")).to_contain_text("trying again")
        assert run.poll() is None, "a run does not notice that nobody shows it"
        with serving(runs, urlsplit(link).port or 0) as link:
            expect(page.locator("#link")).to_contain_text("needs its link again")
            context.new_page().goto(link)
            expect(page.locator("#link")).to_have_text("")
            page.locator("#rate").fill("50")
            page.locator("#set-rate button").click()
            expect(page.locator("#notes")).to_contain_text("rate set to 50 by hand")
            expect(page.locator("#step")).to_contain_text("50 events/s due")
            # The page shows the command that asks the same, and it does.
            page.locator("#as-commands summary").click()
            page.locator("#users").fill("2")
            shown = page.locator("#commands code").first
            expect(shown).to_contain_text("--users=2")
            called(*shlex.split(shown.inner_text())[1:], folder=tmp_path)
            expect(page.locator("#notes")).to_contain_text("users set to 2 by hand")
            page.locator("#stop").click()
            page.locator("#stop").click()
            expect(page.locator("#state")).to_have_text("stopped")
            expect(page.locator("#rows tbody tr")).to_contain_text("changed by hand")
            assert run.wait(PATIENCE_S) == ExitCode.INTERRUPTED
    (folder,) = (path for path in runs.iterdir() if path.is_dir())
    (step,) = json.loads((folder / "result.json").read_text())["steps"]
    assert [(change["what"], change["value"]) for change in step["changes"]] == [
        ("rate", 50.0), ("users", 2),
    ]  # fmt: skip
