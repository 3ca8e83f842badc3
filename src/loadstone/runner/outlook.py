"""What a run, or a proof, will do to its servers, as text, before anything is done: `--dry-run`."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.lab.tables.discover import Data, needed_beside, table_name
from loadstone.lab.tables.load import layout_for, names_of
from loadstone.model.figure import Count, Seconds
from loadstone.model.finding import NotTried
from loadstone.model.message import Joined, Message, counted, say, user_count
from loadstone.model.target import Endpoint, Target
from loadstone.runner.recording import labelled
from loadstone.runner.request import Request, imagined_plan, steps_for
from loadstone.runner.run import (
    Inspected,
    fitting,
    fitting_throwaway,
    how_long,
    inspected,
    layouts_of,
)
from loadstone.runner.view import PlannedTrial
from loadstone.sandbox import sandbox_at

_SHOWN = 12
"""Names of tables in a line; the others are counted."""


def outlook(request: Request, endpoints: Sequence[Endpoint]) -> list[Message]:
    """What the run will do, one line for each kind of act; the servers are only asked.

    Without endpoints it is about a throwaway server, which is not started.

    Raises:
        LoadstoneError: the run would be refused, for that reason.
    """
    if not endpoints:
        return _at_throwaway(request)
    found = inspected(fitting(request, endpoints), endpoints, remembers=False)
    lines = [line for at in range(len(endpoints)) for line in _at_target(found, at)]
    lines += _settings(found.request, [one.endpoint.target for one in found.looked])
    lines += [say("note: {note}", note=note) for note in (*found.met, *found.notes)]
    lasts = how_long(found.plan, steps_for(found.plan).planned)
    return [*lines, *([lasts] if lasts else []), _stored(request)]


def outlook_of_proofs(
    planned: Sequence[PlannedTrial], not_tried: Sequence[NotTried]
) -> list[Message]:
    """What the trials will change, a line each, and why other findings are not tested."""
    lines: list[Message] = []
    if not planned:
        lines.append(say("nothing to prove: no finding has a trial that can run"))
    lines += [said_of_trial(each) for each in planned]
    if planned:
        lines.append(say("what a trial changes on a server is put back after each of its steps"))
        lines.append(
            say(
                "about {planned}, at most {most}, plus the start of servers",
                planned=Seconds(sum(each.timing.planned_s for each in planned)),
                most=Seconds(sum(each.seconds for each in planned)),
            )
        )
    lines += [
        say("not tried  {cause}: {why}", cause=each.cause, why=each.why) for each in not_tried
    ]
    return lines


def said_of_trial(planned: PlannedTrial) -> Message:
    """What a trial changes, at how many users, how often and how long."""
    spent = planned.timing
    said = say(
        "{cause}: {change}, {users}, {steps} of {window} each, after a warm-up of {warmup}",
        cause=planned.cause,
        change=planned.trial.change,
        users=user_count(planned.users),
        steps=counted("1 step", "{number} steps", planned.steps),
        window=Seconds(spent.window_s),
        warmup=Seconds(spent.warmup_s),
    )
    if planned.own_servers:
        return say("{trial}, on its own throwaway servers", trial=said)
    if planned.by_sessions:
        return say("{trial}, set by the load's own sessions alone", trial=said)
    return said


def _at_throwaway(request: Request) -> list[Message]:
    request, binary = fitting_throwaway(request)
    server = labelled(binary.family, binary.flavour, binary.version)
    tables = [name for layout in layouts_of(request) for name in names_of(layout)]
    plan = imagined_plan(request, Target.model_validate({"family": binary.family}))
    lasts = how_long(plan, steps_for(plan).planned)
    return [
        say(
            "starts a throwaway server ({server}) with a data folder of its own, and removes both"
            " at the end",
            server=server,
        ),
        say("makes and fills {tables} there", tables=_some(tables)),
        _connections(request),
        *([_proofs_at_throwaway()] if request.is_proved else []),
        say("no other server is reached"),
        *([lasts] if lasts else []),
        _stored(request),
    ]


def _at_target(found: Inspected, at: int) -> list[Message]:
    """What is done at one of the targets."""
    looked = found.looked[at]
    target, facts = looked.endpoint.target, looked.facts
    return [
        say(
            "{place}, schema {schema}: {server}",
            place=target.place,
            schema=target.database or "",
            server=" ".join(each for each in (facts.comment, facts.version) if each),
        ),
        say(
            "logs in as {user}; password: {source}",
            user=target.user or "",
            source=looked.endpoint.credentials.source,
        ),
        *_rows(found.request, found.data),
        _connections(found.request),
    ]


def _rows(request: Request, data: Sequence[Data]) -> list[Message]:
    """Which tables each workload uses, and how."""
    lines = []
    for one, there in zip(request.alone, data, strict=True):
        tables = _some(_tables_of(one, there))
        if one.writes:
            lines.append(
                say(
                    "{workload} reads rows of {tables}, and adds, changes or deletes some",
                    workload=one.wanted_as,
                    tables=tables,
                )
            )
        else:
            said = say("{workload} reads rows of {tables}", workload=one.wanted_as, tables=tables)
            lines.append(said)
    return list(dict.fromkeys(lines))


def _tables_of(request: Request, data: Data) -> list[str]:
    """The names of the tables that a workload uses."""
    if request.template is not None:
        return [name for table in request.template.tables for name in table.names]
    if request.layout == "tpcc":
        return list(names_of(layout_for("tpcc", 0, 0)))
    kinds = (request.layout, *needed_beside(request.layout, request.options))
    return [table_name(kind, 1 + at) for kind in kinds for at in range(data.tables)]


def _settings(request: Request, targets: Sequence[Target]) -> list[Message]:
    """What is changed on the servers apart from rows."""
    lines = [say("makes and drops no table; marks its run in the server's user locks")]
    if request.is_proved:
        lines.append(
            say(
                "then proves its findings: a trial may set global variables, listed before it"
                " starts, and puts them back after each step"
            )
        )
        lines += _left_out(request, targets)
    else:
        lines.append(say("changes no setting of the server"))
    return lines


def _left_out(request: Request, targets: Sequence[Target]) -> list[Message]:
    """Which trials are left out for want of consent; the run itself may need none."""
    if request.yes:
        return []
    return [
        say(
            "leaves out trials that would set variables for all on {place}, which is no sandbox:"
            " --yes",
            place=target.place,
        )
        for target in targets
        if sandbox_at(target) is None
    ]


def _proofs_at_throwaway() -> Message:
    return say("then proves its findings there, or on throwaway servers of the same kind")


def _connections(request: Request) -> Message:
    """How many connections it opens at once."""
    users = request.most_connections
    load = counted("1 connection for the load", "{number} connections for the load", users)
    if not request.observing.on:
        return say("opens up to {load}", load=load)
    return say(
        "opens up to {load}, and a few that read the server's counters each second", load=load
    )


def _stored(request: Request) -> Message:
    return say("stores the run in {folder}", folder=str(request.out))


def _some(names: Sequence[str]) -> Message:
    shown, more = Joined(names[:_SHOWN]), len(names) - _SHOWN
    if more <= 0:
        return say("{list}", list=shown)
    return say("{list} and {number} more", list=shown, number=Count(more))
