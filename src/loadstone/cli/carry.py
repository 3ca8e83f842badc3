"""From a parsed command line to a run that was carried out, shown and kept."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType

from loadstone import __version__, engine
from loadstone.analyse.comparison import compare
from loadstone.analyse.durability import variables_of_variants, warnings
from loadstone.analyse.steady import truncation
from loadstone.cli.commands.ledger import told_of_ledgers
from loadstone.cli.errors import say, tell
from loadstone.cli.options.cluster import Ways, starting
from loadstone.cli.options.connection import Connection
from loadstone.cli.options.gates import NO_GATES, Gates, conclude, judge_run
from loadstone.cli.options.protection import aborted, protector_of
from loadstone.cli.progress.load import load, parallel_loads
from loadstone.cli.progress.steps import watching
from loadstone.cli.request import Request, steps_for
from loadstone.diagnose.frames import environment_of
from loadstone.diagnose.of_run import findings_of
from loadstone.lab.machine.environment import target_environment
from loadstone.lab.machine.generator_ceilings import generator_ceilings
from loadstone.lab.protection.company import Company, beside_others
from loadstone.lab.protection.first_contact import look_before_load
from loadstone.lab.protection.protector import Protector
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.order import Steps, steps_of
from loadstone.lab.step.runner import Lab, Outcome, carry_out
from loadstone.lab.tables.discover import Data, Wanted, needed_beside
from loadstone.lab.tables.inspect import (
    Looked,
    check,
    common_data,
    confirm_all,
    look_at,
    observable,
)
from loadstone.lab.tables.load import layout_for, layout_of
from loadstone.model.engine_plan import Layout, LoadPlan
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment
from loadstone.model.plan import Plan, Step
from loadstone.model.recipe import RecipeAsked
from loadstone.model.result import Result
from loadstone.model.search import SearchPlan
from loadstone.model.target import Endpoint
from loadstone.mysql.guard import Consent
from loadstone.mysql.redact import blank_arguments
from loadstone.observe.sampler import Sampling
from loadstone.observe.sources import Sources, sources_for
from loadstone.recipes.answer import answer_of
from loadstone.report.experiment import outcome
from loadstone.report.findings import answer, proved
from loadstone.report.text import as_plain, as_renderable
from loadstone.runs import run_folder
from loadstone.runs.environment import of_this_machine
from loadstone.runs.errors import StoreError
from loadstone.runs.rates import rates_by_step
from loadstone.runs.recorder import Asked, Recorder, read_asked
from loadstone.sandbox import Sandbox, SandboxSpec, sandbox_at, start_sandbox
from loadstone.workloads.templates.explain import check_loadable, check_statements

SANDBOX_TABLES = 10
SANDBOX_TABLE_SIZE = 10_000
SANDBOX_WAREHOUSES = 1

Begun = Callable[[Path], None]
"""Told of the run's folder as soon as there is one."""


@dataclass(frozen=True)
class Hooks:
    """What is called while a run goes on, and when it is over."""

    gates: Gates = NO_GATES
    begun: Begun | None = None
    prove: Callable[[Path, Endpoint], int] | None = None
    """Puts the findings of the run in that folder to the proof, on that server; its exit code.

    It shows the result, where that is one JSON document.
    """


NO_HOOKS = Hooks()

_USERS_UNASKED = 4000
_CONNECTIONS_BESIDE_USERS = 50
_CONNECTIONS_LEFT_FREE = 5
"""For whoever else needs the server while a climb takes all it may."""


def run_in_sandbox(
    request: Request,
    connection: Connection | None = None,
    hooks: Hooks = NO_HOOKS,
) -> int:
    """Start a throwaway server, fill it, run, and leave nothing of it."""
    say("starting a throwaway server", quiet=request.as_json)
    with start_sandbox(_sandbox_for(request)) as sandbox:
        say(f"{_described(sandbox)} is up, loading its tables", quiet=request.as_json)
        endpoint = connection.for_sandbox(sandbox.tcp) if connection else sandbox.tcp
        _fill(request, endpoint)
        notes = [f"server: a throwaway {_described(sandbox)} on this machine, {_durable(sandbox)}"]
        return run_against(request, [endpoint], notes, hooks)


