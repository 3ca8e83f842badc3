"""From an experiment file to a run that was carried out, judged, shown and kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from loadstone import engine
from loadstone.analyse.repeat_until import more_wanted
from loadstone.analyse.setting_effects import keeps_commits
from loadstone.analyse.steady import truncation
from loadstone.cli.carry import Begun, begin_run, judged, show
from loadstone.cli.errors import left_is_told, say, tell, tell_left
from loadstone.cli.options.cluster import Ways, starting
from loadstone.cli.options.connection import unasked
from loadstone.cli.options.gates import NO_GATES, Gates
from loadstone.cli.options.protection import aborted, protector_of
from loadstone.cli.progress.load import load, parallel_loads
from loadstone.cli.progress.steps import Silence, TimeLeft
from loadstone.experiment.checks import (
    Machine,
    beyond_a_cluster,
    check_variables,
    check_workloads,
)
from loadstone.experiment.file import ExperimentFile, parse_experiment, read_experiment
from loadstone.experiment.host_limits import check_limits, check_plans
from loadstone.experiment.hosts import Loads
from loadstone.experiment.runner import (
    Bench,
    Carried,
    Look,
    Pace,
    PaceOfGenerators,
    Pacing,
    carry_out,
)
from loadstone.experiment.schedule import plan_time, schedule
from loadstone.experiment.servers import Means, Servers, Standing
from loadstone.experiment.tables import check_tables, tables_of
from loadstone.experiment.trials import why_not_set
from loadstone.experiment.variants import client_of, drive_of, place_of, spoken_to, step_plan
from loadstone.lab.machine.environment import target_environment
from loadstone.lab.protection.protector import Protector
from loadstone.lab.protection.whereabouts import is_throwaway
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.runner import Lab
from loadstone.lab.step.shards import USERS_A_SHARD, cores
from loadstone.lab.tables.inspect import Looked, check_descriptors, common_device, observable
from loadstone.lab.tables.load import Cleaning, cleanup, names_of, new_mark
from loadstone.lab.variables.server_variables import known_variables
from loadstone.model.cluster import ClusterAsked
from loadstone.model.engine_plan import Layout, LoadPlan
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment, Variant
from loadstone.model.frozen import Frozen
from loadstone.model.observe_request import Observing
from loadstone.model.plan import Drive, Step
from loadstone.model.protection import Protection
from loadstone.model.recipe import RecipeAsked
from loadstone.model.result import Result, StepResult
from loadstone.model.target import Endpoint, Target
from loadstone.mysql.errors import TargetError
from loadstone.mysql.guard import Consent
from loadstone.observe.sampler import Sampling
from loadstone.observe.sources import sources_for
from loadstone.report.experiment import plan_of
from loadstone.report.text import as_plain
from loadstone.runs import run_folder, vouched
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import read_log, result_of
from loadstone.runs.recorder import Recorder
from loadstone.sandbox import sandbox_at, start_sandbox


class NoConsent(LoadstoneError):
    """It would change a server that others use."""

    exit_code = ExitCode.GUARD


class Wanted(Frozen):
    """What the command line said beside the file."""

    out: Path
    observing: Observing
    strict: bool
    as_json: bool
    recipe: RecipeAsked | None = None
    """Where the file is a recipe's."""
    yes: bool = False
    """Tables may be made and written to on another machine, and beside foreign tables; global
    variables of a server that is no sandbox may be set for a while."""
    cluster: ClusterAsked | None = None
    """In place of what the file says of it."""
    trusted: bool = False
    """A run that is taken up may be somebody else's."""
    protection: Protection = Protection()
    """Beside what the file says of it."""


def checked(path: Path) -> ExperimentFile:
    """The file, once all that needs no server was looked at.

    Raises:
        ExperimentRefused: something in it is wrong, or cannot be done here.
    """
    return _checked_here(read_experiment(path, _this_machine()))


def checked_text(text: str, name: str) -> ExperimentFile:
    """The same of a text; `name` is what messages call it.

    Raises:
        ExperimentRefused: as `checked`.
    """
    return _checked_here(parse_experiment(text, name, _this_machine()))


def _this_machine() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(is_root=os.geteuid() == 0, cores=cores(), memory_bytes=pages)


def _checked_here(file: ExperimentFile) -> ExperimentFile:
    known = engine.workloads()
    check_workloads(file, known)
    check_plans(file)
    check_limits(file)
    check_tables(file, known)
    return file


