"""The options that ask for findings to be put to the proof: the same for `run` and `diagnose`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from loadstone.cli.options.types import DURATION, trust_option, with_options

DEFAULT_S = 180.0

_Command = TypeVar("_Command", bound=Callable[..., Any])

_PROVE = (
    click.option(
        "--prove",
        is_flag=True,
        help="A/B-test each finding: alternate the load with and without the fix.",
    ),
    click.option(
        "--prove-time", type=DURATION, help="Time limit for all trials together. [default: 3m]"
    ),
    click.option(
        "--prove-only",
        multiple=True,
        metavar="CAUSE",
        help="Try only this finding; may be repeated.",
    ),
)
_YES = click.option(
    "--yes",
    is_flag=True,
    help="With --prove: allow changing global variables for a while on a server that is not a"
    " sandbox.",
)
_YES_OF_A_RUN = click.option(
    "--yes",
    is_flag=True,
    help="Allow writing to a schema that holds other tables (they are never touched); with --prove:"
    " allow changing global variables for a while on a server that is not a sandbox.",
)


def proving_options(command: _Command) -> _Command:
    """Give a command all of them; it gets one `proving` in their place, `None` without --prove."""

    @wraps(command)
    def with_proving(*arguments: Any, yes: bool, trusted: bool, **options: Any) -> Any:
        for option, given in (("--yes", yes), ("--trust-folder", trusted)):
            if given and not options["prove"]:
                raise _useless(option)
        return command(*arguments, **_with_proving(options, yes, trusted))

    return with_options(with_proving, (*_PROVE, _YES, trust_option))  # type: ignore[no-any-return]


def proving_options_of_a_run(command: _Command) -> _Command:
    """The same, but that `--yes` says something without `--prove`, too: the command gets `yes`."""

    @wraps(command)
    def with_proving(*arguments: Any, yes: bool, **options: Any) -> Any:
        return command(*arguments, yes=yes, **_with_proving(options, yes, trusted=True))

    return with_options(with_proving, (*_PROVE, _YES_OF_A_RUN))  # type: ignore[no-any-return]


def _with_proving(options: dict[str, Any], yes: bool, trusted: bool) -> dict[str, Any]:
    """The options with what was asked of the proof in the place of its own."""
    prove, time_s, only = (options.pop(name) for name in ("prove", "prove_time", "prove_only"))
    if not prove:
        for option, given in (("--prove-time", time_s is not None), ("--prove-only", only)):
            if given:
                raise _useless(option)
        return options | {"proving": None}
    from loadstone.model.prove_request import Proving

    asked = Proving(time_s=time_s or DEFAULT_S, only=only, yes=yes, trusted=trusted)
    return options | {"proving": asked}


def _useless(option: str) -> click.UsageError:
    return click.UsageError(f"{option} is for trials of findings: ask for them with --prove")
