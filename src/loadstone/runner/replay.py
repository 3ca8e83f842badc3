"""Replays the statements of a log on a target."""

from __future__ import annotations

from pathlib import Path

from loadstone.analyse.steady import truncation
from loadstone.families import connect, family_of, require
from loadstone.lab.protection.company import beside_others
from loadstone.lab.protection.first_contact import look_before_load
from loadstone.lab.protection.whereabouts import elsewhere
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.loop import drive_steps
from loadstone.lab.step.runner import Lab
from loadstone.lab.step.shards import cores
from loadstone.lab.tables.inspect import check, look_at_server, observable
from loadstone.lab.tables.missing import find_missing
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.model.observe_request import Observing
from loadstone.model.protection import Protection
from loadstone.model.target import Endpoint
from loadstone.observe.sources import check_places, sources_for
from loadstone.runner.endpoints import reach
from loadstone.runner.finished import Finished
from loadstone.runner.protection import protector_of
from loadstone.runner.recording import Place, begin_run, sampling_of
from loadstone.runner.view import View
from loadstone.runs import run_folder
from loadstone.sandbox import sandbox_at
from loadstone.servers.errors import GuardError, TargetError
from loadstone.traffic.replay_lanes import Dealt
from loadstone.traffic.replaying import NAME, OfReplay, ReplayOptions, plan_of

_MOST_NAMES = 5


class ReplayRequest(Frozen):
    """How a log is replayed, and what is kept of it."""

    how: ReplayOptions
    observing: Observing = Observing()
    protection: Protection = Protection()
    out: Path = Path("runs")
    name: str = NAME
    """The run's name."""
    yes: bool = False
    """Allow changes to tables of others, and statements whose tables are missing."""


def replay(
    asked: ReplayRequest, endpoint: Endpoint, dealt: Dealt, lanes: Path, view: View
) -> Finished:
    """Replay the sessions in the folder `lanes`, each on its own connection.

    Raises:
        LoadstoneError: nothing was sent. A later error is in the returned value.
    """
    require(endpoint.target, "traffic")
    check_places(asked.observing, 1)
    run_folder.check_writable(asked.out)
    _check_writes(endpoint, dealt, asked)
    met = look_before_load([endpoint], yes=asked.yes)
    looked = look_at_server(endpoint)
    met = [*met, *_check_tables(endpoint, dealt, yes=asked.yes)]
    plan = plan_of(dealt, lanes, [endpoint.target], asked.how, cores())
    plan = plan.model_copy(update={"protection": asked.protection, "name": asked.name})
    notes = check(plan, [looked], writes=asked.how.writes, observed=asked.observing.on)
    protector = protector_of(plan.protection, [endpoint], reach)
    protector.look([endpoint])
    sources = sources_for([observable(looked)], asked.observing)
    with (
        beside_others([endpoint]) as company,
        Interrupts() as interrupts,
        view.steps(plan, 1) as observer,
    ):
        recorder = begin_run(
            plan, [looked], Place(asked.out, view.command_line, view.commanded), sources
        )
        view.begun(recorder.folder)
        lab = Lab(
            (endpoint,),
            recorder,
            observer,
            interrupts,
            truncation,
            sampling_of(sources, recorder.began),
            may_change=False,
            protector=protector,
        )
        said = (*met, *company.notes, *notes, *sources.notes)
        outcome = drive_steps(OfReplay(plan, lab, lanes, dealt.length_s), lab, notes=said)
        return Finished(
            outcome.result,
            recorder.folder,
            outcome.error,
            interrupts.asked,
            ended=recorder.ended,
        )


def _check_tables(endpoint: Endpoint, dealt: Dealt, *, yes: bool) -> list[Message]:
    """Check that the tables are there which the log's statements name.

    Returns:
        With `yes` a note on those that are missing.

    Raises:
        TargetError: some are missing, or the server cannot be queried.
    """
    target = endpoint.target
    with connect(endpoint, database=None) as opened:
        examples = dealt.examples_in(target.database or "")
        missing = find_missing(opened, target, examples, dealt.made)
    if not missing:
        return []
    said = say(
        "{place} lacks what the log's statements name: {names}",
        place=target.place,
        names=missing.named(),
    )
    if yes:
        return [said]
    hint = say(
        "copy them there, or name their schema in --target; --yes sends the statements anyway, and"
        " they fail"
    )
    raise TargetError("missing_table", said, hint)


def _check_writes(endpoint: Endpoint, dealt: Dealt, asked: ReplayRequest) -> None:
    """Check that data may be changed in each schema that the log's statements name.

    Raises:
        GuardError: there are tables of others, or it is another machine, without `--yes`.
        TargetError: the server cannot be queried.
    """
    target = endpoint.target
    if not asked.how.writes or asked.yes or sandbox_at(target) is not None:
        return
    own = {target.database or ""}
    used = own | set(dealt.schemas) if len(dealt.schemas) > 1 else own
    with connect(endpoint, database=None) as opened:
        if (why := elsewhere(opened, target)) is not None:
            said = say(
                "the log writes to the server at {place}, {why}", place=target.place, why=why
            )
            raise GuardError(
                "not_loopback", said, say("if its data may be changed as the log does: --yes")
            )
        for schema in sorted(used | dealt.qualifiers):
            if strangers := family_of(target).read_schema(opened, target, schema).strangers:
                shown = ", ".join(strangers[:_MOST_NAMES])
                raise GuardError(
                    "foreign_tables",
                    say(
                        "schema {schema} has tables that are neither Loadstone's nor sysbench's, "
                        "and the log writes: {tables}",
                        schema=schema,
                        tables=shown,
                    ),
                    say("if they may be changed as the log does: --yes"),
                )
