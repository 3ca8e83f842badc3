"""`loadstone ceilings RUN`: what each resource would allow, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.options.types import Parsed, json_option, out_option
from loadstone.model import quantity

if TYPE_CHECKING:
    from loadstone.model.ceilings import Limits, StepCeilings

_LIMITS = {
    "cores": "cores that the server may use, as 0.5",
    "syncs": "syncs a second of the log's device",
    "write-iops": "writes a second of the data's disk",
    "read-iops": "reads a second of it",
    "write-bandwidth": "bytes a second, as 50M",
    "line": "bits a second of the network each way, as 100M",
    "answer-time": "milliseconds more for each statement",
}


class LimitsGiven(Parsed[tuple[str, float]]):
    """`--if line=100M`: a limit in place of what was found."""

    name = "NAME=VALUE"

    def read(self, text: str) -> tuple[str, float]:
        """The name and the value in base units."""
        name, equals, value = text.partition("=")
        if name not in _LIMITS or not equals:
            raise ValueError(f"'{text}': write one of {', '.join(_LIMITS)} and =VALUE")
        number = quantity.scaled(value, quantity.COUNTS)
        if number is None:
            raise ValueError(f"'{value}' is no number (1000, 1k, 1.5M, 2G)")
        if not 0 < number < 1e18:
            raise ValueError(f"'{value}' is not above nought and below 10^18")
        return name, number


@click.command()
@click.argument("run", default="last")
@click.option(
    "--if",
    "given",
    type=LimitsGiven(),
    multiple=True,
    help=f"A limit to reckon with: {', '.join(_LIMITS)}.",
)
@json_option
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a self-contained HTML page with the chart.",
)
@out_option
def ceilings(
    run: str,
    given: tuple[tuple[str, float], ...],
    as_json: bool,
    output: Path | None,
    out: Path,
) -> int:
    """Show the events per second that each resource would allow, at each step's own cost per event.

    The lowest holds the step back. `--if` answers what a limit that is not there would do:
    `loadstone ceilings last --if cores=1 --if line=100M`.
    """
    if as_json and output:
        raise click.UsageError("--json and --output are two answers: ask for one")
    from loadstone.analyse.ceilings import ceilings as reckon
    from loadstone.lab.machine.generator_ceilings import limits_of
    from loadstone.runs import run_folder

    path = run_folder.find(out, run)
    result = run_folder.load(path)
    found = reckon(result.steps, limits_of(path).but(_limits(given)))
    if as_json:
        _as_json(found)
        return 0
    from loadstone.report.ceilings import as_page, as_text

    if output:
        from loadstone.runs import atomic

        atomic.write_bytes(output, as_page(result, found).encode(), atomic.SHARED)
    click.echo(as_text(result, found), nl=False)
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