def show_plan(experiment: Experiment) -> None:
    """`--dry-run`: the steps, the time, and what targets will have to bear."""
    steps = schedule(experiment)
    click.echo(as_plain(plan_of(experiment, steps, plan_time(experiment, steps))), nl=False)
    servers = Servers(experiment, means_of(experiment, _reach, quiet=True, yes=True))
    try:
        changes = servers.changes()
    except TargetError as error:
        say(f"note: which tables are there was not asked: {error.message}", quiet=False)
        changes = servers.changes(asked=False)
    for each in changes:
        for line in each.lines():
            click.echo(line)


def on_cluster(experiment: Experiment, asked: ClusterAsked | None) -> Experiment:
    """The experiment, driven from these machines where some are asked for.

    Raises:
        UsageError: other machines cannot drive it.
    """
    if asked is None:
        return experiment
    if said := beyond_a_cluster(experiment):
        raise click.UsageError(f"--cluster: {said}: measure a [target] that all nodes reach")
    return experiment.model_copy(update={"cluster": asked})


def protected(experiment: Experiment, more: Protection) -> Experiment:
    """The experiment, with what the command line says of harm beside what the file says of it."""
    both = experiment.protection.beside(more)
    return experiment.model_copy(update={"protection": both})


def begin(
    file: ExperimentFile, wanted: Wanted, gates: Gates = NO_GATES, begun: Begun | None = None
) -> int:
    """Carry a file out, from its first step on."""
    experiment = protected(on_cluster(file.experiment, wanted.cluster), wanted.protection)
    if experiment.cluster is None:
        check_descriptors(max(experiment.ladder))
    check_consent(experiment, yes=wanted.yes)
    run_folder.check_writable(wanted.out)
    _check_variables(file, wanted)
    means = _means(experiment, wanted, new_mark())
    with (
        _starting(experiment, wanted) as ways,
        Servers(experiment, means) as servers,
        left_is_told(servers.told.left),
    ):
        looked, notes = servers.prepare()
        protector = _protector(experiment, looked)
        recorder = _recorder(experiment, servers, looked, wanted)
        recorder.generators(ways.nodes)
        if begun:
            begun(recorder.folder)
        told = _Told(wanted, ways, notes, protector)
        carried, asked = _carry_out(experiment, servers, recorder, told)
    code = _end(carried, recorder.folder, wanted, interrupted=asked)
    gated = judged(gates, carried.result, as_json=wanted.as_json)
    return tell_left(servers.told.left) or code or gated


def go_on(run: str, wanted: Wanted, gates: Gates = NO_GATES, begun: Begun | None = None) -> int:
    """Take a run up where it was left.

    Raises:
        StoreError: there is no such run, it is no experiment, or it has all its steps.
        NotOurs: somebody else began it, and nobody has said that it is meant.
    """
    path = run_folder.find(wanted.out, run)
    ours = vouched.read(path, trusted=wanted.trusted)
    asked = ours.asked
    if asked.experiment is None:
        raise StoreError(f"{path.name} is no experiment", "only those are taken up: run it again")
    experiment = protected(on_cluster(asked.experiment, wanted.cluster), wanted.protection)
    log = read_log(path)
    before = result_of(path, log)
    if log.begin is None or before.run.state == "finished":
        raise StoreError(f"there is nothing left to do in {path.name}", "loadstone runs show")
    check_consent(experiment, yes=wanted.yes)
    done = [step for step in before.steps if step.state == "finished"]
    # Of a run of before tables had marks all that is there is asked for.
    means = _means(experiment, wanted, asked.mark or new_mark())
    with (
        _starting(experiment, wanted) as ways,
        Servers(experiment, means) as servers,
        left_is_told(servers.told.left),
    ):
        looked, notes = servers.prepare()
        protector = _protector(experiment, looked)
        recorder = Recorder(path, asked, (), before=log.begin, environment=ours.environment)
        recorder.generators(ways.nodes)
        if begun:
            begun(path)
        told = _Told(wanted, ways, [*notes, _taken_up(before, done)], protector, done)
        carried, stopped = _carry_out(experiment, servers, recorder, told)
    code = _end(carried, path, wanted, interrupted=stopped)
    gated = judged(gates, carried.result, as_json=wanted.as_json)
    return tell_left(servers.told.left) or code or gated


