"""`loadstone runs ask`: what the live page can ask of a run that is under way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import in_words
from loadstone.cli.options.types import out_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.control import AnyWish


@command(
    help=say(
        "Ask a run that is under way for another number of active users or another rate, or to"
        " stop, as the live page does.\n\n"
        "The run applies it within a second and ends the step's window there; where it cannot, its"
        " notes say why. --stop is the same as the first Ctrl-C. RUN is a run folder, the start of"
        " its name, or last."
    ),
    examples=(
        (say("16 active users in the step that runs"), "loadstone runs ask last --users 16"),
        (say("stop it, and keep all results"), "loadstone runs ask last --stop"),
    ),
)
@click.argument("run")
@option(
    "--users",
    type=int,
    own=True,
    help=say("Active users; the others finish their event and rest."),
)
@option(
    "--rate",
    type=float,
    own=True,
    help=say("Events per second that are due, in a step with a rate."),
)
@option("--stop", is_flag=True, help=say("Finish the events in flight, and end the run."))
@out_option
def ask(run: str, users: int | None, rate: float | None, out: Path, *, stop: bool) -> None:
    """Ask something of a run that is under way."""
    if (users is not None) + (rate is not None) + stop != 1:
        raise click.UsageError(say("give one of --users, --rate and --stop"))
    from loadstone.runs import control_requests, run_folder
    from loadstone.runs.under_way import check_under_way

    path = run_folder.find(out, run)
    check_under_way(path)
    control_requests.ask(path, _wish(path, users, rate))
    said = say("Requested; the run applies it within a second, or when its next step starts.")
    click.echo(in_words(said), err=True)


def _wish(run: Path, users: int | None, rate: float | None) -> AnyWish:
    """What is asked of the run.

    Raises:
        StoreError: no step runs whose load could be changed.
        UsageError: the step has no rate, or fewer users.
    """
    from pydantic import ValidationError

    from loadstone.model.control import SetRate, SetUsers, StopRun
    from loadstone.model.refusals import first_refusal
    from loadstone.runs.under_way import step_under_way

    if users is None and rate is None:
        return StopRun()
    step = step_under_way(run)
    if rate is not None and step.rate is None:
        raise click.UsageError(
            say("step {step} has no rate: its users start as they can", step=step.number)
        )
    if users is not None and users > step.concurrency:
        raise click.UsageError(
            say(
                "step {step} has {users} users: a step cannot have more than it started with",
                step=step.number,
                users=step.concurrency,
            )
        )
    kind: type[SetUsers] | type[SetRate] = SetUsers if rate is None else SetRate
    asked = {"users": users} if rate is None else {"rate": rate}
    try:
        return kind.model_validate({"step": step.number, **asked})
    except ValidationError as error:
        raise click.UsageError(first_refusal(error)) from error
