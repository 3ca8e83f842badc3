"""`loadstone runs list|label|show|ask|export|attach|trend`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.commands.ask import ask
from loadstone.cli.commands.trend import trend
from loadstone.cli.help.command import group, option
from loadstone.cli.language import current, in_words
from loadstone.cli.options.observe import LimitSpec
from loadstone.cli.options.selection import selection_options
from loadstone.cli.options.types import (
    DURATION,
    FILE,
    Parsed,
    former,
    json_option,
    out_option,
    output_option,
    result_json_option,
)
from loadstone.model.message import say

if TYPE_CHECKING:
    from datetime import tzinfo

    import polars

    from loadstone.runs.parquet.read import Which
    from loadstone.runs.selection import Selection


class LabelText(Parsed[str]):
    """`nightly`."""

    name = "LABEL"

    def read(self, text: str) -> str:
        """The label, or a usage error."""
        from loadstone.runs.labels import a_label

        return a_label(text)


@group(help=say("List, show and export past runs, and follow their trend."))
def runs() -> None:
    """Past runs."""


runs.add_command(ask)
runs.add_command(trend)


@runs.command("list", help=say("List all runs, oldest first."))
@selection_options
@out_option
@json_option
def list_(selection: Selection, out: Path, as_json: bool) -> None:
    """List the runs."""
    import json

    from loadstone.cli.screen import show
    from loadstone.report.runs import runs_table
    from loadstone.runs import run_folder
    from loadstone.runs.labels import read_labels
    from loadstone.runs.selection import is_selected

    found = [each for each in run_folder.list_runs(out) if is_selected(each, selection)]
    if as_json:
        listed = [
            {"run": str(each.folder), "problem": each.problem, "labels": read_labels(each.folder)}
            | ({"info": each.result.run.model_dump(mode="json")} if each.result else {})
            for each in found
        ]
        click.echo(json.dumps(listed, indent=2))
    elif not found:
        click.echo(in_words(say("no runs in {folder}", folder=str(out))), err=True)
    else:
        rows = ((each.folder.name, each.result, each.problem) for each in found)
        show(runs_table(rows, current()))


@runs.command(
    help=say(
        "Give a run labels, by which runs list, runs trend and the live page find it.\n\n"
        "Without LABEL the run's labels are printed. RUN is a run folder, the start of its name, or"
        " last."
    ),
    examples=((say("label the last run"), "loadstone runs label last nightly mariadb-11.4"),),
)
@click.argument("run")
@click.argument("labels", nargs=-1, type=LabelText(), metavar="[LABEL]...")
@option("--remove", is_flag=True, help=say("Remove these labels from the run."))
@out_option
def label(run: str, labels: tuple[str, ...], remove: bool, out: Path) -> None:
    """Give a run labels."""
    from loadstone.runs import run_folder
    from loadstone.runs.labels import read_labels, write_labels

    if remove and not labels:
        raise click.UsageError(say("--remove needs the labels to remove"))
    path = run_folder.find(out, run)
    before = read_labels(path)
    kept = [each for each in before if not (remove and each in labels)]
    now = kept if remove else list(dict.fromkeys((*kept, *labels)))
    if labels:
        write_labels(path, now)
    for each in now:
        click.echo(each)


@runs.command(
    help=say(
        "Show one run, even one that was killed.\n\n"
        "RUN is a run folder, the start of its name, or last."
    )
)
@click.argument("run", default="last")
@out_option
@result_json_option
def show(run: str, out: Path, as_json: bool) -> None:
    """Show a run."""
    from loadstone.cli.ending import show as show_result
    from loadstone.runs import run_folder

    path = run_folder.find(out, run)
    show_result(run_folder.load(path), path, as_json=as_json)


@runs.command(
    help=say(
        "Export a run's samples: one row per second and step, and per source for observed"
        " counters.\n\n"
        "With --anonymous, export the whole run to FILE.zip, without names and addresses, to pass"
        " on.\n\n"
        "RUN is a run folder, the start of its name, or last."
    )
)
@click.argument("run", default="last")
@click.argument("file", required=False, type=FILE, metavar="[FILE.zip]")
@out_option
@option(
    "--anonymous",
    is_flag=True,
    help=say("Export the whole run without names and addresses, as a zip file."),
)
@option(
    "--format",
    "kind",
    type=click.Choice(["csv", "json", "parquet"]),
    default="csv",
    show_default=True,
    help=say("Format of the file."),
)
@option(
    "--table",
    "which",
    type=click.Choice(["load", "server", "host"]),
    default="load",
    show_default=True,
    help=say("What to export: the load, or the counters of servers or hosts."),
)
@output_option(say("Output file. [default: stdout]"))
@former("--to", "output", FILE)
def export(run: str, file: Path | None, out: Path, *, anonymous: bool, **given: Any) -> None:
    """Export a run's samples, or all of it without names."""
    output = file or given["output"]
    if anonymous:
        _export_anonymous(run, out, output)
    elif file is not None:
        raise click.UsageError(say("FILE.zip is for --anonymous: use --output for samples"))
    else:
        _export_samples(run, out, given["kind"], given["which"], output)


class ZoneName(Parsed["tzinfo"]):
    """`UTC`, `Europe/Berlin` or `+02:00`."""

    name = "ZONE"

    def read(self, text: str) -> tzinfo:
        """The time zone."""
        from loadstone.observe.export_file import zone

        return zone(text)


class NamedFigure(Parsed[tuple[str, str]]):
    """`Disk writes=disk_write_iops`."""

    name = "METRIC=FIGURE"

    def read(self, text: str) -> tuple[str, str]:
        """The metric's name and the figure that it is."""
        from loadstone.model.attached import named_figure

        return named_figure(text)


