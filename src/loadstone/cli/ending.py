"""The end of a command that ran something: what it shows, its gates, its exit code."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import RenderableType

from loadstone.analyse.comparison import compare
from loadstone.analyse.durability import settings_of_variants, warnings
from loadstone.cli.errors import tell, tell_left
from loadstone.cli.language import current
from loadstone.cli.options.gates import NO_GATES, Gates, conclude, judge_run
from loadstone.cli.screen import show as show_parts
from loadstone.cli.screen import show_lines
from loadstone.cli.terminal import Terminal
from loadstone.diagnosis.frames import environment_of
from loadstone.diagnosis.of_run import findings_of
from loadstone.lab.step.interrupts import Interrupted
from loadstone.model.exit_codes import ExitCode
from loadstone.model.failover import LedgerVerdict
from loadstone.model.figure import Count
from loadstone.model.finding import Diagnosis
from loadstone.model.message import Joined, counted, say, say_in
from loadstone.model.result import Result
from loadstone.recipes.answer import answer_of
from loadstone.report.experiment import outcome
from loadstone.report.findings import answer, proved
from loadstone.report.text import as_renderable
from loadstone.runner.finished import Finished
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.rates import rates_by_step
from loadstone.runs.recorder import read_asked


def end(finished: Finished, *, as_json: bool, strict: bool = False, gates: Gates = NO_GATES) -> int:
    """Show the result, and return the exit code."""
    show_finished(finished, as_json=as_json)
    code = exit_code(finished, strict=strict)
    gated = judged(gates, finished.result, as_json=as_json)
    return tell_left(finished.left) or code or gated


def exit_code(finished: Finished, *, strict: bool = False) -> int:
    """The exit code of a run; prints the reason if it is not 0."""
    result = finished.result
    if finished.error:
        tell(finished.error.message, finished.error.hint)
        return int(finished.error.exit_code)
    ledgers = [verdict for step in result.steps for verdict in step.ledger]
    if code := tell_ledgers(ledgers) or _aborted(result):
        return code
    if finished.interrupted and result.run.state == "stopped":
        _tell_interrupted(result, finished.folder)
        return ExitCode.INTERRUPTED
    if strict and any(step.generator.client_bound for step in result.steps):
        tell(
            say("the load generator was the limit, so the figures are not the server's"),
            say("see the notes"),
        )
        return ExitCode.CLIENT_BOUND
    return ExitCode.OK


@contextmanager
def interrupted_before_load(view: Terminal) -> Iterator[None]:
    """Say that nothing is kept if Ctrl-C ends the preparation of a run.

    Raises:
        Interrupted: the run had no folder yet.
    """
    try:
        yield
    except (KeyboardInterrupt, Interrupted):
        if view.folder is not None:
            raise
        raise Interrupted(
            say("interrupted while the run was prepared"),
            say("nothing was measured, and nothing is kept"),
        ) from None


def _tell_interrupted(result: Result, folder: Path) -> None:
    """How far the run came, where it is kept, and what can be done with it."""
    finished, planned = _finished(result), result.run.steps_planned
    steps = counted("1 step", "{number} steps", finished)
    if planned and finished <= planned:  # a page may have repeated steps that were planned once
        steps = counted(
            "{finished} of 1 step", "{finished} of {number} steps", planned, finished=finished
        )
    run = shlex.quote(folder.name if folder.parent == Path("runs") else str(folder))
    shows = say("{command} shows it", command=f"loadstone runs show {run}")
    if _is_experiment(folder):
        resumes = say("{command} continues it", command=f"loadstone resume {run}")
        shows = say_in("joined", "{first}; {second}", first=shows, second=resumes)
    tell(
        say(
            "interrupted with {steps} finished; what was measured is kept in {folder}",
            steps=steps,
            folder=str(folder),
        ),
        shows,
    )


def _finished(result: Result) -> int:
    return sum(step.state == "finished" for step in result.steps)


def _is_experiment(folder: Path) -> bool:
    try:
        return read_asked(folder).experiment is not None
    except StoreError:  # of an older version, or damaged
        return False


def judged(gates: Gates, result: Result, *, as_json: bool) -> int:
    """Report the outcome of a run's gates, and write it to their file: 99 if one fails."""
    checks = judge_run(gates, result)
    passed = conclude(f"loadstone {result.run.name}", checks, gates.junit, quiet=as_json)
    return ExitCode.OK if passed else ExitCode.THRESHOLD


def tell_ledgers(verdicts: Sequence[LedgerVerdict]) -> int:
    """Code 10, and the reason, if an acknowledged write is lost, doubled or altered."""
    if all(verdict.holds for verdict in verdicts):
        return ExitCode.OK
    amounts = (
        say("{number} lost", number=Count(sum(verdict.lost for verdict in verdicts))),
        say("{number} doubled", number=Count(sum(verdict.doubled for verdict in verdicts))),
        say("{number} altered", number=Count(sum(verdict.altered for verdict in verdicts))),
    )
    places = dict.fromkeys(each.target for each in verdicts if not each.holds)
    tell(
        say(
            "the ledger and {servers} differ: {amounts}",
            servers=Joined(places),
            amounts=Joined(one for one in amounts if one.values["number"].value),
        ),
        say("docs/failover.md explains what each of them means"),
    )
    return ExitCode.INCONSISTENT


def _aborted(result: Result) -> int:
    """The exit code of a run that was stopped to protect a server, and the reason; else 0."""
    found = result.run.aborted
    if found is None:
        return ExitCode.OK
    hint = say("the results so far were kept; loadstone runs show has details in the notes")
    if found.is_default:
        no_abort = say("--no-abort turns the default conditions off")
        hint = say_in("joined", "{first}; {second}", first=hint, second=no_abort)
    tell(found.said, hint)
    return ExitCode.ABORTED


def show(result: Result, path: Path, *, as_json: bool) -> None:
    """The result on stdout: as JSON and nothing else, or as text."""
    if as_json:
        click.echo(run_folder.to_json(result), nl=False)
        return
    _show_text(result, path, findings_of(path, result))


def show_finished(finished: Finished, *, as_json: bool) -> None:
    """The result of a run that has just ended, with the time until now as text."""
    result, path = finished.result, finished.folder
    if as_json:
        show(result, path, as_json=True)
        return
    # The diagnosis comes first, since it takes time that the notes count.
    found = findings_of(path, result)
    _show_text(finished.result_until_now, path, found)


def _show_text(result: Result, path: Path, found: Sequence[Diagnosis]) -> None:
    compared = _compared(result, path)
    parts, answered = compared or (as_renderable(result, current()), ())
    show_parts(parts)
    words = current()
    show_lines((*answer(found, words), *proved(result.proofs, words)))
    show_lines(answered)
    click.echo(words(say("saved  {path}", path=str(path))))


def _compared(result: Result, path: Path) -> tuple[RenderableType, Sequence[str]] | None:
    """The tables of an experiment and a recipe's answer; `None` for any other run."""
    try:
        asked = read_asked(path)
    except StoreError:  # of an older version, or damaged: the steps can still be shown
        return None
    experiment = asked.experiment
    if experiment is None:
        return None
    unfair = warnings(settings_of_variants(experiment, environment_of(path).get("targets", ())))
    found = compare(experiment, result.steps, rates_by_step(path))
    answered = tuple(answer_of(asked.recipe, experiment, found)) if asked.recipe else ()
    return outcome(experiment, result, found, unfair, current()), answered
