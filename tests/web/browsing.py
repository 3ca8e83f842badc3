"""The page as a user has it: served by its own process, in the system's Chromium."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sync_api = pytest.importorskip("playwright.sync_api")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("not evaluated: there is no Chromium", allow_module_level=True)

PATIENCE_S = 120.0
"""Seconds to wait: a machine may be busy with other tests; what takes longer hangs."""

expect = sync_api.expect


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        # As root Chromium does not start with its sandbox; the page is our own.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@contextmanager
def opened(browser: Browser, link: str, locale: str = "en-US") -> Iterator[Page]:
    """A page in a new browser; any error in its console fails the test."""
    context = browser.new_context(locale=locale, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    expect.set_options(timeout=PATIENCE_S * 1000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.goto(link)
    yield page
    context.close()
    # The browser reports a server that was ended on purpose, and the next one requires its link.
    missed = ("ERR_CONNECTION", "ERR_INCOMPLETE", "status of 401")
    assert [one for one in complaints if not any(word in one for word in missed)] == []


@contextmanager
def serving(runs: Path, *more: str, port: int = 0) -> Iterator[str]:
    """`loadstone serve` as its own process, and its link; ended by SIGTERM."""
    words = ("serve", "--out", str(runs), "--address", f"127.0.0.1:{port}", *more)
    server = subprocess.Popen(
        [sys.executable, "-m", "loadstone.cli", *words], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address = re.match(r"live  (http\S+)", said := server.stdout.readline())
        assert address is not None, said
        yield address[1]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE_S)


@contextmanager
def nothing_left(runs: Path) -> Iterator[None]:
    """At the end of a failed test, what was begun is stopped."""
    try:
        yield
    finally:
        for asked in runs.glob(".begun/*/asked.json"):
            with open(asked.with_name("stop"), "a") as stop:
                stop.write("stop\nstop\n")
        assert came(lambda: ended(runs)), "a command did not end"


def ended(runs: Path) -> bool:
    return all(one.with_name("ended.json").exists() for one in runs.glob(".begun/*/asked.json"))


def came(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def fill(page: Page, **values: str) -> None:
    for name, value in values.items():
        page.locator(f"#begin-{name}").fill(value)
