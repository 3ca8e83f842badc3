"""The options that end a load, or hold it back, before it does harm; the same wherever one is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.options.types import WORD, Parsed, gathered

if TYPE_CHECKING:
    from loadstone.model.protection import Condition, Protection
    from loadstone.model.target import Target


class ConditionSpec(Parsed["Condition"]):
    """`threads_running>200`, `p99>200ms for 5s`."""

    name = "CONDITION"

    def __init__(self, *, holds: bool = False) -> None:
        """`holds`: of a load that is held back, not ended."""
        self._holds = holds

    def read(self, text: str) -> Condition:
        """The condition, or an error of usage."""
        from loadstone.model.protection import condition, max_load

        return max_load(text) if self._holds else condition(text)


_OPTIONS = (
    click.option(
        "--abort-if",
        type=ConditionSpec(),
        multiple=True,
        help="Stop cleanly with exit code 12 when this holds: threads_running>200 (of others),"
        " replica_lag>10s, disk_free<5%, errors>1%, p99>200ms for 5s.",
    ),
    click.option(
        "--max-load",
        type=ConditionSpec(holds=True),
        multiple=True,
        help="Pause the load while this holds; those seconds are excluded from all figures.",
    ),
    click.option(
        "--no-abort",
        is_flag=True,
        help="Turn off the default conditions for servers that are not sandboxes.",
    ),
    click.option(
        "--replica",
        "replicas",
        type=WORD,
        multiple=True,
        metavar="URL",
        help="Replica whose lag is watched, with the target's credentials.",
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
"""Give a command all of them; it gets one `protection` in their place."""


def _replica(url: str) -> Target:
    """A URL that stays in the run's folder.

    Raises:
        UsageError: it has a password.
        TargetUrlError: it is none.
    """
    from loadstone.model.target import parse_target_url

    target, password = parse_target_url(url)
    if password is not None and password.get_secret_value():
        raise click.UsageError(
            "--replica: the URL is kept with the run, so leave the password out: the target's is"
            " taken"
        )
    return target
