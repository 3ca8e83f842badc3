"""Compares the output of two programs: only numbers may differ."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from sysbench.conftest import Done, Program

BY_THREAD = ("Creating", "Inserting", "DEBUG: Worker")
TIMED = ("--time=", "--max-time=", "--rate=", "--tx-rate=")


def compare(ours: Program, theirs: Program, words: tuple[str, ...], tries: int = 3) -> None:
    """Ours must be an output that sysbench also produces; sysbench's varies at times."""
    got, wanted = both(ours, theirs, words)
    if tries > 1 and _shown(got) != _shown(wanted):
        return compare(ours, theirs, words, tries - 1)
    assert masked(got.stdout) == masked(wanted.stdout)
    assert masked(got.stderr) == masked(wanted.stderr)
    assert got.returncode == wanted.returncode


def both(ours: Program, theirs: Program, words: tuple[str, ...]) -> tuple[Done, Done]:
    """The output of each program; both run at once if the command line lasts for some time."""
    if not any(word.startswith(TIMED) for word in words):
        return ours(*words), theirs(*words)
    with ThreadPoolExecutor(1) as beside:
        said = beside.submit(theirs, *words)
        return ours(*words), said.result()


def _shown(done: Done) -> tuple[list[str], list[str], int]:
    return masked(done.stdout), masked(done.stderr), done.returncode


def masked(text: str) -> list[str]:
    """The text without what differs from run to run, and without positions in Lua files."""
    # sysbench's has the statement as it was sent; ours has question marks for drawn values.
    text = re.sub(r" for query '.*?'(?=\n|$)", " for query", text, flags=re.DOTALL)
    # Lua's print writes a line and its end apart, so lines of two threads can run together.
    text = _reports_apart(re.sub(rf"(?<=[^\n])(?={'|'.join(BY_THREAD)})", "\n", text))
    lines = [_masked(line) for line in text.splitlines()]
    # A histogram has a line for each latency; threads end in any order.
    return [line for line, _ in groupby(_intervals_once(_sorted_threads(lines)))]


def _reports_apart(text: str) -> str:
    """A report that began on the line of another's `print`, on a line of its own.

    The end of the line that `print` owes comes later, and leaves an empty line there.
    """
    first, *others = re.split(r"(?<=[^\n])(?=\[ \d+s \] )", text)
    return "\n".join([first, *(other.replace("\n\n", "\n", 1) for other in others)])


def _masked(line: str) -> str:
    line = re.sub(r"\((using|served by) .*\)", "(...)", line)
    line = re.sub(r"(/[\w.-]+)+\.lua:\d+: ", "", line)
    # Ours names no place in the library, which differs.
    line = re.sub(r"\[string \"sysbench\.\w+\.lua\"\]:\d+: ", "", line)
    line = re.sub(r"\|\** +\d+$", "| #", line)
    line = re.sub(r"\d+(\.\d+)?", "#", line)
    return re.sub(r" +", " ", line).replace("( ", "(")


def _intervals_once(lines: list[str]) -> list[str]:
    """The interval reports in one place, and each once.

    sysbench writes them from another thread than checkpoints, in any order; whether the last second
    still gets one is also a matter of chance.
    """
    timed = [place for place, line in enumerate(lines) if line.startswith("[ #s ]")]
    if not timed:
        return lines
    intervals = dict.fromkeys(line for line in lines if _is_of_interval(line))
    others = [line for line in lines if not _is_of_interval(line)]
    return [*others[: timed[0]], *intervals, *others[timed[0] :]]


def _is_of_interval(line: str) -> bool:
    return line.startswith("[ #s ]") and "Checkpoint" not in line


def _sorted_threads(lines: list[str]) -> list[str]:
    """Lines that several threads write at once, in a fixed order."""
    pieces = groupby(lines, key=lambda line: not line or line.startswith(BY_THREAD))
    return [line for mixed, piece in pieces for line in (_one_order(piece) if mixed else piece)]


def _one_order(piece: Iterable[str]) -> list[str]:
    lines = list(piece)
    return sorted(filter(None, lines)) or lines
