"""`loadstone diagnose RUN`: why it is not faster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.run import out_option

if TYPE_CHECKING:
    from loadstone.model.finding import Diagnosis
    from loadstone.model.result import Result


@click.command()
@click.argument("run", default="last")
@click.option("--json", "as_json", is_flag=True, help="A JSON document on stdout, nothing else.")
@out_option
def diagnose(run: str, as_json: bool, out: Path) -> int:
    """Name what holds a run back, with the figures that show it, and what to do.

    The first line is the answer. Findings that make the figures doubtful come first, then what is
    used up, what is waited for, and what is set unwisely; docs/diagnosis.md has them all.
    """
    from loadstone.store import folder

    path = folder.find(out, run)
    found = findings_of(path, folder.load(path))
    if as_json:
        _as_json(found)
        return 0
    from loadstone.report.findings import as_text

    click.echo(as_text(found), nl=False)
    return 0


def findings_of(path: Path, result: Result) -> list[Diagnosis]:
    """The diagnosis of a run in its folder.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    from loadstone.diagnose.diagnose import Known
    from loadstone.diagnose.diagnose import diagnose as judge
    from loadstone.diagnose.frames import RunSeconds, environment_of
    from loadstone.lab.limits import limits_of

    return judge(result, Known(environment_of(path), RunSeconds(path), limits_of(path)))


def _as_json(found: list[Diagnosis]) -> None:
    import json

    ladders = [one.model_dump(mode="json") for one in found]
    click.echo(json.dumps({"version": 1, "ladders": ladders}, indent=2))
