"""The options that say where the counters of servers and hosts come from."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.options.types import WORD

if TYPE_CHECKING:
    from loadstone.model.observe_request import Observing

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--observe/--no-observe",
        default=True,
        help="Read counters of server and hosts every second. [default: observe]",
    ),
    click.option(
        "--host-ssh",
        type=WORD,
        multiple=True,
        metavar="USER@HOST",
        help="SSH destination of the server's host; one per target.",
    ),
    click.option(
        "--node-exporter",
        type=WORD,
        multiple=True,
        metavar="URL",
        help="Address of a Prometheus exporter on the server's host.",
    ),
    click.option(
        "--mysqld-exporter",
        type=WORD,
        multiple=True,
        metavar="URL",
        help="Prometheus exporter to read instead of the server itself.",
    ),
)


def observing_options(command: _Command) -> _Command:
    """Give a command all of them; it gets one `observing` in their place."""

    @wraps(command)
    def with_observing(
        *arguments: Any,
        observe: bool,
        host_ssh: tuple[str, ...],
        node_exporter: tuple[str, ...],
        mysqld_exporter: tuple[str, ...],
        **options: Any,
    ) -> Any:
        given = (host_ssh, node_exporter, mysqld_exporter)
        if not observe and any(given):
            raise click.UsageError("--no-observe reads nothing: leave the sources out")
        return command(*arguments, observing=_observing(observe, given), **options)

    decorated: Any = with_observing
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _observing(on: bool, given: tuple[tuple[str, ...], ...]) -> Observing:
    from loadstone.model.observe_request import Observing

    host_ssh, node_exporter, mysqld_exporter = given
    return Observing(
        on=on, host_ssh=host_ssh, node_exporter=node_exporter, mysqld_exporter=mysqld_exporter
    )
