"""A program that reads run folders with all that reads them, and prints the outcome.

It is a process of its own, so that its memory can be limited and a hang be ended: it prints a line
of JSON for each folder, then one for all. `python -m trust.reading GOOD`, with a line for each
folder on stdin: `page PATH` with its report, `text PATH` without.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadstone.cli.errors import exit_code_of
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.runs.rebuild import JOURNAL, step_result
from loadstone.runs.tail import Tail
from loadstone.web.comparing import compared
from loadstone.web.diagnosis import findings
from loadstone.web.listing import RunList
from loadstone.web.live_run import LiveRun
from loadstone.web.metrics import exposition
from loadstone.web.proving import TrialProgress
from loadstone.web.series import RunCounts
from loadstone.web.stream import encode
from loadstone.web.trends import trend_of

OWN_LIMIT_KB = 2 * 1024 * 1024
"""The memory limit of this program; the imports and a report of a good run take a seventh of it."""


class Output(io.TextIOWrapper):
    """Collects a command's output, also as bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)

    def all(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode("utf-8", "replace")


def commands(run: Path, good: Path, *, page: bool) -> Iterator[list[str]]:
    """Commands that read a folder without a server; a page takes as long as all the others."""
    yield ["runs", "show", str(run)]
    yield ["runs", "show", str(run), "--json"]
    yield ["runs", "list", "--out", str(run.parent)]
    yield ["runs", "export", str(run)]
    yield ["runs", "export", str(run), "--table", "host"]
    yield ["diagnose", str(run), "--lang", "zh"]
    yield ["compare", str(good), str(run)]
    yield ["report", str(run), "--markdown"]
    if page:
        yield ["report", str(run)]


def asked(run: Path, words: list[str]) -> dict[str, Any]:
    """Run one command; returns its exit code and output."""
    out, err, began = Output(), Output(), time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = exit_code_of(words)
    page = run / "report.html"
    made = page.read_text() if page.is_file() and not page.is_symlink() else ""
    return {
        "what": " ".join(words[:2] if words[0] == "runs" else words[:1]),
        "code": code,
        "err": err.all(),
        "drives": any(mark in out.all() + err.all() for mark in "\x1b\x07\x9b"),
        "script": "<script>alert" in made,
        "seconds": round(time.monotonic() - began, 2),
    }


def looked_at(run: Path, good: Path) -> dict[str, Any]:
    """Read the folder as the live page does."""
    began = time.monotonic()
    said: dict[str, Any] = {"what": "live page", "err": "", "drives": False, "script": False}
    try:
        follow(run)
        encode("findings", findings(run))
        encode("comparison", compared([good, run]))
        encode("trend", trend_of([good, run]))
        encode("trial", {"trial": TrialProgress(run).look()})
        code = int(ExitCode.OK)
    except LoadstoneError as error:
        said["err"], code = f"error: {error.message}\n", int(error.exit_code)
    runs = RunList(run.parent)
    runs.look()
    encode("runs", runs.lines)
    runs.running()
    return said | {"code": code, "seconds": round(time.monotonic() - began, 2)}


def follow(run: Path) -> None:
    """Follow the run as a viewer's stream and a scrape do."""

    def row_of(step: Any) -> Any:
        begin = live.begin
        assert begin is not None
        return step_result(run, step, begin)

    live, counts, tail = LiveRun(run, row_of), RunCounts(run), Tail(run / JOURNAL)
    while lines := tail.read():
        for line in lines:
            for event in live.take(line.entry):
                encode(event.name, event.data)
            counts.take(line.entry)
    encode("snapshot", live.snapshot())
    exposition([counts])


def main() -> None:
    """Read the folders that are named on stdin."""
    good = Path(sys.argv[1])
    for line in sys.stdin:
        how, _, named = line.rstrip("\n").partition(" ")
        run = Path(named)
        found = [asked(run, words) for words in commands(run, good, page=how == "page")]
        found.append(looked_at(run, good))
        tell({"run": str(run), "asked": found})
    held_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tell({"held_kb": held_kb})


def tell(line: dict[str, Any]) -> None:
    """Print a line for the test that has started this program."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
