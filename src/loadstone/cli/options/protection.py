"""The options that end a load, or hold it back, before it does harm; the same wherever one is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.options.types import WORD

if TYPE_CHECKING:
    from loadstone.model.protection import Condition
    from loadstone.model.target import Target

_Command = TypeVar("_Command", bound=Callable[..., Any])


class ConditionSpec(click.ParamType["Condition"]):
    """`threads_running>200`, `p99>200ms for 5s`."""

    name = "CONDITION"

    def __init__(self, *, holds: bool = False) -> None:
        """`holds`: of a load that is held back, not ended."""
        self._holds = holds

    def convert(self, value: Any, param: Any, ctx: Any) -> Condition:
        """The condition, or an error of usage."""
        from loadstone.model.protection import condition, max_load

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        return max_load(value) if self._holds else condition(value)


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


def protection_options(command: _Command) -> _Command:
    """Give a command all of them; it gets one `protection` in their place."""

    @wraps(command)
    def with_protection(
        *arguments: Any,
        abort_if: tuple[Condition, ...],
        max_load: tuple[Condition, ...],
        no_abort: bool,
        replicas: tuple[str, ...],
        **options: Any,
    ) -> Any:
        from loadstone.model.protection import Protection

        protection = Protection(
            abort_if=abort_if,
            max_load=max_load,
            defaults=not no_abort,
            replicas=tuple(map(_replica, replicas)),
        )
        return command(*arguments, protection=protection, **options)

    decorated: Any = with_protection
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


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
