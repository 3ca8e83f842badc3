"""`loadstone check`: a review of a server's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command
from loadstone.cli.language import current, in_words
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.types import json_option
from loadstone.model.message import say

if TYPE_CHECKING:
    from pathlib import Path

    from loadstone.analyse.advice import Advice, Machine
    from loadstone.lab.tables.inspect import InspectedTarget


@command(
    help=say(
        "Review a server's settings before a benchmark: what makes it unfair, and what makes it"
        " slow.\n\n"
        "Changes nothing. Ends with lines that are ready for the server's configuration file."
    ),
    examples=((say("a server"), "loadstone check --target mysql://user@db1"),),
)
@connection_options
@json_option
def check(connection: Connection, as_json: bool) -> int:
    """Review a server's settings."""
    if not connection.given:
        raise click.UsageError(say("name the server with --target"))
    from loadstone.analyse.settings_review import fragment, review
    from loadstone.lab.tables.inspect import look_at_server
    from loadstone.model.compatible import is_another, name_of

    looked = look_at_server(connection.endpoint())
    machine, family = _machine(looked), looked.endpoint.target.family
    another = is_another(looked.facts.flavour)
    found = [] if another else review(looked.facts.variables, machine, family)
    text = fragment(found, family)
    if as_json:
        _as_json(looked, found, text)
        return 0
    from loadstone.cli.screen import show, show_lines
    from loadstone.report.settings import as_renderable

    name = name_of(looked.facts.flavour) or looked.facts.comment
    said = f"{looked.endpoint.target.place}: {name} {looked.facts.version}"
    show_lines(["".join(mark for mark in said if mark.isprintable())])
    if another:
        show_lines([in_words(say("Its settings are not reviewed: the rules are MySQL's."))])
        return 0
    show(as_renderable(found, text, machine, current()))
    return 0


def _machine(looked: InspectedTarget) -> Machine:
    """This machine, if the server's process is on it; else nothing is known."""
    from datetime import UTC, datetime
    from pathlib import Path

    from loadstone.analyse.advice import Machine
    from loadstone.families import family_of
    from loadstone.observe.locate import find_server_process
    from loadstone.runs.environment import of_this_machine

    facts = looked.facts
    today = datetime.now(UTC).date()
    found = find_server_process(looked.endpoint.target, facts.variables, facts.started_s)
    if not found:
        return Machine(today=today)
    here = of_this_machine({})
    datadir = family_of(looked.endpoint.target).data_folder(facts.variables)
    return Machine(
        memory_bytes=_memory(found.pid),
        cores=here["cpu"]["cores_online"],
        rotational=_turns(Path(datadir or "/")),
        today=today,
    )


def _memory(pid: int) -> int | None:
    """The memory that the server may use: the host's, or the limit of its control group."""
    from loadstone.analyse.advice import usable_memory
    from loadstone.model.observed import SourceName
    from loadstone.observe.local import LocalHost
    from loadstone.observe.source import SourceError

    host = LocalHost(SourceName(role="server-host"), pid=pid)
    try:
        gauges = host.read().gauges
    except SourceError:
        return None
    finally:
        host.close()
    return usable_memory(gauges)


def _turns(datadir: Path) -> bool | None:
    """Whether the data is on a rotating disk, as probed or as reported."""
    from loadstone.analyse.advice import is_rotating
    from loadstone.runs import probe
    from loadstone.runs.environment import disk_of
    from loadstone.runs.errors import StoreError

    try:
        probed = probe.kept(probe.device_of(datadir))
    except StoreError:
        probed = None
    told = disk_of(datadir).get("rotational")
    return is_rotating(probed.read_iops if probed else None, None if told is None else told == "1")


def _as_json(looked: InspectedTarget, found: list[Advice], text: str) -> None:
    import json
    from dataclasses import asdict

    document = {
        "version": 1,
        "target": looked.endpoint.target.url,
        "server": looked.facts.version,
        "advice": [asdict(advice) for advice in found],
        "fragment": text,
    }
    click.echo(json.dumps(document, indent=2))
