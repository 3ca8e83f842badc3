"""Runs a workload, a mix or a file over a ladder of users."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

from loadstone.analyse.search import most_left
from loadstone.analyse.steady import truncation
from loadstone.families import refuse_foreign, require_of
from loadstone.lab.machine.outgoing import check_ports
from loadstone.lab.protection.company import Company, beside_others
from loadstone.lab.protection.first_contact import look_before_load
from loadstone.lab.protection.protector import Protector
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.loop import drive_steps
from loadstone.lab.step.order import OfPlan, Steps
from loadstone.lab.step.runner import Lab
from loadstone.lab.tables.contents import contents_of
from loadstone.lab.tables.discover import Data, Wanted, needed_beside
from loadstone.lab.tables.inspect import (
    InspectedTarget,
    check,
    common_data,
    confirm_all,
    inspect_target,
    observable,
)
from loadstone.lab.tables.load import layout_for, layout_of, together
from loadstone.model.engine_plan import Layout, LoadPlan
from loadstone.model.figure import Count, Seconds
from loadstone.model.message import Message, counted, say
from loadstone.model.plan import Plan
from loadstone.model.quantity import LONGEST_S
from loadstone.model.target import Endpoint
from loadstone.model.target_url import TargetUrlError
from loadstone.observe.sources import Sources, sources_for
from loadstone.runner.backend import StepBackend, parallel_loads, step_backend
from loadstone.runner.endpoints import reach
from loadstone.runner.finished import Finished
from loadstone.runner.protection import protector_of
from loadstone.runner.recording import Place, begin_run, described, sampling_of
from loadstone.runner.request import Request, steps_for
from loadstone.runner.search_cap import capped
from loadstone.runner.tables import Filling, fill
from loadstone.runner.view import View
from loadstone.runs.recorder import Recorder
from loadstone.sandbox import Sandbox, SandboxSpec, ServerBinary, find_server
from loadstone.sandbox.kept_tables import start_loaded
from loadstone.sandbox.programs import PROGRAMS
from loadstone.servers.guard import Consent
from loadstone.workloads.templates.explain import check_loadable, check_statements

SANDBOX_TABLES = 10
SANDBOX_TABLE_SIZE = 10_000
SANDBOX_WAREHOUSES = 1

_USERS_UNASKED = 4000
_CONNECTIONS_BESIDE_USERS = 50
Way = Callable[[Endpoint], Endpoint]
"""Changes a sandbox's endpoint to the one that the load uses: its TLS, its compression."""


@dataclass(frozen=True)
class Throwaway:
    """A throwaway server with the tables of a request."""

    endpoint: Endpoint
    notes: tuple[Message, ...]
    """Notes for the run that say what the server is."""


@contextmanager
def throwaway(request: Request, view: View, way: Way = lambda there: there) -> Iterator[Throwaway]:
    """A throwaway server for a request, with its tables filled; removed completely after the block.

    Raises:
        SandboxError: no server program was found, or it does not start.
        TargetError: it refused the tables.
    """
    request, _ = fitting_throwaway(request)
    view.announce(say("starting a throwaway server"))
    layouts = layouts_of(request)

    def load(sandbox: Sandbox) -> None:
        view.announce(say("{server} is up, loading its tables", server=described(sandbox)))
        _fill(request, layouts, way(sandbox.tcp), view)

    contents = contents_of([layouts], request.drive.seed)
    with start_loaded(_sandbox_for(request), contents, load, view.announce) as sandbox:
        endpoint = way(sandbox.tcp)
        said = say(
            "server: a throwaway {server} on this machine, {durable}",
            server=described(sandbox),
            durable=_durable(sandbox),
        )
        yield Throwaway(endpoint, (said,))


def _sandbox_for(request: Request) -> SandboxSpec:
    """The sandbox's settings: they allow thousands of users by default, and more if requested."""
    users = request.most_connections
    return SandboxSpec(
        server=request.server,
        settings=request.settings,
        max_connections=None if users <= _USERS_UNASKED else users + _CONNECTIONS_BESIDE_USERS,
    )


def run(
    request: Request, endpoints: Sequence[Endpoint], view: View, notes: Sequence[Message] = ()
) -> Finished:
    """Inspect the targets, drive the request there, and store the results.

    Raises:
        LoadstoneError: nothing was driven: a target, its tables, its rights or its guests forbid
            it. An error after the start is in the returned value.
    """
    request = fitting(request, endpoints)
    targets = [endpoint.target for endpoint in endpoints]
    with step_backend(request.cluster, targets, request.most_users, view.announce) as backend:
        return _run(request, endpoints, view, notes, backend)


def fitting(request: Request, endpoints: Sequence[Endpoint]) -> Request:
    """The request in the dialect of its targets, which have not been reached yet.

    Raises:
        LoadstoneError: servers of that family, or the addresses given, do not fit it.
    """
    targets = [endpoint.target for endpoint in endpoints]
    for target in targets:
        _refuse_what_is_not_supported(request, target.family, target.place)
    request = request.in_dialect(targets[0].family)
    if request.drive.pauses_s is not None:
        _refuse_chosen_hosts(endpoints)
    if request.cluster is None:
        sources = request.drive.connect.source_addresses
        check_ports(request.most_connections, targets, sources)
    return request