def _starting(experiment: Experiment, wanted: Wanted) -> AbstractContextManager[Ways]:
    """This machine, or those of its cluster."""
    places = [place_of(experiment, each) for each in experiment.variants]
    targets = [place.target for place in places if place.target]

    def told(line: str) -> None:
        say(line, quiet=wanted.as_json)

    return starting(experiment.cluster, targets, max(experiment.ladder), told)


def _taken_up(before: Result, done: Sequence[StepResult]) -> str:
    half = [step.step for step in before.steps if step.state != "finished"]
    again = f"; step {half[-1]}, which was not finished, is measured anew" if half else ""
    return f"taken up after {len(done)} steps{again}"


def _means(experiment: Experiment, wanted: Wanted, mark: str) -> Means:
    means = means_of(experiment, _reach, quiet=wanted.as_json, yes=wanted.yes, mark=mark)
    # Whoever reads JSON from stdout is told of it all the same.
    return replace(means, lists=say)


def means_of(
    experiment: Experiment,
    reach: Callable[[Target], Endpoint],
    *,
    quiet: bool,
    yes: bool = False,
    mark: str | None = None,
) -> Means:
    """What its servers are brought up with; `reach` finds the password of a target.

    `mark`: what its tables bear, where it made some before.
    """
    known, own = engine.workloads(), mark or new_mark()

    def consent(endpoint: Endpoint) -> Consent:
        return Consent(yes=yes, sandbox=is_throwaway(endpoint))

    def fill(layout: Layout, endpoint: Endpoint) -> None:
        plan = LoadPlan(layout=layout, parallel=parallel_loads(), seed=experiment.seed)
        load(plan, endpoint, consent(endpoint), quiet=quiet, mark=own)

    def empty(layout: Layout, endpoint: Endpoint) -> None:
        cleanup(endpoint, Cleaning(consent(endpoint), names_of(layout)))

    loads = Loads(tables_of(experiment, known), fill, empty)
    return Means(known, loads, reach, lambda line: say(line, quiet=quiet), Consent(yes=yes), own)


def _reach(target: Target) -> Endpoint:
    return unasked().at(target.url)


def check_consent(experiment: Experiment, *, yes: bool) -> None:
    """Global variables of what is no sandbox are set as they are for `--prove`.

    Raises:
        NoConsent: nobody agreed, or commits of others might be lost.
    """
    for variant in experiment.variants:
        risky = any(keeps_commits(name) for name in variant.dynamic)
        for target in _set_on(experiment, variant) if variant.dynamic else ():
            if sandbox_at(target):
                continue
            names = list(variant.dynamic)
            refused = why_not_set(names, target.place, risks_commits=risky, yes=yes)
            if refused:
                hint = "if that is meant: --yes" if refused.wants_yes else _ON_A_SANDBOX
                raise NoConsent(f"{variant.name} is not measured: {refused.why}", hint)


_ON_A_SANDBOX = "[sandbox] in place of [target] measures it on a throwaway server"


def _set_on(experiment: Experiment, variant: Variant) -> list[Target]:
    """Servers on which a variant's variables are set, but for the experiment's own."""
    target = place_of(experiment, variant).target
    if target is None:
        return []
    endpoints = spoken_to(Endpoint(target=target), client_of(variant))
    return [endpoint.target for endpoint in endpoints]


def _check_variables(file: ExperimentFile, wanted: Wanted) -> None:
    """Ask a server of each kind what it knows, before any is prepared.

    Raises:
        ExperimentRefused: it does not know a variable, or one does not change while it runs.
    """
    experiment = file.experiment
    specs = [place_of(experiment, each).sandbox for each in experiment.variants]
    set_at_start = any(spec and spec.settings for spec in specs)
    if not set_at_start and not any(each.dynamic for each in experiment.variants):
        return
    known: dict[str, bool] = {}
    for answer in _asked_of_servers(experiment, wanted):
        for name, dynamic in answer.items():
            known[name] = known.get(name, False) or dynamic
    check_variables(file, known)


def _asked_of_servers(experiment: Experiment, wanted: Wanted) -> list[Mapping[str, bool]]:
    answers: dict[str, Mapping[str, bool]] = {}
    for variant in experiment.variants:
        place = place_of(experiment, variant)
        if place.target and place.target.url not in answers:
            answers[place.target.url] = known_variables(_reach(place.target))
        spec = place.sandbox
        if spec and (kind := f"sandbox {spec.server} {spec.root}") not in answers:
            say("asking a throwaway server for its variables", quiet=wanted.as_json)
            with start_sandbox(spec.model_copy(update={"settings": {}})) as bare:
                answers[kind] = known_variables(bare.local)
    return list(answers.values())


