"""`loadstone report RUN`: what was measured and what it means, to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from loadstone.cli.options.types import lang_option, out_option

if TYPE_CHECKING:
    from loadstone.model.language import Lang
    from loadstone.report.opened import Run

Kind = Literal["html", "markdown", "csv", "json"]

REPORT = "report.html"
"""Its name in the run's folder, where no other place was asked for."""


@click.command()
@click.argument("run", default="last")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Where to write.  [default: {REPORT} in the run's folder; --markdown and so on: stdout]",
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@lang_option("Language of the report; what servers and users said stays as it was said.")
@click.option("--markdown", "kind", flag_value="markdown", help="Print a Markdown summary.")
@click.option("--csv", "kind", flag_value="csv", help="Print CSV, one row per step.")
@click.option(
    "--json", "kind", flag_value="json", help="Print result, ceilings and diagnosis as JSON."
)
@out_option
def report(
    run: str, output: Path | None, open_it: bool, lang: Lang, kind: Kind | None, out: Path
) -> int:
    """Write a run as one self-contained HTML page, or as Markdown, CSV or JSON.

    The answer first, then the ladder, the ceilings, the findings, each step second by second, the
    settings, and how it was measured.
    """
    if open_it and kind is not None:
        raise click.UsageError(f"--open shows the page: leave --{kind} out")
    from loadstone.report.opened import Run
    from loadstone.runs import atomic, run_folder

    opened = Run(run_folder.find(out, run))
    content = _content(opened, kind or "html", lang)
    if kind is not None and output is None:
        click.echo(content, nl=False)
        return 0
    path = output or opened.path / REPORT
    atomic.write_bytes(path, content.encode(), atomic.SHARED if output else atomic.PRIVATE)
    click.echo(f"report  {path} ({len(content.encode()) / 1e6:.2f} MB)")
    if open_it and click.launch(str(path)) != 0:
        click.echo(f"note    no browser could be started: open {path} yourself", err=True)
    return 0


def _content(run: Run, kind: Kind, lang: Lang) -> str:
    match kind:
        case "html":
            from loadstone.report.html import as_html

            return as_html(run, lang)
        case "markdown":
            from loadstone.report.markdown import as_markdown

            return as_markdown(run, lang)
        case "csv":
            return run.steps.write_csv()
        case "json":
            return _as_json(run)


def _as_json(run: Run) -> str:
    import json

    document = {
        "version": 1,
        "result": run.result.model_dump(mode="json"),
        "ceilings": [step.model_dump(mode="json") for step in run.ceilings],
        "ladders": [found.model_dump(mode="json") for found in run.diagnoses],
    }
    return json.dumps(document, indent=2) + "\n"
