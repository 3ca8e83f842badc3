"""The options that ask for findings to be put to the proof: the same for `run` and `diagnose`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from loadstone.cli.values import DURATION

DEFAULT_S = 180.0

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--prove", is_flag=True, help="Try each finding: the load by turns with and without it."
    ),
    click.option(
        "--prove-time", type=DURATION, help="For all trials together, at the most. [default: 3m]"
    ),
    click.option(
        "--prove-only", multiple=True, metavar="CAUSE", help="Try these alone; more than once."
    ),
    click.option(
        "--yes",
        is_flag=True,
        help="With --prove: also set global variables of a server that is no sandbox, for a while.",
    ),
)


def proving_options(command: _Command) -> _Command:
    """Give a command all of them; it gets one `proving` in their place, `None` without --prove."""

    @wraps(command)
    def with_proving(
        *arguments: Any,
        prove: bool,
        prove_time: float | None,
        prove_only: tuple[str, ...],
        yes: bool,
        **options: Any,
    ) -> Any:
        asked = {"--yes": yes, "--prove-time": prove_time is not None, "--prove-only": prove_only}
        for option in (name for name, given in asked.items() if given and not prove):
            raise click.UsageError(f"{option} is for trials of findings: ask for them with --prove")
        proving = None
        if prove:
            from loadstone.model.proving import Proving

            proving = Proving(time_s=prove_time or DEFAULT_S, only=prove_only, yes=yes)
        return command(*arguments, proving=proving, **options)

    decorated: Any = with_proving
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
