"""`loadstone recipes list|show|run`: ready-made experiments for common questions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.commands.experiment import dry_run_option, show_plan, tell_changes, yes_option
from loadstone.cli.help.command import group, option
from loadstone.cli.language import current
from loadstone.cli.options.cluster import cluster_options
from loadstone.cli.options.live import Beside, beside_options
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.types import out_option, result_json_option, strict_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.cluster import ClusterAsked
    from loadstone.model.experiment import Experiment
    from loadstone.model.observe_request import Observing
    from loadstone.model.protection import Protection
    from loadstone.recipes.recipe import Recipe

_quick = option(
    "--quick",
    is_flag=True,
    help=say("Small version: two cores, 100,000 rows, about five minutes."),
)
_set = option(
    "--set",
    "given",
    multiple=True,
    own=True,
    metavar="KEY=VALUE",
    help=say("Set a parameter of the recipe; `show` lists them. May be repeated."),
)
_target = option(
    "--target",
    own=True,
    metavar="URL",
    help=say(
        "Ask the recipe's question of this server instead of a throwaway one: the same as"
        " `--set target=URL`. It says first what it changes there."
    ),
)


@group(
    help=say("Run ready-made experiments, each of which answers a common question."),
    examples=(
        (say("what is there?"), "loadstone recipes list"),
        (say("a small version of one"), "loadstone recipes run group-commit --quick"),
        (say("about a server of yours"), "loadstone recipes run tls --target mysql://me@db1/test"),
    ),
)
def recipes() -> None:
    """Ready-made experiments."""


@recipes.command(
    name="list",
    help=say("List the recipes: the question that each answers, and how long it takes."),
)
def list_recipes() -> None:
    """List the recipes."""
    from loadstone.cli.screen import show as show_parts
    from loadstone.recipes.listed import listed

    show_parts(listed(current()))


@recipes.command(
    help=say("Show the question, plan, parameters and experiment file of the recipe NAME.")
)
@click.argument("name")
@_quick
@_set
@_target
def show(name: str, quick: bool, given: tuple[str, ...], target: str | None) -> None:
    """Show a recipe."""
    from loadstone.cli.screen import show as show_parts
    from loadstone.recipes.described import described
    from loadstone.recipes.filling import fill_to_look_at
    from loadstone.recipes.places import with_target
    from loadstone.recipes.recipe import recipe

    found = fill_to_look_at(recipe(name), with_target(recipe(name), given, target), quick=quick)
    show_parts(described(found, current()))
    click.echo(found.text, nl=False)  # unchanged, so that it can be copied


@recipes.command(
    help=say(
        "Run the recipe NAME, and report whether the results of its field study show here too.\n\n"
        "At full size it takes hours, as the study did: look at the plan with --dry-run first, or"
        " use --quick."
    )
)
@click.argument("name")
@_quick
@_set
@_target
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
    target: str | None,
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
    """Run a recipe."""
    from loadstone.cli.ending import end
    from loadstone.cli.errors import announce
    from loadstone.cli.terminal import Terminal
    from loadstone.model.recipe import RecipeAsked
    from loadstone.recipes.filling import fill
    from loadstone.recipes.huge_pages import check_huge_pages
    from loadstone.recipes.places import check_targets, with_target
    from loadstone.recipes.recipe import recipe
    from loadstone.runner.experiment import ExperimentRequest, begin, checked_text, on_cluster

    given = with_target(recipe(name), given, target)
    wanted = RecipeAsked(name=name, quick=quick, given=given, as_root=os.geteuid() == 0)
    found = fill(recipe(name), given, quick=quick, is_root=wanted.as_root)
    file = checked_text(found.text, found.name)
    if found.note:
        announce(say("note: {note}", note=found.note), quiet=as_json)
    check_targets(found.recipe, file.experiment)
    if not dry_run:
        check_huge_pages(file.experiment, _meminfo())
    _say_where(found.recipe, file.experiment, quiet=as_json)
    if dry_run:
        show_plan(on_cluster(file.experiment, cluster))
        return 0
    listed = tell_changes(file.experiment, quiet=as_json)
    request = ExperimentRequest(
        out=out,
        observing=observing,
        recipe=wanted,
        yes=yes,
        cluster=cluster,
        protection=protection,
    )
    with beside(out) as audience:
        finished = begin(file, request, Terminal(quiet=as_json, audience=audience, listed=listed))
        return end(finished, as_json=as_json, strict=strict)


def _meminfo() -> str:
    """What the kernel says of this machine's memory; empty where it says nothing."""
    path = Path("/proc/meminfo")
    return path.read_text("ascii") if path.exists() else ""


def _say_where(asked: Recipe, experiment: Experiment, *, quiet: bool) -> None:
    """Say which throwaway servers it runs on, if any, and how to ask it of others."""
    from loadstone.cli.errors import announce
    from loadstone.recipes.places import said_of_throwaways
    from loadstone.runner.experiment import throwaways_of

    if servers := throwaways_of(experiment):
        announce(said_of_throwaways(asked, servers), quiet=quiet)
