"""The options for the sources of the counters of servers and hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import WORD, gathered
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.observe_request import Observing

_option = options_in(Section.OBSERVE)

_OPTIONS = (
    _option(
        "--observe/--no-observe",
        default=True,
        help=say("Read the counters of servers and hosts every second. [default: observe]"),
    ),
    _option(
        "--host-ssh",
        type=WORD,
        multiple=True,
        metavar="USER@HOST",
        help=say(
            "Read the counters of the server's host over SSH. Give one per target, in the same"
            " order."
        ),
    ),
    _option(
        "--node-exporter",
        type=WORD,
        multiple=True,
        metavar="URL",
        help=say(
            "Read the counters of the server's host from this Prometheus exporter. Give one per"
            " target, in the same order."
        ),
    ),
    _option(
        "--mysqld-exporter",
        type=WORD,
        multiple=True,
        metavar="URL",
        help=say(
            "Read the server's counters from this Prometheus exporter instead of the server. Give"
            " one per target, in the same order."
        ),
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
        raise click.UsageError(
            say(
                "--no-observe reads no counters: leave --host-ssh, --node-exporter and"
                " --mysqld-exporter out"
            )
        )
    return Observing(
        on=observe, host_ssh=host_ssh, node_exporter=node_exporter, server_exporter=mysqld_exporter
    )


observing_options = gathered("observing", _OPTIONS, _observing)
"""Add them all to a command, which gets one `observing` instead."""
