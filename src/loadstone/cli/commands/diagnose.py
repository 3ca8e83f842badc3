"""`loadstone diagnose RUN`: why it is not faster, and with `--prove` whether that is so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.options.connection import unasked
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.prove import proving_options
from loadstone.cli.options.types import FILE, json_option, lang_option, out_option

if TYPE_CHECKING:
    from loadstone.cli.options.connection import Connection
    from loadstone.model.finding import Diagnosis, NotTried
    from loadstone.model.language import Lang
    from loadstone.model.protection import Protection
    from loadstone.model.prove_request import Proving
    from loadstone.model.result import Result


@click.command()
@click.argument("run", default="last")
@proving_options
@protection_options
@click.option(
    "--password",
    "-p",
    "ask_password",
    is_flag=True,
    help="With --prove: ask for the password; otherwise LOADSTONE_PASSWORD or ~/.my.cnf.",
)
@click.option(
    "--defaults-file", type=FILE, help="With --prove: option file to read instead of ~/.my.cnf."
)
@json_option
@lang_option("Language of the text; a JSON document is English.")
@out_option
def diagnose(
    run: str,
    proving: Proving | None,
    protection: Protection,
    ask_password: bool,
    defaults_file: Path | None,
    as_json: bool,
    lang: Lang,
    out: Path,
) -> int:
    """Name what limits a run, with the figures that show it, and what to do about it.

    The first line is the answer. Findings that make the figures doubtful come first, then what is
    used up, what is waited for, and what is set unwisely; docs/diagnosis.md has them all.

    With --prove the run's load is driven again, by turns as it was and with what each finding says
    should help. Settings are put back after each step; after a kill, by loadstone restore.
    """
    from loadstone.runs import run_folder

    path = run_folder.find(out, run)
    if proving is not None:
        connection = unasked(ask_password=ask_password, defaults_file=defaults_file)
        proving = proving.model_copy(update={"protection": protection})
        return _prove(path, proving, connection, as_json=as_json, lang=lang)
    if protection.asked or protection.replicas or not protection.defaults:
        raise click.UsageError("what ends a load is for --prove: without it there is none")
    if ask_password or defaults_file:
        raise click.UsageError("a password is for --prove: without it no server is asked")
    result = run_folder.load(path)
    _show(path, result, (), as_json=as_json, lang=lang)
    return 0


def _prove(
    path: Path, proving: Proving, connection: Connection, *, as_json: bool, lang: Lang
) -> int:
    from loadstone.cli.errors import tell_left
    from loadstone.cli.terminal import Terminal
    from loadstone.model.exit_codes import ExitCode
    from loadstone.runner.prove import prove

    at = cache(connection.at)  # a password is asked for once
    proved = prove(path, proving, lambda target: at(target.url), Terminal(quiet=as_json))
    _show(path, proved.result, proved.not_tried, as_json=as_json, lang=lang)
    interrupted = ExitCode.INTERRUPTED if proved.interrupted else ExitCode.OK
    return tell_left(proved.left) or interrupted


def _show(
    path: Path, result: Result, not_tried: Sequence[NotTried], *, as_json: bool, lang: Lang
) -> None:
    from loadstone.diagnosis.of_run import findings_of

    found = findings_of(path, result)
    if as_json:
        _as_json(found, not_tried)
        return
    from loadstone.model.language import in_language
    from loadstone.report.findings import as_text

    click.echo(as_text(found, result.proofs, not_tried, in_language(lang)), nl=False)


def _as_json(found: Sequence[Diagnosis], not_tried: Sequence[NotTried]) -> None:
    import json

    ladders = [one.model_dump(mode="json") for one in found]
    left = [one.model_dump(mode="json") for one in not_tried]
    click.echo(json.dumps({"version": 1, "ladders": ladders, "not_tried": left}, indent=2))