def fitting_throwaway(request: Request) -> tuple[Request, ServerBinary]:
    """The request in the dialect of the throwaway server that it would start, and its program.

    Raises:
        SandboxError: no server program was found.
        LoadstoneError: servers of that family do not support the request.
    """
    binary = find_server(request.server)
    _refuse_what_is_not_supported(request, binary.family, binary.flavour)
    return request.in_dialect(binary.family), binary


def layouts_of(request: Request) -> Sequence[Layout]:
    """The tables that are made on a throwaway server, those of all workloads together."""
    return together([_layout(one) for one in request.alone])


def _refuse_what_is_not_supported(request: Request, family: str, place: str) -> None:
    refuse_foreign(family, request.of_families)
    for ability in request.needs:
        require_of(family, place, ability)


def _refuse_chosen_hosts(endpoints: Sequence[Endpoint]) -> None:
    """Refuse a failover drill whose users would not follow the primary to another host."""
    for endpoint in endpoints:
        if endpoint.chosen is not None:
            raise TargetUrlError(
                say(
                    "a failover drill needs one host: its users would stay at {place} when another"
                    " host takes over",
                    place=endpoint.target.place,
                ),
                say("name an address that moves with the primary, or the one server to watch"),
            )


@dataclass(frozen=True)
class _Prepared:
    """The inputs of a plan's run, once its targets were inspected."""

    recorder: Recorder
    notes: Sequence[Message]
    looked: Sequence[InspectedTarget]
    sources: Sources
    backend: StepBackend
    tables: Sequence[InspectedTarget]
    """What was found of each workload's tables at each target."""
    protector: Protector
    company: Company


@dataclass(frozen=True)
class Inspected:
    """What is known of a request's targets before anything is done there."""

    request: Request
    """The request, once it is known which servers its targets are."""
    plan: Plan
    looked: Sequence[InspectedTarget]
    """The targets, with the tables of the first workload."""
    tables: Sequence[InspectedTarget]
    """What was found of each workload's tables at each target."""
    data: Sequence[Data]
    """The tables of each workload that all targets have."""
    met: Sequence[Message]
    """Who else uses the servers."""
    notes: Sequence[Message]
    """Notes on the tables and the servers."""


def inspected(
    request: Request, endpoints: Sequence[Endpoint], *, remembers: bool = True
) -> Inspected:
    """Inspect the targets without changing anything there.

    `remembers`: a consent to load a server that others use is stored.

    Raises:
        LoadstoneError: the request cannot be driven there: a target, its tables, its rights or its
            guests forbid it.
    """
    timeout_s = request.drive.connect.timeout_s
    looked_for = [
        [inspect_target(endpoint, _wanted_of(one, request), timeout_s) for endpoint in endpoints]
        for one in request.alone
    ]
    met = look_before_load(endpoints, yes=request.yes, remembers=remembers)
    looked, data = looked_for[0], [common_data(found) for found in looked_for]
    request = request.at_servers([one.facts.flavour for one in looked])
    plan = request.plan_of_all([one.target for one in endpoints], data)
    plan = plan.model_copy(update={"search": capped(plan.search, looked)})
    found = check(plan, looked, writes=request.writes, observed=request.observing.on)
    for one in request.alone:
        _check_template(one, endpoints)
    notes = [*_notes_on(data), *found]
    return Inspected(request, plan, looked, list(chain(*looked_for)), data, met, notes)


def _run(
    request: Request,
    endpoints: Sequence[Endpoint],
    view: View,
    notes: Sequence[Message],
    backend: StepBackend,
) -> Finished:
    found = inspected(request, endpoints)
    request, plan, met = found.request, found.plan, found.met
    protector = protector_of(plan.protection, endpoints, reach, by_user=plan.cluster is not None)
    protector.look(endpoints)
    with beside_others(endpoints) as company:
        for note in (*met, *company.notes):
            view.announce(say("note: {note}", note=note))
        sources = sources_for([observable(one) for one in found.looked], request.observing)
        recorder = begin_run(
            plan, found.looked, Place(request.out, view.command_line, view.commanded), sources
        )
        recorder.generators(backend.nodes)
        view.begun(recorder.folder)
        chosen = [one.chosen for one in endpoints if one.chosen is not None]
        said = [*notes, *chosen, *met, *company.notes, *found.notes, *sources.notes]
        prepared = _Prepared(
            recorder, said, found.looked, sources, backend, found.tables, protector, company
        )
        return _drive(plan, steps_for(plan), prepared, view)


def _confirm(prepared: _Prepared) -> list[Message]:
    """Check before a step that its tables still fit; renew their mark as in use."""
    notes = prepared.company.renew()
    confirm_all(prepared.tables)
    return notes


