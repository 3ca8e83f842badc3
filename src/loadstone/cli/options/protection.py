"""The options that stop or pause a load before it does harm: the same for all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import WORD, Parsed, gathered
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.protection import Condition, Protection
    from loadstone.model.target import Target


class ConditionSpec(Parsed["Condition"]):
    """`threads_running>200`, `p99>200ms for 5s`."""

    name = "CONDITION"

    def __init__(self, *, holds: bool = False) -> None:
        """`holds`: the condition pauses a load instead of stopping it."""
        self._holds = holds

    def read(self, text: str) -> Condition:
        """The condition, or a usage error."""
        from loadstone.model.protection import condition, max_load

        return max_load(text) if self._holds else condition(text)


_option = options_in(Section.PROTECT)

_OPTIONS = (
    _option(
        "--abort-if",
        type=ConditionSpec(),
        multiple=True,
        help=say(
            "Stop the load cleanly, with exit code 12, as soon as this holds. Examples:"
            " threads_running>200 (threads of other clients), replica_lag>10s, disk_free<5%,"
            " errors>1%, p99>200ms for 5s. May be repeated."
        ),
    ),
    _option(
        "--max-load",
        type=ConditionSpec(holds=True),
        multiple=True,
        help=say(
            "Pause the load as long as this holds; those seconds are excluded from all figures."
            " May be repeated."
        ),
    ),
    _option(
        "--no-abort",
        is_flag=True,
        help=say("Turn off the default conditions that protect servers that are not sandboxes."),
    ),
    _option(
        "--replica",
        "replicas",
        type=WORD,
        multiple=True,
        metavar="URL",
        help=say(
            "Replica whose lag is watched, with the user and password of the target. May be"
            " repeated."
        ),
    ),
)


def _protection(
    abort_if: tuple[Condition, ...],
    max_load: tuple[Condition, ...],
    no_abort: bool,
    replicas: tuple[str, ...],
) -> Protection:
    from loadstone.model.protection import Protection

    return Protection(
        abort_if=abort_if,
        max_load=max_load,
        defaults=not no_abort,
        replicas=tuple(map(_replica, replicas)),
    )


protection_options = gathered("protection", _OPTIONS, _protection)
"""Add them all to a command, which gets one `protection` instead."""


def _replica(url: str) -> Target:
    """A URL that is recorded with the run.

    Raises:
        UsageError: it has a password.
        TargetUrlError: it is not a URL.
    """
    from loadstone.model.target_url import parse_target_url

    target, password = parse_target_url(url)
    if password is not None and password.get_secret_value():
        raise click.UsageError(
            say(
                "--replica: the URL is recorded with the run, so leave the password out; the"
                " target's password is used"
            )
        )
    return target
