"""`loadstone ceilings RUN`: what each resource would allow, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current
from loadstone.cli.options.types import Parsed, json_option, out_option, output_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.ceilings import StepCeilings
    from loadstone.model.limits import Given


class LimitsGiven(Parsed["Given"]):
    """`--if line=100M`: a limit that replaces the one that was found."""

    name = "NAME=VALUE"

    def read(self, text: str) -> Given:
        """The limit's field and its value."""
        from loadstone.model.limits import assumed

        return assumed(text)


@command(
    help=say(
        "Show the throughput that each resource would allow, step by step.\n\n"
        "Each ceiling is computed from what an event of that step cost; the lowest one limits the"
        " step. RUN is a run folder, the start of its name, or last.\n\n"
        "--if replaces a limit, to see what other hardware would allow, and predicts each step's"
        " rate with it."
    ),
    examples=(
        (say("the last run"), "loadstone ceilings"),
        (
            say("with one core and a network of 100 Mbit/s"),
            "loadstone ceilings last --if cores=1 --if line=100M",
        ),
    ),
)
@click.argument("run", default="last")
@option(
    "--if",
    "given",
    type=LimitsGiven(),
    multiple=True,
    help=say(
        "Assume this limit: cores (number), syncs (log syncs per second), write-iops and"
        " read-iops (per second), write-bandwidth (bytes per second), line (network bits per"
        " second), answer-time (extra milliseconds per statement), and the names of --limit. May be"
        " repeated."
    ),
)
@json_option
@output_option(say("Write an HTML page with a chart, in a single file."))
@out_option
def ceilings(
    run: str,
    given: tuple[Given, ...],
    as_json: bool,
    output: Path | None,
    out: Path,
) -> int:
    """Show the ceilings of a run."""
    if as_json and output:
        raise click.UsageError(say("--json and --output exclude each other"))
    from loadstone.analyse.closed_loops import under_limits
    from loadstone.lab.machine.generator_ceilings import limits_of
    from loadstone.model.limits import limits_from
    from loadstone.runs import run_folder

    path = run_folder.find(out, run)
    result = run_folder.load(path)
    found = under_limits(result.steps, limits_of(path), limits_from(given))
    if as_json:
        _as_json(found)
        return 0
    from loadstone.cli.screen import show
    from loadstone.report.ceilings import as_page, as_renderable

    if output:
        from loadstone.runs import atomic

        atomic.write_bytes(output, as_page(result, found, current()).encode(), atomic.SHARED)
    show(as_renderable(result, found, current()))
    return 0


def _as_json(found: list[StepCeilings]) -> None:
    import json

    steps = [step.model_dump(mode="json") for step in found]
    click.echo(json.dumps({"version": 1, "steps": steps}, indent=2))
