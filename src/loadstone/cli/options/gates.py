"""The options that make a command fail in CI: `--threshold`, `--fail-on`, `--junit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.options.types import FILE, Parsed, gathered

if TYPE_CHECKING:
    from loadstone.analyse.gates import Check, Gate
    from loadstone.model.result import Result


class Threshold(Parsed["Gate"]):
    """`p99<20ms`."""

    name = "FIGURE<LIMIT"

    def read(self, text: str) -> Gate:
        """The gate, or an error of usage."""
        from loadstone.analyse.gates import threshold

        return threshold(text)


class FailOn(Parsed["Gate"]):
    """`tps<-5%`."""

    name = "FIGURE<CHANGE"

    def read(self, text: str) -> Gate:
        """The gate, or an error of usage."""
        from loadstone.analyse.gates import change

        return change(text)


_THRESHOLDS = click.option(
    "--threshold",
    "thresholds",
    type=Threshold(),
    multiple=True,
    help="Exit with code 99 unless this holds at every level (of a search: the one it finds):"
    " p99<20ms, tps>1000, errors<0.1%.",
)
_FAIL_ON = click.option(
    "--fail-on",
    "fail_on",
    type=FailOn(),
    multiple=True,
    help="Exit with code 99 if a figure has certainly changed by this much: tps<-5%, p99>10%.",
)
_JUNIT = click.option(
    "--junit", type=FILE, metavar="FILE", help="Write the outcome of each gate as JUnit XML."
)


@dataclass(frozen=True)
class Gates:
    """The limits of a run, and where what became of them is written."""

    thresholds: tuple[Gate, ...] = ()
    fail_on: tuple[Gate, ...] = ()
    """What must not have changed."""
    junit: Path | None = None


NO_GATES = Gates()


def _gates(**given: Any) -> Gates:
    """The gates; a file without any, or that cannot be written, is refused before anything starts.

    Raises:
        UsageError: there is nothing to write into the file.
        StoreError: the file's folder is not there, or may not be written to.
    """
    gates = Gates(**given)
    if gates.junit is None:
        return gates
    if not (gates.thresholds or gates.fail_on):
        raise click.UsageError("--junit has nothing to tell without --threshold or --fail-on")
    from loadstone.runs import run_folder
    from loadstone.runs.errors import StoreError

    folder = gates.junit.parent
    if not folder.is_dir():
        raise StoreError(f"cannot write {gates.junit}: there is no folder {folder}")
    run_folder.check_writable(folder)
    return gates


gate_options = gathered("gates", (_THRESHOLDS, _JUNIT), _gates)
"""Give a command that runs something the options; it gets one `gates` in their place."""

comparison_gate_options = gathered("gates", (_FAIL_ON, _THRESHOLDS, _JUNIT), _gates)
"""The same of one that holds runs against each other."""

trend_gate_options = gathered("gates", (_FAIL_ON, _JUNIT), _gates)
"""The same of one that holds many runs against each other."""


def judge_run(gates: Gates, result: Result) -> list[Check]:
    """The thresholds at each level of a run, those that it never came to among them.

    Of a search, at the level that it found; of an experiment's searches, of each.
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
    missing = [f"{left} more {'step' if left == 1 else 'steps'} of {run.id}"] if left > 0 else []
    return judge_thresholds(gates.thresholds, result.steps, missing)


def conclude(name: str, checks: Sequence[Check], junit: Path | None, *, quiet: bool) -> bool:
    """Write the file, tell what held and what did not; whether all gates passed.

    `quiet`: stdout is for a document, and only failures are told, on stderr.
    """
    if junit is not None:
        from loadstone.report.junit import as_junit
        from loadstone.runs import atomic

        atomic.write_bytes(junit, as_junit(name, checks), atomic.SHARED)
    if not checks:
        return True
    from loadstone.cli.errors import tell
    from loadstone.report.gates import lines, sentence

    if not quiet:
        for line in lines(checks):
            click.echo(line)
    failed = [check for check in checks if check.fails]
    for check in failed:
        tell(sentence(check))
    return not failed