def _sandbox_for(request: Request) -> SandboxSpec:
    """It takes thousands of users unasked, and more when told."""
    users = request.most_connections
    return SandboxSpec(
        server=request.server,
        settings=request.settings,
        max_connections=None if users <= _USERS_UNASKED else users + _CONNECTIONS_BESIDE_USERS,
    )


def run_against(
    request: Request,
    endpoints: Sequence[Endpoint],
    notes: Sequence[str] = (),
    hooks: Hooks = NO_HOOKS,
) -> int:
    """Look at the targets, drive the plan, show and keep what came of it."""
    told = functools.partial(say, quiet=request.as_json)
    targets = [endpoint.target for endpoint in endpoints]
    with starting(request.cluster, targets, request.most_users, told) as ways:
        return _run_against(request, endpoints, notes, hooks, ways)


def _run_against(
    request: Request,
    endpoints: Sequence[Endpoint],
    notes: Sequence[str],
    hooks: Hooks,
    ways: Ways,
) -> int:
    timeout_s = request.drive.connect.timeout_s
    looked_for = [
        [look_at(endpoint, _wanted_of(one, request), timeout_s) for endpoint in endpoints]
        for one in request.alone
    ]
    met = look_before_load(endpoints, yes=request.yes)
    looked, data = looked_for[0], [common_data(found) for found in looked_for]
    plan = request.plan_of_all([one.target for one in endpoints], data)
    plan = plan.model_copy(update={"search": _capped(plan.search, looked)})
    found = check(plan, looked, writes=request.writes, observed=request.observing.on)
    for one in request.alone:
        _check_template(one, endpoints)
    steps = steps_for(plan)
    protector = protector_of(plan.protection, endpoints, by_user=plan.cluster is not None)
    protector.look(endpoints)
    with beside_others(endpoints) as company:
        for note in (*met, *company.notes):
            say(f"note: {note}", quiet=request.as_json)
        sources = sources_for([observable(one) for one in looked], request.observing)
        recorder = begin_run(plan, looked, request.out, sources.data_device, sources=sources)
        recorder.generators(ways.nodes)
        if hooks.begun:
            hooks.begun(recorder.folder)
        said = [*notes, *met, *company.notes, *_notes_on(data), *found, *sources.notes]
        tables = list(chain(*looked_for))
        prepared = Prepared(recorder, said, looked, sources, ways, tables, protector, company)
        outcome, interrupted = _drive(request, plan, steps, prepared)
    prove = hooks.prove if outcome.result.run.state == "finished" else None
    if prove is None or not request.as_json:
        show(outcome.result, recorder.folder, as_json=request.as_json)
    code = _exit_code(request, outcome, interrupted=interrupted)
    gated = judged(hooks.gates, outcome.result, as_json=request.as_json)
    if prove is None:
        return code or gated
    return prove(recorder.folder, endpoints[0]) or code or gated


def _check_template(request: Request, endpoints: Sequence[Endpoint]) -> None:
    """See that each server knows what a file's statements mean."""
    if request.template and request.file:
        for endpoint in endpoints:
            init_sql = request.drive.session.init_sql
            check_statements(request.template, request.file, endpoint, init_sql)


def _notes_on(data: Sequence[Data]) -> Sequence[str]:
    """What the tables' finders said, once where several workloads use the same."""
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


@dataclass(frozen=True)
class Prepared:
    """What a plan is carried out with, once its targets were looked at."""

    recorder: Recorder
    notes: Sequence[str]
    looked: Sequence[Looked]
    sources: Sources
    ways: Ways
    tables: Sequence[Looked]
    """What was found of each workload's tables at each target."""
    protector: Protector
    company: Company


