"""The options for the sources of the counters of servers and hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import WORD, Parsed, gathered
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.limits import Given
    from loadstone.model.observe_request import Observing


class LimitSpec(Parsed["Given"]):
    """`disk_write_iops=3000`."""

    name = "NAME=VALUE"

    def read(self, text: str) -> Given:
        """The limit's field and its value."""
        from loadstone.model.limits import by_hand

        return by_hand(text)


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
        "--prometheus",
        type=WORD,
        multiple=True,
        metavar="URL",
        help=say(
            "Read the counters of the server's host from this Prometheus server, which scrapes its"
            " node exporter; the query has the host's labels:"
            " http://prometheus:9090?instance=db1:9100. Give one per target, in the same order."
        ),
    ),
    _option(
        "--mysqld-exporter",
        type=WORD,
        multiple=True,
        metavar="URL",
        help=say(
            "Read the server's counters from this Prometheus exporter instead of the server, or"
            " from a Prometheus server that scrapes it: http://prometheus:9090?instance=db1:9104."
            " Give one per target, in the same order."
        ),
    ),
    _option(
        "--limit",
        "limits",
        type=LimitSpec(),
        multiple=True,
        help=say(
            "State a limit of the server's host that nothing on it shows: cores, log_syncs,"
            " disk_write_iops, disk_read_iops, disk_iops (both together; all per second),"
            " disk_write_bytes (per second), net_mbit. Ceilings and findings use it. May be"
            " repeated."
        ),
    ),
)


def _observing(
    observe: bool,
    host_ssh: tuple[str, ...],
    node_exporter: tuple[str, ...],
    prometheus: tuple[str, ...],
    mysqld_exporter: tuple[str, ...],
    limits: tuple[Given, ...],
) -> Observing:
    from loadstone.model.limits import stated
    from loadstone.model.observe_request import Observing

    if not observe and (host_ssh or node_exporter or prometheus or mysqld_exporter):
        raise click.UsageError(
            say(
                "--no-observe reads no counters: leave --host-ssh, --node-exporter, --prometheus"
                " and --mysqld-exporter out"
            )
        )
    return Observing(
        on=observe,
        host_ssh=host_ssh,
        node_exporter=node_exporter,
        prometheus=prometheus,
        server_exporter=mysqld_exporter,
        limits=stated(limits),
    )


observing_options = gathered("observing", _OPTIONS, _observing)
"""Add them all to a command, which gets one `observing` instead."""
