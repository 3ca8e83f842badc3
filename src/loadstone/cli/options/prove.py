"""The options for proving findings: the same for `run` and `diagnose`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from loadstone.cli.help.command import option, options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import DURATION, trust_option, with_options
from loadstone.model.message import say

DEFAULT_S = 180.0

_Command = TypeVar("_Command", bound=Callable[..., Any])

_option = options_in(Section.PROVE)

_PROVE = (
    _option(
        "--prove",
        is_flag=True,
        help=say(
            "Prove each finding with an A/B test: alternate the load with and without its remedy."
        ),
    ),
    _option(
        "--prove-time",
        type=DURATION,
        help=say("Time limit for all trials together. [default: 3m]"),
    ),
    _option(
        "--prove-only",
        rare=True,
        multiple=True,
        metavar="CAUSE",
        help=say("Prove only the finding with this cause. May be repeated."),
    ),
)
_YES = _option(
    "--yes",
    is_flag=True,
    help=say(
        "With --prove: allow global variables to be changed temporarily on a server that is not a"
        " sandbox."
    ),
)
_YES_OF_A_RUN = option(
    "--yes",
    is_flag=True,
    section=Section.SERVER,
    help=say(
        "Allow writing to a schema that holds other tables (they are never touched). With --prove:"
        " also allow global variables to be changed temporarily on a server that is not a sandbox."
    ),
)


def proving_options(command: _Command) -> _Command:
    """Add them all to a command, which gets one `proving` instead: `None` without --prove."""

    @wraps(command)
    def with_proving(*arguments: Any, yes: bool, trusted: bool, **options: Any) -> Any:
        for name, given in (("--yes", yes), ("--trust-folder", trusted)):
            if given and not options["prove"]:
                raise _useless(name)
        return command(*arguments, **_with_proving(options, yes, trusted))

    return with_options(with_proving, (*_PROVE, _YES, trust_option))  # type: ignore[no-any-return]


def proving_options_of_a_run(command: _Command) -> _Command:
    """As `proving_options`, but `--yes` also works without `--prove`: the command gets `yes`."""

    @wraps(command)
    def with_proving(*arguments: Any, yes: bool, **options: Any) -> Any:
        return command(*arguments, yes=yes, **_with_proving(options, yes, trusted=True))

    return with_options(with_proving, (*_PROVE, _YES_OF_A_RUN))  # type: ignore[no-any-return]


def _with_proving(options: dict[str, Any], yes: bool, trusted: bool) -> dict[str, Any]:
    """The options, with one `proving` instead of those for proving."""
    prove, time_s, only = (options.pop(name) for name in ("prove", "prove_time", "prove_only"))
    if not prove:
        for name, given in (("--prove-time", time_s is not None), ("--prove-only", only)):
            if given:
                raise _useless(name)
        return options | {"proving": None}
    from loadstone.model.prove_request import Proving

    asked = Proving(time_s=time_s or DEFAULT_S, only=only, yes=yes, trusted=trusted)
    return options | {"proving": asked}


def _useless(name: str) -> click.UsageError:
    return click.UsageError(say("{option} needs --prove", option=name))
