"""The options that make a command fail in CI: `--threshold`, `--fail-on`, `--junit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.help.command import options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.language import current
from loadstone.cli.options.types import FILE, Parsed, gathered
from loadstone.model.message import Message, counted, say

if TYPE_CHECKING:
    from loadstone.analyse.gates import Check, Gate
    from loadstone.model.result import Result


class Threshold(Parsed["Gate"]):
    """`p99<20ms`."""

    name = "FIGURE<LIMIT"

    def read(self, text: str) -> Gate:
        """The gate, or a usage error."""
        from loadstone.analyse.gates import threshold

        return threshold(text)


class FailOn(Parsed["Gate"]):
    """`tps<-5%`."""

    name = "FIGURE<CHANGE"

    def read(self, text: str) -> Gate:
        """The gate, or a usage error."""
        from loadstone.analyse.gates import change

        return change(text)


_option = options_in(Section.GATES)

_THRESHOLDS = _option(
    "--threshold",
    "thresholds",
    type=Threshold(),
    multiple=True,
    help=say(
        "Exit with code 99 unless this holds at every level (for a search: at the level that it"
        " finds). Examples: p99<20ms, tps>1000, errors<0.1%. May be repeated."
    ),
)


def _fail_on(text: Message) -> Any:
    return _option("--fail-on", "fail_on", type=FailOn(), multiple=True, help=text)


_FAIL_ON_SIDES = _fail_on(
    say(
        "Exit with code 99 if a figure has changed by at least this much: all of its 95 % interval,"
        " or with one step a side, which has no interval, the figure itself. Examples: tps<-5%,"
        " p99>10%. May be repeated."
    )
)
_FAIL_ON_TREND = _fail_on(
    say(
        "Exit with code 99 if a figure has changed by at least this much with statistical"
        " certainty. Examples: tps<-5%, p99>10%. May be repeated."
    )
)
_JUNIT = _option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help=say("Write the outcome of each threshold to this file as JUnit XML."),
)


@dataclass(frozen=True)
class Gates:
    """The limits of a run, and the file for their outcome."""

    thresholds: tuple[Gate, ...] = ()
    fail_on: tuple[Gate, ...] = ()
    """Limits on changes between runs."""
    junit: Path | None = None


NO_GATES = Gates()


def _gates(**given: Any) -> Gates:
    """The gates; a file without gates, or one that cannot be written, is refused before the start.

    Raises:
        UsageError: there is nothing to write into the file.
        StoreError: the file's folder does not exist or is not writable.
    """
    gates = Gates(**given)
    if gates.junit is None:
        return gates
    if not (gates.thresholds or gates.fail_on):
        raise click.UsageError(say("--junit needs --threshold or --fail-on"))
    from loadstone.runs import run_folder
    from loadstone.runs.errors import StoreError

    folder = gates.junit.parent
    if not folder.is_dir():
        raise StoreError(
            say("cannot write {file}: there is no folder {folder}", file=gates.junit, folder=folder)
        )
    run_folder.check_writable(folder)
    return gates


gate_options = gathered("gates", (_THRESHOLDS, _JUNIT), _gates)
"""Add the options to a command that runs something, which gets one `gates` instead."""

comparison_gate_options = gathered("gates", (_FAIL_ON_SIDES, _THRESHOLDS, _JUNIT), _gates)
"""As `gate_options`, for a command that compares runs."""

trend_gate_options = gathered("gates", (_FAIL_ON_TREND, _JUNIT), _gates)
"""As `gate_options`, for a command that follows many runs over time."""


def judge_run(gates: Gates, result: Result) -> list[Check]:
    """Judge the thresholds at each level of a run, including levels that it never reached.

    For a search, at the level that it found; for an experiment, for each of its searches.
    """
    from loadstone.analyse.gates import judge_search, judge_thresholds

    run = result.run
    if run.searches:
        return [
            check
            for each in run.searches
            for check in judge_search(gates.thresholds, each.found, each.steps_of(result.steps))
        ]
    if run.steps_planned is None:
        return judge_search(gates.thresholds, run.search, result.steps)
    left = run.steps_planned - len(result.steps)
    missing = [_missing(left, run.id)] if left > 0 else []
    return judge_thresholds(gates.thresholds, result.steps, missing)


def _missing(steps: int, run: str) -> Message:
    return counted("1 more step of {run}", "{number} more steps of {run}", steps, run=run)


def conclude(name: str, checks: Sequence[Check], junit: Path | None, *, quiet: bool) -> bool:
    """Write the file, show which gates passed and which failed, and return whether all passed.

    `quiet`: stdout is for a document, and only failures are reported, on stderr.
    """
    if junit is not None:
        from loadstone.report.junit import as_junit
        from loadstone.runs import atomic

        atomic.write_bytes(junit, as_junit(name, checks), atomic.SHARED)
    if not checks:
        return True
    from loadstone.cli.errors import tell
    from loadstone.cli.screen import show_lines
    from loadstone.report.gates import lines, sentence

    if not quiet:
        show_lines(lines(checks, current()))
    failed = [check for check in checks if check.fails]
    for check in failed:
        tell(sentence(check, current()))
    return not failed
