"""`loadstone runs trend`: many runs of one name over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current
from loadstone.cli.options.gates import Gates, conclude, trend_gate_options
from loadstone.cli.options.selection import selection_options
from loadstone.cli.options.types import Parsed, json_option, out_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.analyse.gates import Gate
    from loadstone.analyse.metrics import Metric
    from loadstone.analyse.paired_sides import Run
    from loadstone.runs.run_folder import Listed
    from loadstone.runs.selection import Selection

_METRICS = ("tps", "p99")


class MetricName(Parsed["Metric"]):
    """`tps`, `p99`, `write_p95`."""

    name = "FIGURE"

    def read(self, text: str) -> Metric:
        """The metric, or a usage error."""
        from loadstone.analyse.metrics import METRICS
        from loadstone.model.nearest import nearest

        name = text.strip().lower().replace(".", "")
        if name not in METRICS:
            near = nearest(name, METRICS)
            raise ValueError(
                say("there is no figure '{text}'; {near}", text=text, near=near)
                if near
                else say("there is no figure '{text}'", text=text)
            )
        return METRICS[name]


@command(
    help=say(
        "Show where the figures of many runs changed their level, and what else changed there.\n\n"
        "NAME stands for all runs of that name (`--name`), RUN for one run's folder. Without"
        " either, all runs are followed."
    ),
    examples=((say("all runs called nightly"), "loadstone runs trend nightly --metric tps"),),
)
@click.argument("runs", nargs=-1, metavar="[NAME|RUN]...")
@option(
    "--metric",
    "metrics",
    type=MetricName(),
    multiple=True,
    help=say(
        "Figure to follow, such as tps, p99 or write_p95. May be repeated. [default: tps, p99]"
    ),
)
@option(
    "--by",
    type=click.Choice(["name", "target"]),
    default="name",
    show_default=True,
    own=True,
    help=say("Follow the runs of each name, or of each target, whatever they are called."),
)
@option(
    "--peak",
    is_flag=True,
    help=say("Follow the highest rate of each run, at any of its levels, as well."),
)
@selection_options
@json_option
@trend_gate_options
@out_option
def trend(
    runs: tuple[str, ...],
    metrics: tuple[Metric, ...],
    as_json: bool,
    gates: Gates,
    out: Path,
    **which: Any,
) -> int:
    """Show the trend of many runs."""
    from loadstone.analyse.history import histories, judge_history, peaks
    from loadstone.analyse.metrics import METRICS
    from loadstone.cli.screen import show
    from loadstone.model.exit_codes import ExitCode
    from loadstone.report.table_section import as_renderable
    from loadstone.report.trend import sections, trend_document

    limits: dict[str, list[Gate]] = {}
    for gate in gates.fail_on:
        limits.setdefault(gate.metric.name, []).append(gate)
    wanted = list(dict.fromkeys(metrics or (METRICS[name] for name in _METRICS)))
    wanted += [METRICS[name] for name in limits if METRICS[name] not in wanted]
    # A nightly job's first night is not a failure: its gates are undecided until there are more.
    fewest = 1 if gates.fail_on else 2
    chosen = _chosen(runs, which["selection"], out, fewest, quiet=as_json)
    found = histories(chosen, wanted, which["by"])
    checks = judge_history(found, limits)
    found = [*(peaks(chosen, which["by"]) if which["peak"] else ()), *found]
    if as_json:
        import json

        click.echo(json.dumps(trend_document(found, checks), indent=2, allow_nan=False))
    else:
        show(as_renderable(sections(found, current(), limits)))
    passed = conclude("loadstone runs trend", checks, gates.junit, quiet=as_json)
    return ExitCode.OK if passed else ExitCode.THRESHOLD


def _chosen(
    words: Sequence[str], selection: Selection, out: Path, fewest: int, *, quiet: bool
) -> list[Run]:
    """The requested runs, each once; one that cannot be read is reported and left out.

    Raises:
        StoreError: a word names no run.
        ComparisonError: there are too few.
    """
    from loadstone.analyse.matrix import ComparisonError
    from loadstone.analyse.paired_sides import as_run
    from loadstone.cli.errors import announce
    from loadstone.runs import run_folder
    from loadstone.runs.reader import read_run
    from loadstone.runs.selection import is_selected

    listed = [each for each in run_folder.list_runs(out) if is_selected(each, selection)]
    for each in listed:
        if each.problem:
            announce(
                say("left out: {run}: {why}", run=each.folder.name, why=each.problem), quiet=quiet
            )
    paths = _paths(words, listed, out)
    if not selection.is_all:
        known = {each.folder for each in listed}
        paths = [path for path in paths if path in known]
    if len(paths) < fewest:
        what = " ".join(words) or str(out)
        raise ComparisonError(
            say(
                "a trend needs several runs, and {what} has {number}", what=what, number=len(paths)
            ),
            say("loadstone runs list shows them; give related runs the same --name"),
        )
    return [as_run(path.name, read_run(path, seconds=False)) for path in paths]


def _paths(words: Sequence[str], listed: Sequence[Listed], out: Path) -> list[Path]:
    from loadstone.runs import run_folder

    readable = [(each.folder, each.result) for each in listed if each.result]
    if not words:
        return [path for path, _ in readable]
    found: dict[Path, None] = {}
    for word in words:
        named = [path for path, result in readable if result.run.name == word]
        found |= dict.fromkeys(named or [run_folder.find(out, word)])
    return list(found)
