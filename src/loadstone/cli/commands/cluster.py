"""`loadstone cluster`."""

from __future__ import annotations

import click

from loadstone.cli.help.command import group, option
from loadstone.cli.language import current
from loadstone.cli.options.types import WORD, json_option
from loadstone.model.message import Message, say


@group(help=say("Check the machines that drive one load together."))
def cluster() -> None:
    """The machines that drive one load together."""


@cluster.command(
    help=say(
        "Describe each node of the Ray cluster at ADDRESS, and the largest load that it can"
        " drive.\n\n"
        "Starts a generator on each node and reports its versions, processors, file descriptors,"
        " ports, the network path to the target and its speed. Then measures each node's maximum"
        " throughput for three seconds against a null server on that node; this sends nothing over"
        " the network."
    )
)
@click.argument("address", type=WORD)
@option(
    "--generators",
    type=click.IntRange(1, 10_000),
    help=say("Number of load generators. [default: one per node]"),
)
@option(
    "--cpus-per-generator",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help=say("CPUs that each generator uses."),
)
@option(
    "--target",
    "peer",
    type=WORD,
    own=True,
    metavar="HOST",
    help=say("Host name or address of the database server, to check the path to it."),
)
@option(
    "--calibrate/--no-calibrate",
    default=True,
    help=say(
        "Measure each node's maximum now, or use what `loadstone calibrate` stored there."
        " [default: measure]"
    ),
)
@json_option
def check(
    address: str,
    generators: int | None,
    cpus_per_generator: int,
    peer: str | None,
    calibrate: bool,
    as_json: bool,
) -> int:
    """Describe each node and its largest load."""
    from loadstone.cli.errors import announce
    from loadstone.cli.screen import show
    from loadstone.cluster.cluster import calibrated, check_versions, facts_of
    from loadstone.cluster.on_ray import GeneratorRequest
    from loadstone.cluster.on_ray import generators as started
    from loadstone.model.cluster_nodes import ClusterCheck
    from loadstone.report.cluster import as_renderable

    def told(line: Message | str) -> None:
        announce(line, quiet=as_json)

    with started(GeneratorRequest(address, generators, cpus_per_generator, peer)) as links:
        check_versions(links)
        facts = facts_of(links)
        if calibrate:
            told(say("measuring the maximum throughput of each node's generator"))
            facts = calibrated(links, facts, told)
    found = ClusterCheck(nodes=tuple(facts), cpus_per_generator=cpus_per_generator)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    else:
        show(as_renderable(found, current()))
    return 0