_OF_FILES = {
    "local": "--timezone",
    "granularity": "--granularity",
    "stamp": "--stamp",
    "named": "--metric",
}
_OF_URLS = {"series": "--series", "late_s": "--late"}
"""The options that say how a source of that kind is read."""


@runs.command(
    help=say(
        "Add a console's export to a run that has ended: figures of the server's host that nobody"
        " could read during the run.\n\n"
        "SOURCE is a CSV file, with the columns time, metric and value, or time and a column for"
        " each metric; or the URL of a Prometheus server that scrapes a cloud's exporter, with the"
        " labels of the database's series. The values are drawn on the run's clock; those that are"
        " figures of the host (docs/observing.md) are used by ceilings and findings, where the"
        " window holds whole means of them. What comes from a source replaces what came from it"
        " before.\n\n"
        "RUN is a run folder, the start of its name, or last."
    ),
    examples=(
        (say("times with an offset, or in UTC"), "loadstone runs attach last iops.csv"),
        (
            say("what Prometheus has of a database on RDS"),
            "loadstone runs attach last 'http://prometheus:9090?dbinstance_identifier=db1'",
        ),
        (
            say("a limit that was not known during the run"),
            "loadstone runs attach last --limit disk_iops=3000",
        ),
        (
            say("times of a zone, in a column of another name"),
            "loadstone runs attach last iops.csv --timezone Europe/Berlin"
            " --metric 'Disk writes=disk_write_iops'",
        ),
    ),
)
@click.argument("run")
@click.argument("source", required=False)
@option(
    "--limit",
    "limits",
    type=LimitSpec(),
    multiple=True,
    help=say(
        "A limit of the server's host, as run --limit; SOURCE may be left out. May be repeated."
    ),
)
@option(
    "--timezone",
    "local",
    type=ZoneName(),
    help=say("Zone of times that name none: UTC, Europe/Berlin, +02:00."),
)
@option(
    "--granularity",
    type=DURATION,
    help=say("How long a time each value stands for. [default: as far apart as they are]"),
)
@option(
    "--stamp",
    type=click.Choice(["start", "end"]),
    default="start",
    show_default=True,
    help=say("Whether a time is the start or the end of what its value stands for."),
)
@option(
    "--metric",
    "named",
    type=NamedFigure(),
    multiple=True,
    own=True,
    help=say("A metric of the file that is this figure of the host. May be repeated."),
)
@option(
    "--series",
    type=FILE,
    own=True,
    help=say("TOML file with more series of exporters in Prometheus (docs/observing.md)."),
)
@option(
    "--late",
    "late_s",
    type=DURATION,
    help=say(
        "How much later than its time a value is scraped, where Prometheus has the times of"
        " scrapes."
    ),
)
@out_option
def attach(run: str, source: str | None, out: Path, **how: Any) -> None:
    """Add figures of a managed database's host to a run."""
    if not source and not how["limits"]:
        raise click.UsageError(say("name a file, a URL or a --limit to attach"))
    is_url = bool(source) and "://" in str(source)
    for name, word in (_OF_FILES if is_url else _OF_URLS).items():
        if how[name] and how[name] != "start":
            raise click.UsageError(
                say("{option} is for files only", option=word)
                if is_url
                else say("{option} is for URLs only", option=word)
            )
    from loadstone.cli.screen import show_lines
    from loadstone.model.limits import stated
    from loadstone.report.observed import attached_notes
    from loadstone.runner.attach import AttachRequest
    from loadstone.runner.attach import attach as attach_file
    from loadstone.runs import run_folder

    path = run_folder.find(out, run)
    asked = AttachRequest(
        file=Path(source) if source and not is_url else None,
        url=source if is_url else None,
        series=how["series"],
        late_s=how["late_s"],
        local=how["local"],
        granularity_s=how["granularity"],
        ends=how["stamp"] == "end",
        named=how["named"],
        limits=stated(how["limits"]),
    )
    result, added = attach_file(path, asked)
    if added is None:
        return
    mine = [
        step.model_copy(
            update={"attached": tuple(one for one in step.attached if one.file == added.file)}
        )
        for step in result.steps
    ]
    words = current()
    show_lines(map(words, attached_notes(mine)))


def _export_anonymous(run: str, out: Path, output: Path | None) -> None:
    from loadstone.runs import atomic, run_folder
    from loadstone.runs.anonymous.folder import archive

    if output is None:
        raise click.UsageError(say("--anonymous writes a file: give FILE.zip"))
    atomic.write_bytes(output, archive(run_folder.find(out, run)), atomic.SHARED)
    said = say("saved  {path}; checked: none of the replaced names is left in it", path=str(output))
    click.echo(in_words(said), err=True)


def _export_samples(run: str, out: Path, kind: str, which: Which, output: Path | None) -> None:
    from loadstone.runs import run_folder
    from loadstone.runs.parquet import read

    table = read.of_run(run_folder.find(out, run), which)
    if output is None and kind == "parquet" and sys.stdout.isatty():
        raise click.UsageError(say("Parquet is not for a terminal: add --output FILE"))
    content = _as_bytes(table, kind)
    if output is None:
        sys.stdout.buffer.write(content)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        from loadstone.runs.errors import StoreError

        raise StoreError.from_os("write", output, error) from error


def _as_bytes(table: polars.DataFrame, kind: str) -> bytes:
    from io import BytesIO

    if kind == "csv":
        return table.write_csv().encode()
    if kind == "json":
        return table.write_json().encode() + b"\n"
    buffer = BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()
