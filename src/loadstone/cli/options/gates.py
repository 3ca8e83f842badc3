"""The options that make a command fail in CI: `--threshold`, `--fail-on`, `--junit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.options.types import FILE

if TYPE_CHECKING:
    from loadstone.analyse.gates import Check, Gate
    from loadstone.model.result import Result

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Threshold(click.ParamType["Gate"]):
    """`p99<20ms`."""

    name = "FIGURE<LIMIT"

    def convert(self, value: Any, param: Any, ctx: Any) -> Gate:
        """The gate, or an error of usage."""
        from loadstone.analyse.gates import threshold

        return threshold(value) if isinstance(value, str) else value


class FailOn(click.ParamType["Gate"]):
    """`tps<-5%`."""

    name = "FIGURE<CHANGE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Gate:
        """The gate, or an error of usage."""
        from loadstone.analyse.gates import change

        return change(value) if isinstance(value, str) else value


def threshold_option(command: _Command) -> _Command:
    """What must hold; the command gets `thresholds`."""
    decorated: _Command = click.option(
        "--threshold",
        "thresholds",
        type=Threshold(),
        multiple=True,
        help="Exit with code 99 unless this holds at every level (of a search: the one it finds):"
        " p99<20ms, tps>1000, errors<0.1%.",
    )(command)
    return decorated


def fail_on_option(command: _Command) -> _Command:
    """What must not have changed; the command gets `fail_on`."""
    decorated: _Command = click.option(
        "--fail-on",
        "fail_on",
        type=FailOn(),
        multiple=True,
        help="Exit with code 99 if a figure has certainly changed by this much: tps<-5%, p99>10%.",
    )(command)
    return decorated


def junit_option(command: _Command) -> _Command:
    """Where the gates are written to as JUnit XML; the command gets `junit`."""
    decorated: _Command = click.option(
        "--junit", type=FILE, metavar="FILE", help="Write the outcome of each gate as JUnit XML."
    )(command)
    return decorated


@dataclass(frozen=True)
class Gates:
    """The limits of a run, and where what became of them is written."""

    thresholds: tuple[Gate, ...] = ()
    junit: Path | None = None


NO_GATES = Gates()


def check_gates(thresholds: Sequence[Gate], junit: Path | None, others: bool = False) -> None:
    """Refuse a file without gates, or that cannot be written, before anything is started.

    Raises:
        UsageError: there is nothing to write into the file.
        StoreError: the file's folder is not there, or may not be written to.
    """
    if junit is None:
        return
    if not (thresholds or others):
        raise click.UsageError("--junit has nothing to tell without --threshold or --fail-on")
    from loadstone.runs import run_folder
    from loadstone.runs.errors import StoreError

    if not junit.parent.is_dir():
        raise StoreError(f"cannot write {junit}: there is no folder {junit.parent}")
    run_folder.check_writable(junit.parent)


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
