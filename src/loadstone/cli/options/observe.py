"""The options that say where the counters of servers and hosts come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.options.types import WORD, gathered

if TYPE_CHECKING:
    from loadstone.model.observe_request import Observing

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


def _observing(
    observe: bool,
    host_ssh: tuple[str, ...],
    node_exporter: tuple[str, ...],
    mysqld_exporter: tuple[str, ...],
) -> Observing:
    from loadstone.model.observe_request import Observing

    if not observe and (host_ssh or node_exporter or mysqld_exporter):
        raise click.UsageError("--no-observe reads nothing: leave the sources out")
    return Observing(
        on=observe, host_ssh=host_ssh, node_exporter=node_exporter, server_exporter=mysqld_exporter
    )


observing_options = gathered("observing", _OPTIONS, _observing)
"""Give a command all of them; it gets one `observing` in their place."""
