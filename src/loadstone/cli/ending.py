"""The end of a command that ran something: what is shown, what its gates say, its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console, RenderableType

from loadstone.analyse.comparison import compare
from loadstone.analyse.durability import variables_of_variants, warnings
from loadstone.cli.errors import tell, tell_left
from loadstone.cli.options.gates import NO_GATES, Gates, conclude, judge_run
from loadstone.diagnosis.frames import environment_of
from loadstone.diagnosis.of_run import findings_of
from loadstone.model.exit_codes import ExitCode
from loadstone.model.failover import LedgerVerdict
from loadstone.model.numbers import count
from loadstone.model.result import Result
from loadstone.recipes.answer import answer_of
from loadstone.report.experiment import outcome
from loadstone.report.findings import answer, proved
from loadstone.report.text import as_plain, as_renderable
from loadstone.runner.finished import Finished
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.rates import rates_by_step
from loadstone.runs.recorder import read_asked


def end(finished: Finished, *, as_json: bool, strict: bool = False, gates: Gates = NO_GATES) -> int:
    """Show what there is, and return the exit code."""
    show(finished.result, finished.folder, as_json=as_json)
    code = exit_code(finished, strict=strict)
    gated = judged(gates, finished.result, as_json=as_json)
    return tell_left(finished.left) or code or gated


def exit_code(finished: Finished, *, strict: bool = False) -> int:
    """What the program ends with for such a run; the reason is said where that is not 0."""
    result = finished.result
    if finished.error:
        tell(finished.error.message, finished.error.hint)
        return int(finished.error.exit_code)
    ledgers = [verdict for step in result.steps for verdict in step.ledger]
    if code := tell_ledgers(ledgers) or _aborted(result):
        return code
    if finished.interrupted and result.run.state == "stopped":
        return ExitCode.INTERRUPTED
    if strict and any(step.generator.client_bound for step in result.steps):
        tell("the generator was the limit, so the figures are not the server's", "see the notes")
        return ExitCode.CLIENT_BOUND
    return ExitCode.OK


def judged(gates: Gates, result: Result, *, as_json: bool) -> int:
    """What the gates of a run say of it, told and written: 99 where one fails."""
    checks = judge_run(gates, result)
    passed = conclude(f"loadstone {result.run.name}", checks, gates.junit, quiet=as_json)
    return ExitCode.OK if passed else ExitCode.THRESHOLD


def tell_ledgers(verdicts: Sequence[LedgerVerdict]) -> int:
    """Code 10, and the reason in a line, where an acknowledged write is lost or one is doubled."""
    if all(verdict.holds for verdict in verdicts):
        return ExitCode.OK
    counted = (
        (sum(verdict.lost for verdict in verdicts), "lost"),
        (sum(verdict.doubled for verdict in verdicts), "doubled"),
        (sum(verdict.altered for verdict in verdicts), "altered"),
    )
    what = ", ".join(f"{count(amount)} {word}" for amount, word in counted if amount)
    places = ", ".join(dict.fromkeys(each.target for each in verdicts if not each.holds))
    tell(
        f"the ledger and {places} differ: {what}",
        "docs/failover.md says what each of them means",
    )
    return ExitCode.INCONSISTENT


def _aborted(result: Result) -> int:
    """The exit code of a run that was ended to spare a server, which is told; else 0."""
    found = result.run.aborted
    if found is None:
        return ExitCode.OK
    hint = "what there is was kept, and its notes say more: loadstone runs show"
    if found.is_default:
        hint = f"{hint}; --no-abort leaves the default conditions out"
    tell(found.said, hint)
    return ExitCode.ABORTED


def show(result: Result, path: Path, *, as_json: bool) -> None:
    """The result on stdout: as JSON and nothing else, or as text."""
    if as_json:
        click.echo(run_folder.to_json(result), nl=False)
        return
    compared = _compared(result, path)
    parts, answered = compared or (as_renderable(result), ())
    if sys.stdout.isatty():
        Console(highlight=False).print(parts)
    else:
        click.echo(as_plain(parts), nl=False)
    for line in (*answer(findings_of(path, result)), *proved(result.proofs)):
        click.echo(line)
    for line in answered:
        click.echo(line)
    click.echo(f"kept  {path}")


def _compared(result: Result, path: Path) -> tuple[RenderableType, Sequence[str]] | None:
    """The tables of an experiment, and what a recipe's answer is; `None` for any other run."""
    try:
        asked = read_asked(path)
    except StoreError:  # of an older version, or damaged: the steps can be shown all the same
        return None
    experiment = asked.experiment
    if experiment is None:
        return None
    unfair = warnings(variables_of_variants(experiment, environment_of(path).get("targets", ())))
    found = compare(experiment, result.steps, rates_by_step(path))
    answered = tuple(answer_of(asked.recipe, experiment, found)) if asked.recipe else ()
    return outcome(experiment, result, found, unfair), answered
