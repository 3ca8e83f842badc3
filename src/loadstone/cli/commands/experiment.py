"""`loadstone experiment FILE` and `loadstone resume RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current
from loadstone.cli.options.cluster import cluster_options
from loadstone.cli.options.gates import Gates, gate_options
from loadstone.cli.options.live import Beside, beside_options
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.types import out_option, result_json_option, strict_option, trust_option
from loadstone.model.message import Joined, Message, say

if TYPE_CHECKING:
    from loadstone.model.cluster import ClusterAsked
    from loadstone.model.experiment import Experiment
    from loadstone.model.observe_request import Observing
    from loadstone.model.protection import Protection

yes_option = option(
    "--yes",
    is_flag=True,
    help=say(
        "Allow tables to be created on another machine or in a schema that holds other tables, and"
        " global variables to be changed temporarily on a server that is not a sandbox."
    ),
)
dry_run_option = option(
    "--dry-run",
    is_flag=True,
    help=say("Show the steps and how long they take; start nothing."),
)


@command(
    help=say(
        "Run the experiment in FILE and report which differences between its variants are real.\n\n"
        "docs/experiments.md describes the file's format."
    ),
    examples=(
        (say("look first: steps and time"), "loadstone experiment flush.toml --dry-run"),
        (say("run it"), "loadstone experiment flush.toml"),
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@dry_run_option
@cluster_options
@observing_options
@protection_options
@gate_options
@beside_options
@strict_option
@yes_option
@result_json_option
@out_option
def experiment(
    file: Path,
    dry_run: bool,
    observing: Observing,
    protection: Protection,
    gates: Gates,
    beside: Beside,
    strict: bool,
    yes: bool,
    as_json: bool,
    out: Path,
    cluster: ClusterAsked | None,
) -> int:
    """Run an experiment."""
    from loadstone.cli.ending import end
    from loadstone.cli.terminal import Terminal
    from loadstone.runner.experiment import ExperimentRequest, begin, checked, on_cluster

    found = checked(file)
    if dry_run:
        show_plan(on_cluster(found.experiment, cluster))
        return 0
    request = ExperimentRequest(
        out=out, observing=observing, yes=yes, cluster=cluster, protection=protection
    )
    with beside(out) as audience:
        finished = begin(found, request, Terminal(quiet=as_json, audience=audience))
        return end(finished, as_json=as_json, strict=strict, gates=gates)


def show_plan(planned: Experiment) -> None:
    """Print the steps, their time, and what is changed on targets."""
    from loadstone.cli.errors import announce
    from loadstone.cli.screen import show, show_lines
    from loadstone.experiments.schedule import plan_time, schedule
    from loadstone.report.experiment import plan_of
    from loadstone.runner.experiment import changes_of

    steps = schedule(planned)
    show(plan_of(planned, steps, plan_time(planned, steps), current()))
    show_lines(_set_by_sessions(planned))
    changes, unasked = changes_of(planned)
    if unasked:
        announce(say("note: existing tables could not be listed: {why}", why=unasked))
    for each in changes:
        show_lines(each.lines())


def _set_by_sessions(planned: Experiment) -> list[Message]:
    """A line for each level whose sessions set variables for themselves."""
    return [
        say(
            "{factor}={level}: each connection of the load sets {variables} for itself",
            factor=factor.name,
            level=level.name,
            variables=Joined(f"{name} = {value}" for name, value in level.per_session.items()),
        )
        for factor in planned.factors
        for level in factor.levels
        if level.per_session
    ]


def tell_changes(planned: Experiment, *, quiet: bool) -> frozenset[str]:
    """Say what is changed on targets before anything is; returns the lines."""
    from loadstone.cli.errors import announce
    from loadstone.runner.experiment import changes_of

    changes, unasked = changes_of(planned)
    if unasked:
        announce(say("note: existing tables could not be listed: {why}", why=unasked), quiet=quiet)
    lines = [line for each in changes for line in each.lines()]
    for line in lines:
        announce(line)  # even if stdout is for a document
    return frozenset(map(str, lines))


@command(
    help=say(
        "Resume an experiment that was stopped or killed, at the step where it stopped.\n\n"
        "RUN is a run folder, the start of its name, or last."
    )
)
@click.argument("run", default="last")
@cluster_options
@observing_options
@protection_options
@gate_options
@beside_options
@strict_option
@yes_option
@trust_option
@result_json_option
@out_option
def resume(
    run: str,
    observing: Observing,
    protection: Protection,
    gates: Gates,
    beside: Beside,
    strict: bool,
    yes: bool,
    trusted: bool,
    as_json: bool,
    out: Path,
    cluster: ClusterAsked | None,
) -> int:
    """Resume an experiment."""
    from loadstone.cli.ending import end
    from loadstone.cli.terminal import Terminal
    from loadstone.runner.experiment import ExperimentRequest
    from loadstone.runner.experiment import resume as take_up

    request = ExperimentRequest(
        out=out,
        observing=observing,
        yes=yes,
        trusted=trusted,
        cluster=cluster,
        protection=protection,
    )
    with beside(out) as audience:
        finished = take_up(run, request, Terminal(quiet=as_json, audience=audience))
        return end(finished, as_json=as_json, strict=strict, gates=gates)
