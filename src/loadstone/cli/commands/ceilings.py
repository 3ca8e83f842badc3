"""`loadstone ceilings RUN`: what each resource would allow, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current
from loadstone.cli.options.types import Parsed, json_option, out_option, output_option
from loadstone.model import quantity
from loadstone.model.message import Joined, say

if TYPE_CHECKING:
    from loadstone.model.ceilings import Limits, StepCeilings

_LIMITS = (
    "cores",
    "syncs",
    "write-iops",
    "read-iops",
    "write-bandwidth",
    "line",
    "answer-time",
)


class LimitsGiven(Parsed[tuple[str, float]]):
    """`--if line=100M`: a limit that replaces the one that was found."""

    name = "NAME=VALUE"

    def read(self, text: str) -> tuple[str, float]:
        """The name and the value in base units."""
        name, equals, value = text.partition("=")
        if name not in _LIMITS or not equals:
            known = Joined(_LIMITS)
            raise ValueError(
                say(
                    "'{text}': write NAME=VALUE, where NAME is one of {known}",
                    text=text,
                    known=known,
                )
            )
        number = quantity.scaled(value, quantity.COUNTS)
        if number is None:
            raise ValueError(
                say("'{text}' is not a number: write 1000, 1k, 1.5M or 2G", text=value)
            )
        if not 0 < number < 1e18:
            raise ValueError(say("'{text}' must be above 0 and below 10^18", text=value))
        return name, number


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
        " second), answer-time (extra milliseconds per statement). May be repeated."
    ),
)
@json_option
@output_option(say("Write an HTML page with a chart, in a single file."))
@out_option
def ceilings(
    run: str,
    given: tuple[tuple[str, float], ...],
    as_json: bool,
    output: Path | None,
    out: Path,
) -> int:
    """Show the ceilings of a run."""
    if as_json and output:
        raise click.UsageError(say("--json and --output exclude each other"))
    from loadstone.analyse.closed_loops import under_limits
    from loadstone.lab.machine.generator_ceilings import limits_of
    from loadstone.runs import run_folder

    path = run_folder.find(out, run)
    result = run_folder.load(path)
    found = under_limits(result.steps, limits_of(path), _limits(given))
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


def _limits(given: tuple[tuple[str, float], ...]) -> Limits:
    from loadstone.model.ceilings import Limits

    value = dict(given)
    line, answer = value.get("line"), value.get("answer-time")
    return Limits(
        cores=value.get("cores"),
        syncs_per_s=value.get("syncs"),
        disk_write_iops=value.get("write-iops"),
        disk_read_iops=value.get("read-iops"),
        disk_write_bytes_per_s=value.get("write-bandwidth"),
        line_bytes_per_s=line / 8 if line else None,
        answer_s=answer / 1000 if answer else None,
    )


def _as_json(found: list[StepCeilings]) -> None:
    import json

    steps = [step.model_dump(mode="json") for step in found]
    click.echo(json.dumps({"version": 1, "steps": steps}, indent=2))
