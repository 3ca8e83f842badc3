"""`loadstone cluster`."""

from __future__ import annotations

import click

from loadstone.cli.values import WORD


@click.group()
def cluster() -> None:
    """The machines that drive one load together."""


@cluster.command()
@click.argument("address", type=WORD)
@click.option("--generators", type=click.IntRange(1, 10_000), help="[default: one a node]")
@click.option("--cpus-per-generator", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option(
    "--target", "peer", type=WORD, metavar="HOST", help="Name or address that the load would go to."
)
@click.option("--json", "as_json", is_flag=True, help="One document on stdout, nothing else.")
def check(
    address: str, generators: int | None, cpus_per_generator: int, peer: str | None, as_json: bool
) -> int:
    """What each node of the cluster at ADDRESS is, and the largest load that it can make.

    A generator is started on each node and asked: versions, processors, file descriptors, ports,
    the interface towards the target and its speed, and its ceiling where `loadstone calibrate`
    was run there. Nothing is driven.
    """
    from rich.console import Console

    from loadstone.cluster.cluster import facts_of
    from loadstone.cluster.generator import own_versions
    from loadstone.cluster.on_ray import Wanted
    from loadstone.cluster.on_ray import generators as started
    from loadstone.cluster.parts import refuse_other_versions
    from loadstone.model.cluster_nodes import ClusterCheck
    from loadstone.report.cluster import as_renderable

    with started(Wanted(address, generators, cpus_per_generator, peer)) as links:
        facts = facts_of(links)
    found = ClusterCheck(nodes=tuple(facts), cpus_per_generator=cpus_per_generator)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    else:
        Console(highlight=False).print(as_renderable(found))
    # Said last: what was found is of use all the same.
    refuse_other_versions(own_versions(), [(one.node, one.versions) for one in facts])
    return 0
