"""`loadstone report --pdf`: a Chromium of the host prints the page, or one line says why not."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from called import called
from loadstone.report import pdf
from recorded import a_plan, recorded_run
from scripted_engine import Script

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

PRINTS = """\
for word in "$@"; do case "$word" in --print-to-pdf=*) printf '%%PDF' > "${word#*=}";; esac; done
echo "$@" > WORDS
"""
"""A browser that prints an empty document, and writes down its arguments."""


@pytest.fixture
def run(tmp_path: Path, script: Script) -> Path:
    return recorded_run(tmp_path, a_plan(ladder=(1, 4)))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def browser(programs: Path, does: str, name: str = "google-chrome") -> None:
    made = programs / name
    made.write_text(f"#!/bin/sh\nPATH={os.defpath}\n{does}")
    made.chmod(0o755)


@pytest.mark.parametrize("name", ["chromium", "google-chrome", "chrome-headless-shell"])
def test_a_browser_on_path_prints_the_page(
    run: Path, programs: Path, tmp_path: Path, name: str
) -> None:
    browser(programs, PRINTS.replace("WORDS", str(tmp_path / "words")), name)
    done = called("report", str(run), "--pdf", "-o", "r.pdf", folder=tmp_path)
    assert done.stdout.startswith("report  r.pdf (")
    assert (tmp_path / "r.pdf").read_bytes() == b"%PDF"
    words = (tmp_path / "words").read_text()
    assert "--headless" in words
    assert ("--no-sandbox" in words) == (os.geteuid() == 0)
    assert not list(tmp_path.glob("loadstone-pdf-*"))


def test_the_last_words_of_a_browser_that_failed_are_shown(
    run: Path, programs: Path, tmp_path: Path
) -> None:
    (tmp_path / "r.pdf").write_text("the one before")
    browser(programs, "echo no display >&2; exit 3\n")
    done = called("report", str(run), "--pdf", "-o", "r.pdf", folder=tmp_path, code=14)
    assert "google-chrome did not print the page: no display" in done.stderr
    assert (tmp_path / "r.pdf").read_text() == "the one before"


def test_a_browser_that_hangs_is_ended_with_what_it_started(
    run: Path, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "LONGEST_S", 0.2)
    browser(programs, f"sleep 1000 & echo $! > {tmp_path}/child; wait\n")
    done = called("report", str(run), "--pdf", "-o", "r.pdf", folder=tmp_path, code=14)
    assert "did not print the page within" in done.stderr
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    until = time.monotonic() + 20
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_folder_that_is_not_there_is_one_line(run: Path, programs: Path, tmp_path: Path) -> None:
    browser(programs, PRINTS.replace("WORDS", os.devnull))
    words = ("report", str(run), "--pdf", "-o", "/proc/no/r.pdf")
    done = called(*words, folder=tmp_path, code=8)
    assert done.stderr.startswith("error: cannot write to the folder /proc/no: ")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(CHROMIUM is None, reason="not evaluated: there is no Chromium")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_chromium_prints_a4_pages_with_a_title(run: Path, tmp_path: Path, language: str) -> None:
    called("report", str(run), "--pdf", "-o", "r.pdf", "--lang", language, folder=tmp_path)
    printed = (tmp_path / "r.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    assert len(boxes) >= 5
    assert {(round(float(wide)), round(float(high))) for wide, high in boxes} == {(595, 842)}
    assert b"/Title" in printed
