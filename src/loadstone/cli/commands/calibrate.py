"""`loadstone calibrate`."""

from __future__ import annotations

import click

from loadstone.cli.options.types import DURATION, SIZE


@click.command()
@click.option("--users", type=SIZE, default=64, show_default=True, help="Number of virtual users.")
@click.option(
    "--duration",
    type=DURATION,
    default="3s",
    show_default=True,
    help="Time per combination of protocol and transport.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the calibration as JSON only.")
@click.option("--show", is_flag=True, help="Show the stored calibration; measure nothing.")
def calibrate(users: int, duration: float, as_json: bool, show: bool) -> int:
    """Measure the most that this machine's load generator can do, and store it.

    Six ways (prepared or text statements; TCP, TLS or unix socket) against a server that costs
    nothing. Each step of a run then says what part of that it used. The host is checked as well:
    what would limit or disturb a load, and what to change.
    """
    from rich.console import Console

    from loadstone.cli.errors import announce
    from loadstone.lab.machine.calibrate import calibrate as measure
    from loadstone.lab.step.interrupts import Interrupts
    from loadstone.lab.tables.inspect import check_descriptors
    from loadstone.report.calibration import as_renderable
    from loadstone.runs import calibration

    if show:
        found = calibration.kept()
        if found is None:
            raise click.ClickException(
                f"nothing is kept for this machine in {calibration.place()}: run it without --show"
            )
    else:
        # Both ends of each connection are this process's.
        check_descriptors(2 * users)
        with Interrupts() as interrupts:
            found = measure(users, duration, interrupts, lambda text: announce(text, quiet=as_json))
        path = calibration.keep(found)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    else:
        Console(highlight=False).print(as_renderable(found))
        if not show:
            click.echo(f"kept  {path}")
    return 0