def _drive(plan: Plan, steps: Steps, prepared: _Prepared, view: View) -> Finished:
    recorder = prepared.recorder
    if (lasts := how_long(plan, steps.planned)) is not None:
        view.announce(lasts)
    with Interrupts() as interrupts, view.steps(plan, steps.planned) as observer:
        lab = Lab(
            tuple(one.endpoint for one in prepared.looked),
            recorder,
            observer,
            interrupts,
            truncation,
            sampling_of(prepared.sources, recorder.began),
            start=prepared.backend.start,
            drives_again=prepared.backend.drives_again,
            may_change=plan.search is None and not plan.phases,
            confirm=functools.partial(_confirm, prepared),
            protector=prepared.protector,
        )
        outcome = drive_steps(OfPlan(plan, steps, lab), lab, notes=prepared.notes)
        return Finished(
            outcome.result,
            recorder.folder,
            outcome.error,
            interrupts.asked,
            ended=recorder.ended,
        )


def how_long(plan: Plan, planned: int | None) -> Message | None:
    """How long the load takes; `None` if nothing limits it. `planned`: its steps, if known."""
    if plan.duration_s >= LONGEST_S:
        return None
    if planned:
        return _how_long(plan, planned)
    if plan.search:
        return _how_long_at_most(plan, most_left(plan.search, plan.ladder[0], ()))
    return None


def _how_long(plan: Plan, steps: int) -> Message:
    """The time that the load takes; what comes on top depends on the machines."""
    window, total = Seconds(plan.duration_s), Seconds(steps * (plan.warmup_s + plan.duration_s))
    if plan.warmup_s:
        return counted(
            "1 step of {window}: {total} with warm-up, plus connecting and evaluating",
            "{number} steps of {window}: {total} with warm-up, plus connecting and evaluating",
            steps,
            window=window,
            total=total,
        )
    return counted(
        "1 step of {window}, plus connecting and evaluating",
        "{number} steps of {window}: {total}, plus connecting and evaluating",
        steps,
        window=window,
        total=total,
    )


def _how_long_at_most(plan: Plan, steps: int) -> Message:
    """The time that a search's load takes at most."""
    return say(
        "a search: at most {number} steps of {window} if repeats agree: {total} with warm-up, plus "
        "connecting and evaluating",
        number=Count(steps),
        window=Seconds(plan.duration_s),
        total=Seconds(steps * (plan.warmup_s + plan.duration_s)),
    )


def _check_template(request: Request, endpoints: Sequence[Endpoint]) -> None:
    """Check that each server understands a file's statements."""
    if request.template and request.file:
        for endpoint in endpoints:
            init_sql = request.drive.session.init_sql
            check_statements(request.template, request.file, endpoint, init_sql)


def _notes_on(data: Sequence[Data]) -> Sequence[Message]:
    """The notes of the table checks, without duplicates where several workloads share tables."""
    return list(dict.fromkeys(note for one in data for note in one.notes))


def _wanted_of(request: Request, all_of_it: Request) -> Wanted:
    """The tables that one of the workloads needs."""
    unbound = request.template if not all_of_it.reads_by_file else None
    return Wanted(
        workload=request.wanted_as,
        names=tuple(table.name for table in request.template.loaded()) if request.template else (),
        effects=unbound.not_held if unbound else (),
        layout=request.layout,
        tables=request.tables,
        table_size=request.table_size,
        warehouses=request.warehouses,
        users=request.most_users,
        beside=needed_beside(request.layout, request.options),
        writes=request.writes,
        consent=Consent(yes=request.yes),
    )


def _fill(request: Request, layouts: Sequence[Layout], endpoint: Endpoint, view: View) -> None:
    for one in request.alone:
        if one.template and one.file:
            check_loadable(one.template, one.file, endpoint)
    for layout in layouts:
        plan = LoadPlan(layout=layout, parallel=parallel_loads(), seed=request.drive.seed)
        fill(plan, endpoint, Filling(Consent(sandbox=True)), view)


def _layout(request: Request) -> Layout:
    """The table layout of a throwaway server."""
    if request.template:
        return layout_of(request.template, request.storage_engine)
    default_tables = request.most_users if request.layout == "bulk" else SANDBOX_TABLES
    if request.layout == "hot":
        default_tables = 1
    tables = request.tables or default_tables
    size = request.table_size or SANDBOX_TABLE_SIZE
    layout = layout_for(request.layout, tables, size, _warehouses(request))
    making = {
        "storage_engine": request.storage_engine,
        "foreign_keys": request.foreign_keys,
        "partitions": request.partitions,
    }
    return layout.model_copy(update=making)


def _warehouses(request: Request) -> int:
    """Number of warehouses of a throwaway server; zero unless the workload has some."""
    if request.layout != "tpcc":
        return 0
    return request.warehouses or SANDBOX_WAREHOUSES


def _durable(sandbox: Sandbox) -> str:
    """The settings that determine what a commit costs."""
    wanted = PROGRAMS[sandbox.state.family].durable
    settings = sandbox.settings
    return ", ".join(f"{name}={settings[name]}" for name in wanted if name in settings)
