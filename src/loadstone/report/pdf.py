"""A report's page as PDF, printed by a browser of this machine, a child process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Joined, say
from loadstone.runs.errors import StoreError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chrome-headless-shell",
    "microsoft-edge",
)
"""Programs that print a page without a screen; the first one on the PATH is used."""

LONGEST_S = 300.0
"""A report of 32 steps, 150 pages, takes 40 s on two busy cores; what takes longer hangs."""

_DRAWN_MS = 10_000
"""How long the page may take on the browser's own clock to draw its charts: ample."""

_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--no-first-run",
    # The page has a title and numbers of its own; older versions know the second name.
    "--no-pdf-header-footer",
    "--print-to-pdf-no-header",
    f"--virtual-time-budget={_DRAWN_MS}",
)


class PdfError(LoadstoneError):
    """No PDF was made."""

    exit_code = ExitCode.PDF


def as_pdf(page: str, folder: Path) -> bytes:
    """Print a page of HTML that needs no network.

    `folder`: where the PDF is wanted; the browser's files are in a folder of their own there. A
    browser from a snap has a /tmp of its own, but can use what is in the user's home.

    Raises:
        PdfError: there is no browser here, or it does not print.
        StoreError: the folder cannot be written to.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise PdfError(
            say("a PDF is printed by a browser, and there is none here"),
            say(
                "install one of {browsers}, or open the page in any browser and print it",
                browsers=Joined(BROWSERS),
            ),
        )
    try:
        with TemporaryDirectory(prefix="loadstone-pdf-", dir=folder) as own:
            return _printed(browser, page, Path(own))
    except OSError as error:
        raise StoreError.from_os("write to the folder", folder, error) from error


def _printed(browser: str, page: str, own: Path) -> bytes:
    source, made, log = own / "report.html", own / "report.pdf", own / "log"
    source.write_text(page, encoding="utf-8")
    # Chromium refuses its sandbox to root. The page is our own, without a network.
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile, to = f"--user-data-dir={own / 'profile'}", f"--print-to-pdf={made}"
    code = _end_of([browser, *root, *_FLAGS, profile, to, source.resolve().as_uri()], log)
    if code is None:
        said = say(
            "{browser} did not print the page within {seconds} s",
            browser=browser,
            seconds=f"{LONGEST_S:.0f}",
        )
        raise PdfError(said)
    if code != 0 or not made.exists():
        why = _last_line(log) or say("exit code {code}", code=code)
        raise PdfError(say("{browser} did not print the page: {why}", browser=browser, why=why))
    return made.read_bytes()


def _end_of(command: Sequence[str], log: Path) -> int | None:
    """The exit code of a command; `None` if it took too long. Nothing that it started is left."""
    with log.open("wb") as written:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            start_new_session=True,  # its processes are ended together
        )
    try:
        return child.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    return next(filter(None, reversed(lines)), "")
