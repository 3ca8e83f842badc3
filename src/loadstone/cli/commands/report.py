"""`loadstone report RUN`: what was measured and what it means, to share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current, in_words
from loadstone.cli.options.types import out_option, output_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.report.opened import Run

Kind = Literal["html", "pdf", "markdown", "line", "badge", "csv", "json"]

FILES: dict[Kind, str] = {"html": "report.html", "pdf": "report.pdf"}
"""The kinds that are files, by their default name in the run's folder; the others are printed."""


@command(
    help=say(
        "Write a run as one self-contained HTML page or PDF, or print it as Markdown, in one line,"
        " as a badge, CSV or JSON.\n\n"
        "The page has the answer first, then the ladder, ceilings, findings, each step second by"
        " second, settings and method. RUN is a run folder, the start of its name, or last."
    ),
    examples=(
        (say("the last run, in the browser"), "loadstone report --open"),
        (say("in Chinese, to another file"), "loadstone report last --lang zh -o report.html"),
        (say("one line for a chat"), "loadstone report last --line"),
    ),
)
@click.argument("run", default="last")
@output_option(
    say(
        "Output file. [default: report.html or report.pdf in the run's folder; stdout with"
        " --markdown, --line, --badge, --csv and --json]"
    )
)
@option("--open", "open_it", is_flag=True, help=say("Open the page in a browser."))
@option("--html", "kind", flag_value="html", help=say("Write the page as HTML: the default."))
@option(
    "--pdf",
    "kind",
    flag_value="pdf",
    help=say("Write the page as PDF, printed by the Chromium or Chrome of this machine."),
)
@option("--markdown", "kind", flag_value="markdown", help=say("Print a summary in Markdown."))
@option(
    "--line",
    "kind",
    flag_value="line",
    help=say("Print one line for a chat: server, answer, and what makes the rates doubtful."),
)
@option(
    "--badge",
    "kind",
    flag_value="badge",
    help=say("Print a small SVG image with the highest rate, for a page of a repository."),
)
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
    if open_it and kind not in (None, "html"):
        raise click.UsageError(say("--open shows the page: leave --{kind} out", kind=kind))
    from loadstone.report.opened import Run
    from loadstone.runs import atomic, run_folder

    opened = Run(run_folder.find(out, run))
    place = output.absolute().parent if output else opened.path
    content = _content(opened, kind or "html", place)
    file = FILES.get(kind or "html")
    if file is None and output is None:
        click.echo(content, nl=False)
        return 0
    path = output or opened.path / str(file)
    atomic.write_bytes(path, content, atomic.SHARED if output else atomic.PRIVATE)
    megabytes = f"{len(content) / 1e6:.2f}"
    said = say("report  {path} ({megabytes} MB)", path=str(path), megabytes=megabytes)
    click.echo(in_words(said))
    if open_it and click.launch(str(path)) != 0:
        said = say("note    no browser could be started: open {path} yourself", path=str(path))
        click.echo(in_words(said), err=True)
    return 0


def _content(run: Run, kind: Kind, place: Path) -> bytes:
    """`place`: the folder in which the file will be."""
    lang = current().code
    match kind:
        case "html" | "pdf":
            from loadstone.report.html import as_html
            from loadstone.report.pdf import as_pdf

            page = as_html(run, lang)
            return as_pdf(page, place) if kind == "pdf" else page.encode()
        case "markdown":
            from loadstone.report.markdown import as_markdown

            return as_markdown(run, lang).encode()
        case "line":
            from loadstone.report.chat_line import as_line

            return as_line(run, lang).encode()
        case "badge":
            from loadstone.report.badge import as_badge

            return as_badge(run.result.steps, run.result.run.name).encode()
        case "csv":
            return run.steps.write_csv().encode()
        case "json":
            return _as_json(run).encode()


def _as_json(run: Run) -> str:
    import json

    document = {
        "version": 1,
        "result": run.result.model_dump(mode="json"),
        "ceilings": [step.model_dump(mode="json") for step in run.ceilings],
        "ladders": [found.model_dump(mode="json") for found in run.diagnoses],
    }
    return json.dumps(document, indent=2) + "\n"
