"""`loadstone recipes list|show|run`: ready experiments for the questions of the field."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.commands.experiment import dry_run_option, show_plan, yes_option
from loadstone.cli.options.cluster import cluster_options
from loadstone.cli.options.live import Beside, beside_options
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.types import out_option, result_json_option, strict_option

if TYPE_CHECKING:
    from loadstone.model.cluster import ClusterAsked
    from loadstone.model.observe_request import Observing
    from loadstone.model.protection import Protection

_quick = click.option(
    "--quick", is_flag=True, help="Small version: two cores, 100,000 rows, five minutes."
)
_set = click.option(
    "--set", "given", multiple=True, metavar="KEY=VALUE", help="Set a parameter; `show` lists them."
)


@click.group()
def recipes() -> None:
    """Ready-made experiments, each with the question that it answers."""


@recipes.command(name="list")
def list_recipes() -> None:
    """List the recipes, and the question of each."""
    from loadstone.recipes.recipe import NAMES, recipe

    width = max(map(len, NAMES))
    for each in map(recipe, NAMES):
        root = " (root, or targets)" if each.needs_root else ""
        click.echo(f"{each.name:<{width}}  {each.title}{root}")


@recipes.command()
@click.argument("name")
@_quick
@_set
def show(name: str, quick: bool, given: tuple[str, ...]) -> None:
    """Show the question, plan, parameters and experiment file of NAME."""
    from loadstone.recipes.described import described
    from loadstone.recipes.filling import fill_to_look_at
    from loadstone.recipes.recipe import recipe
    from loadstone.report.text import as_plain

    found = fill_to_look_at(recipe(name), given, quick=quick)
    click.echo(as_plain(described(found)), nl=False)
    click.echo(found.text, nl=False)  # as it stands: it is there to be copied


@recipes.command()
@click.argument("name")
@_quick
@_set
@dry_run_option
@cluster_options
@observing_options
@protection_options
@beside_options
@strict_option
@yes_option
@result_json_option
@out_option
def run(
    name: str,
    quick: bool,
    given: tuple[str, ...],
    dry_run: bool,
    observing: Observing,
    protection: Protection,
    beside: Beside,
    strict: bool,
    yes: bool,
    as_json: bool,
    out: Path,
    cluster: ClusterAsked | None,
) -> int:
    """Run the recipe NAME, and say whether its field study's results show here too.

    At full size it takes hours, as the study did: look with --dry-run first.
    """
    from loadstone.cli.ending import end
    from loadstone.cli.errors import announce
    from loadstone.cli.terminal import Terminal
    from loadstone.model.recipe import RecipeAsked
    from loadstone.recipes.filling import fill
    from loadstone.recipes.recipe import recipe
    from loadstone.runner.experiment import ExperimentRequest, begin, checked_text, on_cluster

    wanted = RecipeAsked(name=name, quick=quick, given=given, as_root=os.geteuid() == 0)
    found = fill(recipe(name), given, quick=quick, is_root=wanted.as_root)
    file = checked_text(found.text, found.name)
    if found.note:
        announce(f"note: {found.note}", quiet=as_json)
    if dry_run:
        show_plan(on_cluster(file.experiment, cluster))
        return 0
    request = ExperimentRequest(
        out=out,
        observing=observing,
        recipe=wanted,
        yes=yes,
        cluster=cluster,
        protection=protection,
    )
    with beside(out) as begun:
        finished = begin(file, request, Terminal(quiet=as_json, begun=begun))
        return end(finished, as_json=as_json, strict=strict)
