"""`loadstone compare RUN...`: what differs between runs, and by how much one side is faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current, in_words
from loadstone.cli.options.gates import Gates, comparison_gate_options, conclude
from loadstone.cli.options.types import WORD, out_option, output_option
from loadstone.model.message import Joined, say, say_in

if TYPE_CHECKING:
    from loadstone.analyse.gates import Check
    from loadstone.analyse.matrix import Matrix
    from loadstone.model.result import StepResult
    from loadstone.runner.compare import Compared

Form = Literal["text", "markdown", "json", "html"]


@dataclass(frozen=True)
class Asked:
    """The options of the command line."""

    by: str | None
    form: Form
    output: Path | None
    gates: Gates


@command(
    help=say(
        "Compare runs: first what differs between them, then each level, with the first run as the"
        " baseline.\n\n"
        "RUN is a run's folder, from any machine, or its name. A run of an experiment is compared"
        " by its factor. docs/comparing.md explains each figure and how --fail-on and --threshold"
        " decide."
    ),
    examples=(
        (say("two runs, the first as the baseline"), "loadstone compare before after"),
        (
            say("fail in CI if throughput fell by 5 % or more"),
            "loadstone compare before after --fail-on 'tps<-5%'",
        ),
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@option(
    "--by",
    type=WORD,
    metavar="target|FACTOR",
    help=say("Compare by target, or by this factor of an experiment. [default: by run]"),
)
@option("--markdown", "form", flag_value="markdown", help=say("Print Markdown."))
@option("--json", "form", flag_value="json", help=say("Print only JSON."))
@option("--html", "form", flag_value="html", help=say("Write an HTML page in a single file."))
@output_option(say("Output file. [default: stdout]"))
@comparison_gate_options
@out_option
def compare(
    runs: tuple[str, ...],
    by: str | None,
    form: Form | None,
    output: Path | None,
    gates: Gates,
    out: Path,
) -> int:
    """Compare runs."""
    return _compare(runs, out, Asked(by, form or "text", output, gates))


def _compare(names: Sequence[str], out: Path, asked: Asked) -> int:
    from loadstone.analyse.matrix import judge
    from loadstone.model.exit_codes import ExitCode
    from loadstone.runner.compare import compare as compare_runs
    from loadstone.runs import run_folder

    found = compare_runs([run_folder.find(out, name) for name in names], asked.by)
    checks = [*judge(found.matrix, asked.gates.fail_on), *_thresholds(found.matrix, asked)]
    to_file = asked.output is not None
    _show(_text(found, checks, asked.form, to_file=to_file), asked)
    quiet = asked.form != "text" or asked.output is not None
    name = "loadstone compare"
    passed = conclude(name, checks, asked.gates.junit, quiet=quiet)
    return ExitCode.OK if passed else ExitCode.THRESHOLD


def _thresholds(found: Matrix, asked: Asked) -> list[Check]:
    """Checked for all sides but the first, which is the baseline."""
    from dataclasses import replace

    from loadstone.analyse.gates import judge_thresholds

    return [
        replace(
            check, where=say_in("joined", "{first}, {second}", first=check.where, second=side.name)
        )
        for side in found.sides[1:]
        for check in judge_thresholds(asked.gates.thresholds, _steps(found, side.name))
    ]


def _steps(found: Matrix, side: str) -> list[StepResult]:
    return [step for cell in found.cells if (standing := cell.of(side)) for step in standing.steps]


def _text(compared: Compared, checks: Sequence[Check], form: Form, *, to_file: bool) -> str:
    found, differing = compared.matrix, compared.differences
    title = say("Comparison of {sides}", sides=Joined(side.name for side in found.sides))
    if form == "json":
        import json

        from loadstone.report.comparison_document import comparison_document

        document = comparison_document(found, differing, checks)
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if form == "html":
        from loadstone.report.comparison_page import as_page

        return as_page(title, found, differing, current())
    from loadstone.cli.screen import width
    from loadstone.report.comparing import sections
    from loadstone.report.table_section import as_markdown, as_text
    from loadstone.report.wrapping import UNLIMITED

    made = sections(found, differing, current())
    if form == "markdown":
        return as_markdown(in_words(title), made)
    return as_text(made, UNLIMITED if to_file else width())


def _show(text: str, asked: Asked) -> None:
    if asked.output is None:
        click.echo(text, nl=False)
        return
    from loadstone.runs import atomic

    atomic.write_bytes(asked.output, text.encode(), atomic.SHARED)
    click.echo(in_words(say("saved  {path}", path=str(asked.output))), err=True)
