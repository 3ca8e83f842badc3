"""`loadstone report RUN`: what was measured and what it means, to share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current, in_words
from loadstone.cli.options.types import out_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.report.opened import Run

Kind = Literal["html", "markdown", "csv", "json"]

REPORT = "report.html"
"""The default file name, in the run's folder."""


@command(
    help=say(
        "Write a run as one self-contained HTML page, or as Markdown, CSV or JSON.\n\n"
        "The page has the answer first, then the ladder, ceilings, findings, each step second by"
        " second, settings and method. RUN is a run folder, the start of its name, or last."
    ),
    examples=(
        (say("the last run, in the browser"), "loadstone report --open"),
        (say("in Chinese, to another file"), "loadstone report last --lang zh -o report.html"),
    ),
)
@click.argument("run", default="last")
@option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help=say(
        "Output file. [default: report.html in the run's folder; stdout with --markdown, --csv and"
        " --json]"
    ),
)
@option("--open", "open_it", is_flag=True, help=say("Open the page in a browser."))
@option("--markdown", "kind", flag_value="markdown", help=say("Print a summary in Markdown."))
@option("--csv", "kind", flag_value="csv", help=say("Print CSV with one row per step."))
@option(
    "--json",
    "kind",
    flag_value="json",
    help=say("Print result, ceilings and findings as JSON."),
)
@out_option
def report(run: str, output: Path | None, open_it: bool, kind: Kind | None, out: Path) -> int:
    """Write a run as a page or a document."""
    if open_it and kind is not None:
        raise click.UsageError(say("--open shows the page: leave --{kind} out", kind=kind))
    from loadstone.report.opened import Run
    from loadstone.runs import atomic, run_folder

    opened = Run(run_folder.find(out, run))
    content = _content(opened, kind or "html")
    if kind is not None and output is None:
        click.echo(content, nl=False)
        return 0
    path = output or opened.path / REPORT
    atomic.write_bytes(path, content.encode(), atomic.SHARED if output else atomic.PRIVATE)
    megabytes = f"{len(content.encode()) / 1e6:.2f}"
    said = say("report  {path} ({megabytes} MB)", path=str(path), megabytes=megabytes)
    click.echo(in_words(said))
    if open_it and click.launch(str(path)) != 0:
        said = say("note    no browser could be started: open {path} yourself", path=str(path))
        click.echo(in_words(said), err=True)
    return 0


def _content(run: Run, kind: Kind) -> str:
    lang = current().code
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