def _protector(experiment: Experiment, looked: Sequence[Looked]) -> Protector:
    """Who watches its servers; what cannot be watched there is refused now.

    Raises:
        ConditionError, TargetError: a condition asks for what a server cannot tell.
    """
    endpoints = [one.endpoint for one in looked]
    by_user = experiment.cluster is not None
    found = protector_of(experiment.protection, endpoints, by_user=by_user)
    found.look(endpoints)
    return found


def _recorder(
    experiment: Experiment, servers: Servers, looked: Sequence[Looked], wanted: Wanted
) -> Recorder:
    targets = [one.endpoint.target for one in looked]
    workload = servers.workload(experiment.workloads[0].name)
    plan = step_plan(experiment, workload, targets, Drive(seed=experiment.seed))
    steps = None if experiment.until else _steps(experiment)
    return begin_run(
        plan,
        looked,
        wanted.out,
        common_device(looked),
        experiment=(experiment, steps, servers.mark),
        recipe=wanted.recipe,
    )


def _steps(experiment: Experiment) -> tuple[Step, ...]:
    return tuple(planned.step for planned in schedule(experiment))


@dataclass(frozen=True)
class _Told:
    """What an experiment is carried out by, beside its file."""

    wanted: Wanted
    ways: Ways
    notes: Sequence[str]
    """Of the preparation."""
    protector: Protector
    done: Sequence[StepResult] = ()
    """Steps that were carried out before it was stopped."""


def _carry_out(
    experiment: Experiment, servers: Servers, recorder: Recorder, told: _Told
) -> tuple[Carried, bool]:
    wanted, ways = told.wanted, told.ways
    quiet = wanted.as_json and not sys.stderr.isatty()
    planned = None if experiment.until else len(_steps(experiment))
    first = servers.workload(experiment.workloads[0].name)
    plan = step_plan(experiment, first, [Target()], drive_of(experiment, servers.variants[0], 1, 1))
    observer = Silence() if quiet else TimeLeft(plan, planned)

    described: set[str] = set()

    def describe(variant: str, standing: Standing) -> None:
        if variant in described:
            return
        described.add(variant)
        looked = standing.looked_again()
        sources = sources_for([observable(one) for one in looked], wanted.observing)
        recorder.variant(variant, target_environment(looked, sources))

    with Interrupts() as interrupts:
        lab = Lab(
            (),
            recorder,
            observer,
            interrupts,
            truncation,
            may_change=False,
            start=ways.start,
            drives_again=ways.drives_again,
            protector=told.protector,
        )
        for note in told.notes:
            lab.note(note)
        look = looking(wanted.observing, lab.note)
        bench = Bench(experiment, servers, lab, look, _pace(experiment), describe)
        return carry_out(bench, more_wanted(experiment), told.done), interrupts.asked


def _pace(experiment: Experiment) -> Pacing:
    cluster = experiment.cluster
    return PaceOfGenerators(cluster.cpus_per_generator) if cluster else Pace(cores(), USERS_A_SHARD)


def looking(observing: Observing, note: Callable[[str], None]) -> Look:
    """How the counters of each step's servers and hosts are read; notes on it are told once."""
    told: set[str] = set()

    def look(looked: Sequence[Looked], began: float) -> Sampling | None:
        if not observing.on:
            return None
        sources = sources_for([observable(one) for one in looked], observing)
        for line in sources.notes:
            if line not in told:
                told.add(line)
                note(line)
        return Sampling(sources.watched, began)

    return look


def _end(carried: Carried, path: Path, wanted: Wanted, *, interrupted: bool) -> int:
    show(carried.result, path, as_json=wanted.as_json)
    if carried.error:
        tell(carried.error.message, carried.error.hint)
        return int(carried.error.exit_code)
    if code := aborted(carried.result):
        return code
    if interrupted and carried.result.run.state == "stopped":
        return ExitCode.INTERRUPTED
    if wanted.strict and any(step.generator.client_bound for step in carried.result.steps):
        tell("the generator was the limit, so the figures are not the server's", "see the notes")
        return ExitCode.CLIENT_BOUND
    return ExitCode.OK
