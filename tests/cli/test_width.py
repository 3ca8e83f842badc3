"""What commands print at a terminal's width, at `COLUMNS`, with `--wide`, and into a pipe."""

from __future__ import annotations

import os
import pty
import re
import shutil
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from rich.cells import cell_len

from called import called
from compatibility.older import RUNS

EXPERIMENT = """\
name = "pool and durability"
duration = "1s"
ladder = [8, 64, 512]
repeats = 2
[sandbox]
[[workload]]
name = "oltp_read_write"
[factor.pool.off]
[factor.pool.on]
startup = { thread_handling = "pool-of-threads" }
[factor.durability.full]
[factor.durability.relaxed]
dynamic = { sync_binlog = 0 }
"""
NAMES = [run.path.name for run in RUNS]
LADDER = next(name for name in NAMES if name.startswith("ladder"))
KILLED = next(name for name in NAMES if name.startswith("killed"))
COMMANDS = [
    *(("runs", "show", name) for name in NAMES),
    ("ceilings", LADDER),
    ("diagnose", LADDER),
    ("compare", KILLED, LADDER),
    ("compare", "--by", "tls", next(name for name in NAMES if name.startswith("tls"))),
    ("runs", "list"),
    ("runs", "trend", "ladder"),
    ("recipes", "list"),
    ("recipes", "show", "instance-size"),
    ("experiment", "two.toml", "--dry-run"),
    ("workload", "list"),
]
IN_CHINESE = [
    words
    for words in COMMANDS
    if words[:2] != ("runs", "show") or words[2].startswith(("ladder", "mix", "tls"))
]
HYPHENATED = (("recon-", "nects"), ("run-", "ning"))
COPIED = re.compile(r"mysql://|^\w+ = |[=/]")
"""Lines to be copied as they are: files, URLs, paths."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of every kind, and with a file of an experiment."""
    home = tmp_path_factory.mktemp("home")
    for run in RUNS:
        run.copied(home)
    again = home / "runs" / LADDER.replace("084358", "084359")
    shutil.copytree(home / "runs" / LADDER, again)
    (home / "two.toml").write_text(EXPERIMENT)
    return home


def printed(home: Path, words: tuple[str, ...], columns: str = "", lang: str = "en") -> str:
    """The output of a command; without `columns`, as into a pipe."""
    environment = {"COLUMNS": columns, "LOADSTONE_LANG": lang, "HOME": str(home)}
    return called(*words, folder=home, environment=environment, code=None).stdout


def figures(text: str) -> set[str]:
    return set(re.findall(r"\d[\d.,]*\d", text))


def words_of(text: str) -> set[str]:
    """The words without rules; a head that is hyphenated in a narrow terminal is one word."""
    found = {word for word in text.split() if "─" not in word}
    for first, rest in HYPHENATED:
        if first in found:
            found = found - {first, rest} | {first.removesuffix("-") + rest}
    return found


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_80_columns_show_what_a_pipe_gets_in_lines_that_fit(
    home: Path, words: tuple[str, ...]
) -> None:
    whole, narrow = printed(home, words), printed(home, words, "80")
    assert whole
    lacking = words_of(whole) - words_of(narrow)
    # `runs list` leaves out a workload that the run is named after.
    assert {each for each in lacking if f"{each}-2026" not in narrow} == set()
    assert words_of(narrow) <= words_of(whole)
    assert "…" not in narrow
    long = [line for line in narrow.splitlines() if cell_len(line) > 80]
    assert [line for line in long if not COPIED.search(line)] == []


@pytest.mark.parametrize("words", IN_CHINESE, ids=" ".join)
def test_chinese_is_measured_by_its_double_width(home: Path, words: tuple[str, ...]) -> None:
    whole, narrow = printed(home, words, lang="zh"), printed(home, words, "80", lang="zh")
    assert figures(narrow) == figures(whole)
    assert "…" not in narrow
    long = [line for line in narrow.splitlines() if cell_len(line) > 80]
    assert [line for line in long if not COPIED.search(line)] == []


@pytest.mark.parametrize(
    "words", [("runs", "list"), ("runs", "show", LADDER), ("diagnose", LADDER)]
)
def test_wide_is_what_a_pipe_gets_before_and_after_the_command(
    home: Path, words: tuple[str, ...]
) -> None:
    whole = printed(home, words)
    assert printed(home, (*words, "--wide"), "80") == whole
    assert printed(home, ("--wide", *words), "80") == whole
    assert printed(home, (*words, "--no-wide"), "80") == printed(home, words, "80") != whole


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_a_narrow_list_of_runs_is_one_table(home: Path, columns: str) -> None:
    lines = printed(home, ("runs", "list"), columns).splitlines()
    assert sum(line.startswith("─") for line in lines) == 1
    assert max(map(cell_len, lines)) <= int(columns)
    for name in NAMES:
        assert sum(line.split()[:1] == [name] for line in lines) == 1


def test_a_pipe_gets_a_line_for_each_row_and_each_sentence(home: Path) -> None:
    rows = printed(home, ("runs", "list")).splitlines()
    assert len(rows) == 2 + len(RUNS) + 1
    (why,) = re.findall(r"^why .*\n(.*)", printed(home, ("runs", "show", LADDER)), re.MULTILINE)
    assert why.startswith("proof ")


def test_what_continues_a_sentence_is_indented_below_its_text(home: Path) -> None:
    said = printed(home, ("runs", "show", LADDER), "80")
    assert re.search(r"^why   \S.*\n      \S", said, re.MULTILINE)
    assert re.search(r"^note  \S.*\n      \S", said, re.MULTILINE)
    assert re.search(r"^Peak: .*\n  \S", said, re.MULTILINE)


def test_a_comparison_in_a_file_is_not_wrapped(home: Path) -> None:
    words = ("compare", KILLED, LADDER)
    printed(home, (*words, "--output", "found.txt"), "80")
    assert (home / "found.txt").read_text() == printed(home, words)


@pytest.mark.slow
def test_a_terminal_has_its_own_width_unless_columns_says_otherwise(home: Path) -> None:
    assert max(map(cell_len, on_terminal(home, 70).splitlines())) <= 70
    assert max(map(cell_len, on_terminal(home, 70, "120").splitlines())) > 80


def on_terminal(home: Path, width: int, columns: str = "") -> str:
    """What `runs list` prints on a terminal of that width."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    command = [sys.executable, "-m", "loadstone.cli", "runs", "list"]
    environment = {**os.environ, "COLUMNS": columns, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    subprocess.run(command, cwd=home, env=environment, stdout=theirs, check=True)
    os.close(theirs)
    said = b""
    try:
        while more := os.read(ours, 65536):
            said += more
    except OSError:  # Linux reports the end of a terminal so
        pass
    os.close(ours)
    return said.decode()
