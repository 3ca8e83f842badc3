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
        "--yes",
        is_flag=True,
        help="With --prove: also set global variables of a server that is no sandbox, for a while.",
    ),
)


def proving_options(command: _Command) -> _Command:
    """Give a command all of them; it gets one `proving` in their place, `None` without --prove."""

    @wraps(command)
    def with_proving(
        *arguments: Any, prove: bool, prove_time: float | None, yes: bool, **options: Any
    ) -> Any:
        if not prove and (prove_time is not None or yes):
            option = "--yes" if yes else "--prove-time"
            raise click.UsageError(f"{option} is for trials of findings: ask for them with --prove")
        proving = None
        if prove:
            from loadstone.model.proving import Proving

            proving = Proving(time_s=prove_time or DEFAULT_S, yes=yes)
        return command(*arguments, proving=proving, **options)

    decorated: Any = with_proving
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
