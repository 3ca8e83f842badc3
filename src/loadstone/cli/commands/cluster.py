"""`loadstone cluster`."""

from __future__ import annotations

import click

from loadstone.cli.options.types import WORD, json_option


@click.group()
def cluster() -> None:
    """The machines that drive one load together."""


@cluster.command()
@click.argument("address", type=WORD)
@click.option(
    "--generators", type=click.IntRange(1, 10_000), help="Load generators. [default: one per node]"
)
@click.option("--cpus-per-generator", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option(
    "--target", "peer", type=WORD, metavar="HOST", help="Host name or address of the target."
)
@click.option(
    "--calibrate/--no-calibrate",
    default=True,
    help="Measure each node's ceiling now, or use what `loadstone calibrate` stored there.",
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
    """Describe each node of the cluster at ADDRESS, and the largest load that it can drive.

    A generator is started on each node and asked: versions, processors, file descriptors, ports,
    the way to the target and its speed. Then each measures its ceiling for three seconds, against
    a server of its own: nothing is driven over the network.
    """
    from rich.console import Console

    from loadstone.cli.errors import announce
    from loadstone.cluster.cluster import calibrated, check_versions, facts_of
    from loadstone.cluster.on_ray import GeneratorRequest
    from loadstone.cluster.on_ray import generators as started
    from loadstone.model.cluster_nodes import ClusterCheck
    from loadstone.report.cluster import as_renderable

    def told(line: str) -> None:
        announce(line, quiet=as_json)

    with started(GeneratorRequest(address, generators, cpus_per_generator, peer)) as links:
        check_versions(links)
        facts = facts_of(links)
        if calibrate:
            told("measuring what each node's generator can do at most")
            facts = calibrated(links, facts, told)
    found = ClusterCheck(nodes=tuple(facts), cpus_per_generator=cpus_per_generator)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    else:
        Console(highlight=False).print(as_renderable(found))
    return 0
