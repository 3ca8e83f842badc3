"""`loadstone calibrate`."""

from __future__ import annotations

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current, in_words
from loadstone.cli.options.types import DURATION, SIZE, former, json_option
from loadstone.model.message import say


@command(
    help=say(
        "Measure the maximum throughput of this machine's load generator, and store it.\n\n"
        "Tests six combinations (prepared or text statements; TCP, TLS or Unix socket) against a"
        " null server, which costs nothing. Each step of a run then shows what share of that"
        " maximum it used. Also checks the host for anything that would limit or disturb a load,"
        " and says what to change."
    )
)
@option(
    "--concurrency",
    "users",
    type=SIZE,
    own=True,
    default=64,
    show_default=True,
    help=say("Number of virtual users."),
)
@former("--users", "users", SIZE)
@option(
    "--duration",
    type=DURATION,
    own=True,
    default="3s",
    show_default=True,
    help=say("Time per combination."),
)
@json_option
@option("--show", is_flag=True, help=say("Show the stored calibration; measure nothing."))
def calibrate(users: int, duration: float, as_json: bool, show: bool) -> int:
    """Measure the generator's maximum on this machine."""
    from loadstone.cli.errors import announce
    from loadstone.cli.screen import show as show_parts
    from loadstone.lab.machine.calibrate import calibrate as measure
    from loadstone.lab.step.interrupts import Interrupts
    from loadstone.lab.tables.inspect import check_descriptors
    from loadstone.report.calibration import as_renderable
    from loadstone.runs import calibration

    if show:
        found = calibration.kept()
        if found is None:
            raise click.ClickException(
                say(
                    "{folder} has no calibration of this machine: run the command without --show",
                    folder=str(calibration.place()),
                )
            )
    else:
        # This process has both ends of each connection.
        check_descriptors(2 * users)
        with Interrupts() as interrupts:
            found = measure(users, duration, interrupts, lambda text: announce(text, quiet=as_json))
        path = calibration.keep(found)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    else:
        show_parts(as_renderable(found, current()))
        if not show:
            click.echo(in_words(say("saved  {path}", path=str(path))))
    return 0
