"""`loadstone check`: a review of a server's settings, of the account's rights, of other clients."""

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

    from loadstone.analyse.advice import Machine
    from loadstone.lab.protection.standing import Standing
    from loadstone.lab.tables.inspect import InspectedTarget
    from loadstone.report.settings import Reviewed


@command(
    help=say(
        "Review a server before a benchmark: settings that make it unfair or slow, what this"
        " account may do, and who else is at work there.\n\n"
        "Changes nothing. Ends with lines that are ready for the server's configuration file; for a"
        " managed service it says where each setting is set instead."
    ),
    examples=((say("a server"), "loadstone check --target mysql://user@db1"),),
)
@connection_options
@json_option
def check(connection: Connection, as_json: bool) -> int:
    """Review a server's settings, the account's rights, and who else is at work."""
    if not connection.given:
        raise click.UsageError(say("name the server with --target"))
    from loadstone.lab.protection.standing import standing_at
    from loadstone.lab.tables.inspect import look_at_server

    endpoint = connection.endpoint()
    looked = look_at_server(endpoint)
    standing = standing_at(endpoint)
    reviewed = _reviewed(looked)
    if as_json:
        _as_json(looked, reviewed, standing)
        return 0
    _show(looked, reviewed, standing)
    return 0


def _reviewed(looked: InspectedTarget) -> Reviewed | None:
    """The review of the settings; `None`: they are those of a server of another kind."""
    from loadstone.analyse.settings_review import fragment, not_judged, review
    from loadstone.model.compatible import is_another
    from loadstone.report.settings import Reviewed

    if is_another(looked.facts.flavour):
        return None
    variables, family = looked.facts.variables, looked.endpoint.target.family
    machine = _machine(looked)
    found = review(variables, machine, family)
    return Reviewed(
        advice=found,
        fragment=fragment(found, family),
        machine=machine,
        not_judged=not_judged(variables, machine, family),
        managed=looked.facts.service,
    )


def _show(looked: InspectedTarget, reviewed: Reviewed | None, standing: Standing) -> None:
    from loadstone.cli.screen import show, show_lines
    from loadstone.model.compatible import name_of
    from loadstone.report.settings import as_renderable, labelled
    from loadstone.report.standing import service_lines, standing_lines

    place = looked.endpoint.target.place
    name = name_of(looked.facts.flavour) or looked.facts.comment
    said = f"{place}: {name} {looked.facts.version}"
    show_lines(["".join(mark for mark in said if mark.isprintable())])
    show_lines(labelled(service_lines(looked.facts.service, standing), current()))
    after = standing_lines(standing, place, looked.facts.service)
    if reviewed is None:
        show_lines([in_words(say("Its settings are not reviewed: the rules are MySQL's."))])
        show_lines(labelled(after, current()))
        return
    show(as_renderable(reviewed, after, current()))


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


def _as_json(looked: InspectedTarget, reviewed: Reviewed | None, standing: Standing) -> None:
    import json
    from dataclasses import asdict

    from loadstone.model.message import Message

    rights, others = standing.rights, standing.clients
    document = {
        "version": 1,
        "target": looked.endpoint.target.url,
        "server": looked.facts.version,
        "service": looked.facts.service,
        "advice": [asdict(advice) for advice in reviewed.advice] if reviewed else [],
        "not_judged": list(reviewed.not_judged) if reviewed else [],
        "fragment": reviewed.fragment if reviewed else "",
        "rights": {"not_known": rights} if isinstance(rights, Message) else asdict(rights),
        "others": {"not_known": others} if isinstance(others, Message) else asdict(others),
        "programs": list(standing.programs),
    }
    click.echo(json.dumps(document, indent=2))
