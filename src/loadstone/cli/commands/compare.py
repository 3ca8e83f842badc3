"""`loadstone compare RUN...`: what differs between runs, and by how much one side is faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from loadstone.cli.options.gates import Gates, comparison_gate_options, conclude
from loadstone.cli.options.types import FILE, WORD, out_option

if TYPE_CHECKING:
    from loadstone.analyse.gates import Check
    from loadstone.analyse.matrix import Matrix
    from loadstone.model.result import StepResult
    from loadstone.runner.compare import Compared

Form = Literal["text", "markdown", "json", "html"]


@dataclass(frozen=True)
class Asked:
    """What the command line said beside the runs."""

    by: str | None
    form: Form
    output: Path | None
    gates: Gates


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--by", type=WORD, metavar="target|FACTOR", help="What the two sides are. [default: the runs]"
)
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown.")
@click.option("--json", "form", flag_value="json", help="Print JSON only.")
@click.option("--html", "form", flag_value="html", help="Write a self-contained HTML page.")
@click.option("--output", "-o", type=FILE, help="Output file. [default: stdout]")
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
    """Compare runs: first what differs, then each level, the first side against the others.

    RUN is a run's folder, copied from any machine, or its name; one of an experiment is compared
    by its factor. docs/comparing.md has what each figure is and what gates decide.
    """
    return _compare(runs, out, Asked(by, form or "text", output, gates))


def _compare(names: Sequence[str], out: Path, asked: Asked) -> int:
    from loadstone.analyse.matrix import judge
    from loadstone.model.exit_codes import ExitCode
    from loadstone.runner.compare import compare as compare_runs
    from loadstone.runs import run_folder

    found = compare_runs([run_folder.find(out, name) for name in names], asked.by)
    checks = [*judge(found.matrix, asked.gates.fail_on), *_thresholds(found.matrix, asked)]
    _show(_text(found, checks, asked.form), asked)
    quiet = asked.form != "text" or asked.output is not None
    name = "loadstone compare"
    passed = conclude(name, checks, asked.gates.junit, quiet=quiet)
    return ExitCode.OK if passed else ExitCode.THRESHOLD


def _thresholds(found: Matrix, asked: Asked) -> list[Check]:
    """Asked of all sides but the first: that one is what was there before."""
    from dataclasses import replace

    from loadstone.analyse.gates import judge_thresholds

    return [
        replace(check, where=f"{check.where}, {side.name}")
        for side in found.sides[1:]
        for check in judge_thresholds(asked.gates.thresholds, _steps(found, side.name))
    ]


def _steps(found: Matrix, side: str) -> list[StepResult]:
    return [step for cell in found.cells if (standing := cell.of(side)) for step in standing.steps]


def _text(compared: Compared, checks: Sequence[Check], form: Form) -> str:
    found, differing = compared.matrix, compared.differences
    title = f"Comparison of {', '.join(side.name for side in found.sides)}"
    if form == "json":
        import json

        from loadstone.report.comparison_document import comparison_document

        document = comparison_document(found, differing, checks)
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if form == "html":
        from loadstone.report.comparison_page import as_page

        return as_page(title, found, differing)
    from loadstone.report.comparing import sections
    from loadstone.report.table_section import as_markdown, as_text

    made = sections(found, differing)
    return as_markdown(title, made) if form == "markdown" else as_text(made)


def _show(text: str, asked: Asked) -> None:
    if asked.output is None:
        click.echo(text, nl=False)
        return
    from loadstone.runs import atomic

    atomic.write_bytes(asked.output, text.encode(), atomic.SHARED)
    click.echo(f"kept  {asked.output}", err=True)
