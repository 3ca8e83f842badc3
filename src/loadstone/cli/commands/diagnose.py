"""`loadstone diagnose RUN`: why it is not faster, and with `--prove` the proof."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.help.sections import Section
from loadstone.cli.language import current
from loadstone.cli.options.connection import unasked
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.prove import proving_options
from loadstone.cli.options.types import FILE, json_option, out_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.cli.options.connection import Connection
    from loadstone.model.finding import Diagnosis, NotTried
    from loadstone.model.protection import Protection
    from loadstone.model.prove_request import Proving
    from loadstone.model.result import Result


@command(
    help=say(
        "Explain what limits a run, with the figures that show it and what to do about it.\n\n"
        "The first line is the answer. Findings that make the figures doubtful come first, then"
        " saturated resources, waits and unwise settings; docs/diagnosis.md lists them all. RUN is"
        " a run folder, the start of its name, or last.\n\n"
        "With --prove the run's load is driven again, alternating between the original setup and"
        " each finding's remedy. Settings are restored after each step; if Loadstone is killed,"
        " loadstone restore does it."
    ),
    examples=(
        (say("the last run"), "loadstone diagnose"),
        (say("and prove its findings with A/B tests"), "loadstone diagnose last --prove"),
    ),
)
@click.argument("run", default="last")
@proving_options
@protection_options
@option(
    "--password",
    "-p",
    "ask_password",
    is_flag=True,
    section=Section.PROVE,
    help=say(
        "With --prove: prompt for the password. Without this option it is read from"
        " LOADSTONE_PASSWORD or ~/.my.cnf."
    ),
)
@option(
    "--defaults-file",
    type=FILE,
    section=Section.PROVE,
    help=say("With --prove: MySQL option file to read instead of ~/.my.cnf."),
)
@option(
    "--dry-run",
    is_flag=True,
    section=Section.PROVE,
    help=say("With --prove: show what the trials will change and how long they take; start none."),
)
@json_option
@out_option
def diagnose(
    run: str,
    proving: Proving | None,
    protection: Protection,
    ask_password: bool,
    defaults_file: Path | None,
    dry_run: bool,
    as_json: bool,
    out: Path,
) -> int:
    """Explain what limits a run."""
    from loadstone.runs import run_folder

    path = run_folder.find(out, run)
    if proving is not None:
        connection = unasked(ask_password=ask_password, defaults_file=defaults_file)
        proving = proving.model_copy(update={"protection": protection})
        if dry_run:
            return _show_trials(path, proving, connection, as_json=as_json)
        return _prove(path, proving, connection, as_json=as_json)
    if protection.asked or protection.replicas or not protection.defaults:
        raise click.UsageError(say("--abort-if, --max-load, --no-abort and --replica need --prove"))
    if dry_run:
        raise click.UsageError(say("{option} needs --prove", option="--dry-run"))
    if ask_password or defaults_file:
        raise click.UsageError(say("--password and --defaults-file need --prove"))
    result = run_folder.load(path)
    _show(path, result, (), as_json=as_json)
    return 0


def _show_trials(path: Path, proving: Proving, connection: Connection, *, as_json: bool) -> int:
    """Print what the trials will change."""
    if as_json:
        raise click.UsageError(say("--dry-run prints text: leave --json out"))
    from loadstone.cli.screen import show_lines
    from loadstone.runner.outlook import outlook_of_proofs
    from loadstone.runner.prove import trials_of

    show_lines(
        outlook_of_proofs(*trials_of(path, proving, lambda target: connection.at(target.url)))
    )
    return 0


def _prove(path: Path, proving: Proving, connection: Connection, *, as_json: bool) -> int:
    from loadstone.cli.errors import tell_left
    from loadstone.cli.terminal import Terminal
    from loadstone.model.exit_codes import ExitCode
    from loadstone.runner.prove import prove

    at = cache(connection.at)  # the password is prompted for once
    proved = prove(path, proving, lambda target: at(target.url), Terminal(quiet=as_json))
    if not as_json:
        _show_verdicts(proved.result, proved.not_tried)
    _show(path, proved.result, proved.not_tried, as_json=as_json)
    interrupted = ExitCode.INTERRUPTED if proved.interrupted else ExitCode.OK
    return tell_left(proved.left) or interrupted


def _show(path: Path, result: Result, not_tried: Sequence[NotTried], *, as_json: bool) -> None:
    from loadstone.diagnosis.of_run import findings_of

    found = findings_of(path, result)
    if as_json:
        _as_json(found, not_tried)
        return
    from loadstone.cli.screen import show
    from loadstone.report.findings import as_renderable

    show(as_renderable(found, result.proofs, current()))


def _show_verdicts(result: Result, not_tried: Sequence[NotTried]) -> None:
    """What was asked for comes first; the findings stand below it."""
    from loadstone.cli.screen import show_lines
    from loadstone.report.findings import not_tried_lines, proved

    words = current()
    show_lines((*proved(result.proofs, words), *not_tried_lines(not_tried, words), ""))


def _as_json(found: Sequence[Diagnosis], not_tried: Sequence[NotTried]) -> None:
    import json

    ladders = [one.model_dump(mode="json") for one in found]
    left = [one.model_dump(mode="json") for one in not_tried]
    click.echo(json.dumps({"version": 1, "ladders": ladders, "not_tried": left}, indent=2))