def _capped(wanted: SearchPlan | None, looked: Sequence[Looked]) -> SearchPlan | None:
    """A climb ends where a server takes no more connections."""
    if wanted is None or not wanted.peak:
        return wanted
    room = [
        one.facts.max_connections - (one.facts.connected or 1) - _CONNECTIONS_LEFT_FREE
        for one in looked
        if one.facts.max_connections is not None
    ]
    most = min([wanted.most_users, *(max(each, 1) * len(looked) for each in room)])
    return wanted.model_copy(update={"most_users": most})


def _confirm(prepared: Prepared) -> list[str]:
    """Right before a step: its tables are such as it makes, and others know of it still."""
    notes = prepared.company.renew()
    confirm_all(prepared.tables)
    return notes


def _drive(
    request: Request,
    plan: Plan,
    steps: Steps,
    prepared: Prepared,
) -> tuple[Outcome, bool]:
    recorder = prepared.recorder
    quiet = request.as_json and not sys.stderr.isatty()
    with Interrupts() as interrupts, watching(plan, steps.planned, quiet=quiet) as observer:
        endpoints = tuple(one.endpoint for one in prepared.looked)
        watched = prepared.sources.watched
        sampling = Sampling(watched, recorder.began) if watched else None
        ways = prepared.ways
        lab = Lab(
            endpoints,
            recorder,
            observer,
            interrupts,
            truncation,
            sampling,
            start=ways.start,
            drives_again=ways.drives_again,
            may_change=plan.search is None and not plan.phases,
            confirm=functools.partial(_confirm, prepared),
            protector=prepared.protector,
        )
        for note in prepared.notes:
            lab.note(note)
        return carry_out(plan, steps, lab), interrupts.asked


def judged(gates: Gates, result: Result, *, as_json: bool) -> int:
    """What the gates of a run say of it, told and written: 99 where one fails."""
    checks = judge_run(gates, result)
    passed = conclude(f"loadstone {result.run.name}", checks, gates.junit, quiet=as_json)
    return ExitCode.OK if passed else ExitCode.THRESHOLD


def show(result: Result, path: Path, *, as_json: bool) -> None:
    """The result on stdout: as JSON and nothing else, or as text."""
    if as_json:
        click.echo(run_folder.to_json(result), nl=False)
        return
    compared = _compared(result, path)
    parts, answered = compared or (as_renderable(result), ())
    if sys.stdout.isatty():
        Console(highlight=False).print(parts)
    else:
        click.echo(as_plain(parts), nl=False)
    for line in (*answer(findings_of(path, result)), *proved(result.proofs)):
        click.echo(line)
    for line in answered:
        click.echo(line)
    click.echo(f"kept  {path}")


def _compared(result: Result, path: Path) -> tuple[RenderableType, Sequence[str]] | None:
    """The tables of an experiment, and what a recipe's answer is; `None` for any other run."""
    try:
        asked = read_asked(path)
    except StoreError:  # of an older version, or damaged: the steps can be shown all the same
        return None
    experiment = asked.experiment
    if experiment is None:
        return None
    unfair = warnings(variables_of_variants(experiment, environment_of(path).get("targets", ())))
    found = compare(experiment, result.steps, rates_by_step(path))
    answered = tuple(answer_of(asked.recipe, experiment, found)) if asked.recipe else ()
    return outcome(experiment, result, found, unfair), answered


def _fill(request: Request, endpoint: Endpoint) -> None:
    for one in request.alone:
        if one.template and one.file:
            check_loadable(one.template, one.file, endpoint)
    for layout in together([_layout(one) for one in request.alone]):
        plan = LoadPlan(layout=layout, parallel=parallel_loads(), seed=request.drive.seed)
        load(plan, endpoint, Consent(sandbox=True), quiet=request.as_json)


def together(layouts: Sequence[Layout]) -> list[Layout]:
    """Each kind once: tables that workloads share are as many and as large as any of them wants."""
    found: dict[object, Layout] = {}
    for layout in layouts:
        # A file has tables of its own: it shares them with itself alone.
        which = (layout.kind, *(table.name for table in layout.template))
        other = found.get(which, layout)
        sizes = ("tables", "table_size", "warehouses")
        largest = {name: max(getattr(layout, name), getattr(other, name)) for name in sizes}
        found[which] = layout.model_copy(update=largest)
    return list(found.values())


def _layout(request: Request) -> Layout:
    """The tables of a throwaway server."""
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
    """How many a throwaway server gets; none unless the workload has some."""
    if request.layout != "tpcc":
        return 0
    return request.warehouses or SANDBOX_WAREHOUSES


def begin_run(
    plan: Plan,
    looked: Sequence[Looked],
    out: Path,
    data_device: str | None,
    experiment: tuple[Experiment, tuple[Step, ...] | None, str] | None = None,
    recipe: RecipeAsked | None = None,
    sources: Sources | None = None,
) -> Recorder:
    """The run's folder with what was asked and what surrounds it.

    `experiment`: where more varies than users and rates, with its steps where they are known and
    the mark of its tables.
    `sources`: what is read of the servers' hosts, where that is the same for all steps.
    """
    steps = None if plan.search else steps_of(plan)
    words = blank_arguments([os.fsencode(word) for word in sys.argv[1:]])
    asked = Asked(
        loadstone=__version__,
        engine=engine.build_info(),
        command_line=("loadstone", *(os.fsdecode(word) for word in words)),
        plan=plan,
        steps=experiment[1] if experiment else steps,
        experiment=experiment[0] if experiment else None,
        mark=experiment[2] if experiment else None,
        recipe=recipe,
        ceilings=generator_ceilings(plan),
    )
    path = run_folder.create(out, plan.name, time.time())
    recorder = Recorder(path, asked, [one.facts.version for one in looked])
    targets = target_environment(looked, sources)
    recorder.environment(_environment(path, looked, data_device) | {"targets": targets})
    return recorder


def _environment(path: Path, looked: Sequence[Looked], data_device: str | None) -> dict[str, Any]:
    sandbox = next(filter(None, (sandbox_at(one.endpoint.target) for one in looked)), None)
    places = {"runs": path}
    if sandbox:
        places["sandbox"] = sandbox.datadir
    return {
        "version": 1,
        "generator": of_this_machine(places),
        "sandbox": _sandbox_facts(sandbox) if sandbox else None,
        "data_device": data_device,
    }


def _exit_code(request: Request, outcome: Outcome, *, interrupted: bool) -> int:
    if outcome.error:
        tell(outcome.error.message, outcome.error.hint)
        return outcome.error.exit_code
    if code := told_of_ledgers(outcome.result):
        return code
    if code := aborted(outcome.result):
        return code
    if interrupted and outcome.result.run.state == "stopped":
        return ExitCode.INTERRUPTED
    if request.strict and any(step.generator.client_bound for step in outcome.result.steps):
        tell("the generator was the limit, so the figures are not the server's", "see the notes")
        return ExitCode.CLIENT_BOUND
    return ExitCode.OK


def _described(sandbox: Sandbox) -> str:
    names = {"mariadb": "MariaDB", "mysql": "MySQL", "percona": "Percona Server"}
    return f"{names.get(sandbox.flavour, sandbox.flavour)} {sandbox.version}"


def _durable(sandbox: Sandbox) -> str:
    """The settings that decide what a commit costs."""
    wanted = ("sync_binlog", "innodb_flush_log_at_trx_commit")
    settings = sandbox.settings
    return ", ".join(f"{name}={settings[name]}" for name in wanted if name in settings)


def _sandbox_facts(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "name": sandbox.name,
        "server": _described(sandbox),
        "datadir": str(sandbox.datadir),
        "settings": sandbox.settings,
    }
