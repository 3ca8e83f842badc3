"""Runs an experiment file, or resumes one where it stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from loadstone import engine
from loadstone.analyse.known_settings import keeps_commits
from loadstone.analyse.repeat_until import more_wanted
from loadstone.analyse.searches import searched, searching
from loadstone.analyse.steady import truncation
from loadstone.experiments.changes import Changes
from loadstone.experiments.checks import (
    Machine,
    beyond_a_cluster,
    check_variables,
    check_workloads,
    first_script,
)
from loadstone.experiments.file import ExperimentFile, parse_experiment, read_experiment
from loadstone.experiments.host_limits import check_limits, check_plans
from loadstone.experiments.hosts import Loads
from loadstone.experiments.runner import (
    CpuBudget,
    ExperimentContext,
    GeneratorCpus,
    LocalCpus,
    OfExperiment,
)
from loadstone.experiments.schedule import schedule
from loadstone.experiments.scripts import ScriptTables, with_scripts
from loadstone.experiments.servers import ReadyServer, Servers, ServerSetup
from loadstone.experiments.tables import check_tables, tables_of
from loadstone.experiments.trials import why_not_set
from loadstone.experiments.variants import Place as ServerPlace
from loadstone.experiments.variants import (
    client_of,
    drive_of,
    place_of,
    protocol_of,
    spoken_to,
    step_plan,
)
from loadstone.experiments.workloads import with_templates
from loadstone.families import require, require_of
from loadstone.lab.machine.environment import target_environment
from loadstone.lab.protection.protector import Protector
from loadstone.lab.protection.whereabouts import is_throwaway
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.loop import drive_steps
from loadstone.lab.step.runner import Lab
from loadstone.lab.step.shards import USERS_A_SHARD, cores
from loadstone.lab.tables.contents import contents_of
from loadstone.lab.tables.inspect import (
    InspectedTarget,
    check_descriptors,
    common_device,
    observable,
)
from loadstone.lab.tables.load import Cleaning, cleanup, layout_of, names_of, new_mark
from loadstone.lab.variables.values import known_variables, refused_in_session
from loadstone.model.cluster import ClusterAsked
from loadstone.model.engine_plan import Layout, LoadPlan
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment, Variant
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.model.observe_request import Observing
from loadstone.model.plan import Step
from loadstone.model.protection import Protection
from loadstone.model.recipe import RecipeAsked
from loadstone.model.result import Result, StepResult
from loadstone.model.target import Endpoint, Target
from loadstone.observe.sources import sources_for
from loadstone.runner.backend import StepBackend, parallel_loads, step_backend
from loadstone.runner.endpoints import reach
from loadstone.runner.finished import Finished, left_is_told
from loadstone.runner.protection import Reach, protector_of
from loadstone.runner.recording import ExperimentAsked, Place, begin_run, labelled, looking
from loadstone.runner.search_cap import capped
from loadstone.runner.tables import Filling, fill
from loadstone.runner.view import Quiet, View
from loadstone.runs import run_folder, vouched
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import read_log, result_of
from loadstone.runs.recorder import Recorder
from loadstone.sandbox import (
    SandboxError,
    SandboxSpec,
    ServerBinary,
    find_server,
    sandbox_at,
    start_sandbox,
)
from loadstone.servers.abilities import Ability
from loadstone.servers.errors import TargetError
from loadstone.servers.guard import Consent
from loadstone.workloads.templates.explain import check_loadable
from loadstone.workloads.templates.file import form_for


class NoConsent(LoadstoneError):
    """The run would change a server that others use, without the user's consent."""

    exit_code = ExitCode.GUARD


class NotOnACluster(LoadstoneError):
    """A cluster's machines cannot drive what is requested."""

    exit_code = ExitCode.USAGE


class ExperimentRequest(Frozen):
    """Options of a run in addition to the experiment file."""

    out: Path = Path("runs")
    observing: Observing = Observing()
    recipe: RecipeAsked | None = None
    """The recipe that the file was made from, if any."""
    yes: bool = False
    """Allow making and writing tables on another machine and next to tables of others, and setting
    global variables for a while on a server that is not a sandbox.
    """
    cluster: ClusterAsked | None = None
    """Replaces the file's cluster."""
    trusted: bool = False
    """Allow resuming a run that may be another user's."""
    protection: Protection = Protection()
    """Added to the file's protection."""


def checked(path: Path) -> ExperimentFile:
    """The parsed file, after all checks that need no server.

    Raises:
        ExperimentRefused: something in it is wrong, or cannot be done here.
    """
    return _checked_here(read_experiment(path, _this_machine()))


def checked_text(text: str, name: str) -> ExperimentFile:
    """The same as `checked`, for a text; messages call it `name`.

    Raises:
        ExperimentRefused: as `checked`.
    """
    return _checked_here(parse_experiment(text, name, _this_machine()))


def _this_machine() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(is_root=os.geteuid() == 0, cores=cores(), memory_bytes=pages)


def _checked_here(file: ExperimentFile) -> ExperimentFile:
    families = dict.fromkeys(_families_of(file.experiment))
    known = engine.workloads()
    file = with_templates(with_scripts(file), known, families)
    check_workloads(file, known)
    check_plans(file)
    check_limits(file)
    check_tables(file, known)
    return file


def _families_of(experiment: Experiment) -> Iterator[str]:
    """The families of its servers, as far as they are known before any is started.

    Raises:
        NotSupported: no experiments can be run with one of them.
    """
    for variant in experiment.variants:
        needed = _needs_of(variant)
        for target in _targets_of(experiment, variant):
            for ability in needed:
                require(target, ability)
            yield target.family
        spec = place_of(experiment, variant).sandbox
        if spec is not None and (binary := _binary_of(spec)) is not None:
            for ability in needed:
                require_of(binary.family, _label_of(binary), ability)
            yield binary.family


def _needs_of(variant: Variant) -> tuple[Ability, ...]:
    """What the family of a variant's servers must be capable of."""
    match protocol_of(client_of(variant)):
        case "extended" | "pipelined" as protocol:
            return "experiments", protocol
        case _:
            return ("experiments",)


def changes_of(experiment: Experiment) -> tuple[list[Changes], str | None]:
    """The changes made on targets; the second value says why their tables are unknown, if so."""
    servers = Servers(experiment, servers_with(experiment, reach, Quiet(), yes=True))
    try:
        return servers.changes(), None
    except TargetError as error:
        return servers.changes(asked=False), error.message


def throwaways_of(experiment: Experiment) -> list[str]:
    """The throwaway servers that it starts: `MariaDB 10.11.14`; the name of one not found here."""
    specs = (place_of(experiment, each).sandbox for each in experiment.variants)
    return list(dict.fromkeys(_program(spec) for spec in specs if spec))


def _program(spec: SandboxSpec) -> str:
    try:
        return _label_of(find_server(spec.server, spec.root))
    except SandboxError as error:  # reported when it is to be started
        return spec.server or error.message


def _binary_of(spec: SandboxSpec) -> ServerBinary | None:
    """The program that a throwaway server will be; `None` if there is none here."""
    try:
        return find_server(spec.server, spec.root)
    except SandboxError:  # reported when it is to be started
        return None


def _label_of(binary: ServerBinary) -> str:
    return labelled(binary.family, binary.flavour, binary.version)


def losing_commits(experiment: Experiment) -> tuple[Target, list[str]] | None:
    """A target that is no sandbox, and the variables of which others' commits there depend.

    `None`: no variant sets one that decides whether commits survive a crash.
    """
    for variant in experiment.variants:
        for target in _targets_of(experiment, variant):
            names = [name for name in variant.dynamic if keeps_commits(name, target.family)]
            if names and not sandbox_at(target):
                return target, names
    return None


def on_cluster(experiment: Experiment, asked: ClusterAsked | None) -> Experiment:
    """The experiment, driven by the machines of `asked` if it names some.

    Raises:
        NotOnACluster: other machines cannot drive it.
    """
    if asked is None:
        return experiment
    if said := beyond_a_cluster(experiment):
        raise NotOnACluster(
            say("--cluster: {why}: measure a [target] that all nodes reach", why=said)
        )
    return experiment.model_copy(update={"cluster": asked})


def protected(experiment: Experiment, more: Protection) -> Experiment:
    """The experiment, with the protection of the command line added to that of the file."""
    both = experiment.protection.combined(more)
    return experiment.model_copy(update={"protection": both})


def begin(file: ExperimentFile, asked: ExperimentRequest, view: View) -> Finished:
    """Run a file from its first step.

    Raises:
        LoadstoneError: nothing was driven. A later error is in the returned value.
    """
    experiment = protected(on_cluster(file.experiment, asked.cluster), asked.protection)
    if experiment.cluster is None:
        check_descriptors(experiment.most_users + experiment.drive.idle)
    check_consent(experiment, yes=asked.yes)
    run_folder.check_writable(asked.out)
    _check_variables(file, view)
    means = servers_with(experiment, reach, view, yes=asked.yes)
    with (
        _backend(experiment, view) as backend,
        Servers(experiment, means) as servers,
        left_is_told(servers.told.left, view),
    ):
        looked, notes = servers.prepare()
        experiment = _capped(experiment, looked)
        protector = _protector(experiment, looked)
        recorder = _recorder(experiment, servers, looked, asked, view)
        view.begun(recorder.folder)
        how = _How(asked, view, backend, notes, protector)
        return _run_experiment(experiment, servers, recorder, how)


def resume(run: str, asked: ExperimentRequest, view: View) -> Finished:
    """Continue a run where it stopped.

    Raises:
        StoreError: there is no such run, it is no experiment, or it has all its steps.
        NotOurs: another user started it, and the user has not confirmed that it is meant.
        LoadstoneError: as `begin`.
    """
    path = run_folder.find(asked.out, run)
    ours = vouched.read(path, trusted=asked.trusted)
    before_asked = ours.asked
    if before_asked.experiment is None:
        raise StoreError(
            say("{run} is no experiment", run=path.name),
            say("only experiments can be resumed: run it again"),
        )
    experiment = protected(on_cluster(before_asked.experiment, asked.cluster), asked.protection)
    log = read_log(path)
    before = result_of(path, log)
    if log.begin is None or before.run.state == "finished":
        raise StoreError(
            say("there is nothing left to do in {run}", run=path.name),
            say("see it with loadstone runs show"),
        )
    check_consent(experiment, yes=asked.yes)
    done = [step for step in before.steps if step.state == "finished"]
    # A run from before tables had marks is asked for all tables that are there.
    means = servers_with(experiment, reach, view, yes=asked.yes, mark=before_asked.mark)
    with (
        _backend(experiment, view) as backend,
        Servers(experiment, means) as servers,
        left_is_told(servers.told.left, view),
    ):
        looked, notes = servers.prepare()
        protector = _protector(experiment, looked)
        environment = ours.environment
        recorder = Recorder(path, before_asked, (), before=log.begin, environment=environment)
        recorder.prepared_since(view.commanded)
        recorder.limits(asked.observing.limits)
        view.begun(path)
        notes = [*notes, _taken_up(before, done)]
        how = _How(asked, view, backend, notes, protector, done)
        return _run_experiment(experiment, servers, recorder, how)


def _backend(experiment: Experiment, view: View) -> AbstractContextManager[StepBackend]:
    """The backend of this machine, or that of the experiment's cluster."""
    places = [place_of(experiment, each) for each in experiment.variants]
    targets = [place.target for place in places if place.target]
    return step_backend(experiment.cluster, targets, experiment.most_users, view.announce)


def _taken_up(before: Result, done: Sequence[StepResult]) -> Message:
    half = [step.step for step in before.steps if step.state != "finished"]
    if not half:
        return say("resumed after {done} steps", done=len(done))
    return say(
        "resumed after {done} steps; step {step}, which was not finished, is measured again",
        done=len(done),
        step=half[-1],
    )


def servers_with(
    experiment: Experiment,
    reach: Reach,
    view: View,
    *,
    yes: bool = False,
    mark: str | None = None,
) -> ServerSetup:
    """The means to start and prepare the experiment's servers; `reach` finds a target's password.

    `mark`: the mark of its tables, if it made some before.
    """
    known, own = engine.workloads(), mark or new_mark()

    def consent(endpoint: Endpoint) -> Consent:
        return Consent(yes=yes, sandbox=is_throwaway(endpoint))

    templates = {
        tuple(table.name for table in template.loaded()): template
        for template in experiment.templates.values()
    }

    def fitted(layout: Layout, endpoint: Endpoint) -> Layout:
        """The layout as servers of the endpoint's family have it."""
        template = templates.get(tuple(table.name for table in layout.template))
        if template is None:
            return layout
        return layout_of(form_for(template, template.name, endpoint.target.family))

    def fill_tables(layout: Layout, endpoint: Endpoint) -> None:
        template = templates.get(tuple(table.name for table in layout.template))
        if template:
            form = form_for(template, template.name, endpoint.target.family)
            check_loadable(form, template.name, endpoint)
        layout = fitted(layout, endpoint)
        plan = LoadPlan(layout=layout, parallel=parallel_loads(), seed=experiment.seed)
        fill(plan, endpoint, Filling(consent(endpoint), mark=own), view)

    def empty(layout: Layout, endpoint: Endpoint) -> None:
        cleanup(endpoint, Cleaning(consent(endpoint), names_of(fitted(layout, endpoint))))

    scripts = ScriptTables(experiment, parallel_loads(), view.announce)
    tables = tables_of(experiment, known)
    contents = None if tables.scripts else contents_of(tables.groups, experiment.seed)
    loads = Loads(tables, fill_tables, empty, scripts, contents, view.announce)
    return ServerSetup(
        known, loads, reach, view.announce, Consent(yes=yes), own, lists=view.will_change
    )


def check_consent(experiment: Experiment, *, yes: bool) -> None:
    """Check that scripts and global variables are allowed on targets that are not sandboxes.

    Variables are set in the same way as for `--prove`.

    Raises:
        NoConsent: the user did not agree, or commits of others might be lost.
    """
    script = first_script(experiment)
    for variant in experiment.variants:
        for target in _targets_of(experiment, variant):
            if sandbox_at(target):
                continue
            if script and not yes:
                said = say(
                    "{script} is a script, which may write to anything on {place}",
                    script=script.name,
                    place=target.place,
                )
                raise NoConsent(said, say("if you mean it: --yes"))
            if not variant.dynamic:
                continue
            names = list(variant.dynamic)
            risky = any(keeps_commits(name, target.family) for name in names)
            refused = why_not_set(names, target.place, risks_commits=risky, yes=yes)
            if refused:
                hint = say("if you mean it: --yes") if refused.wants_yes else _ON_A_SANDBOX
                said = say(
                    "{variant} is not measured: {why}", variant=variant.name, why=refused.why
                )
                raise NoConsent(said, hint)


_ON_A_SANDBOX = say("[sandbox] instead of [target] measures it on a throwaway server")


def _targets_of(experiment: Experiment, variant: Variant) -> list[Target]:
    """The servers that a variant is measured on, except those that the experiment starts."""
    target = place_of(experiment, variant).target
    if target is None:
        return []
    endpoints = spoken_to(Endpoint(target=target), client_of(variant))
    return [endpoint.target for endpoint in endpoints]


def _check_variables(file: ExperimentFile, view: View) -> None:
    """Check variables on a server of each kind, before any is prepared.

    Raises:
        ExperimentRefused: it does not know a variable, or one does not change while it runs.
    """
    experiment = file.experiment
    specs = [place_of(experiment, each).sandbox for each in experiment.variants]
    set_at_start = any(spec and spec.settings for spec in specs)
    if not set_at_start and not any(
        each.dynamic or each.per_session for each in experiment.variants
    ):
        return
    known: dict[str, bool] = {}
    refused: dict[tuple[str, str], str] = {}
    for answer in _asked_of_servers(experiment, view):
        refused |= answer.refused
        for name, dynamic in answer.known.items():
            known[name] = known.get(name, False) or dynamic
    families = {*_families_of(experiment)}
    check_variables(file, known, refused, is_postgresql=families == {POSTGRESQL})


@dataclass(frozen=True)
class _Answer:
    """What a server says of its variables."""

    known: Mapping[str, bool]
    """By name, and whether each can be set while the server runs."""
    refused: Mapping[tuple[str, str], str]
    """Why a session may not set a variable to a value that a level has."""


def _asked_of_servers(experiment: Experiment, view: View) -> list[_Answer]:
    """Asks one server of each kind, about what the variants that are measured on it set."""
    wanted: dict[str, tuple[ServerPlace, dict[tuple[str, str], None]]] = {}
    for variant in experiment.variants:
        place = place_of(experiment, variant)
        spec = place.sandbox
        kind = f"sandbox {spec.server} {spec.root}" if spec else place.key
        _, settings = wanted.setdefault(kind, (place, {}))
        settings |= dict.fromkeys(variant.per_session.items())
    answers = []
    for place, settings in wanted.values():
        if place.target:
            answers.append(_answer_of(reach(place.target), settings))
        elif place.sandbox:
            view.announce(say("asking a throwaway server for its variables"))
            with start_sandbox(place.sandbox.model_copy(update={"settings": {}})) as bare:
                answers.append(_answer_of(bare.local, settings))
    return answers


def _answer_of(endpoint: Endpoint, settings: Iterable[tuple[str, str]]) -> _Answer:
    return _Answer(known_variables(endpoint), refused_in_session(endpoint, settings))


def _protector(experiment: Experiment, looked: Sequence[InspectedTarget]) -> Protector:
    """The protector of its servers; what cannot be watched there is refused now.

    Raises:
        ConditionError, TargetError: a condition needs a value that a server does not have.
    """
    endpoints = [one.endpoint for one in looked]
    by_user = experiment.cluster is not None
    found = protector_of(experiment.protection, endpoints, reach, by_user=by_user)
    found.look(endpoints)
    return found


def _capped(experiment: Experiment, looked: Sequence[InspectedTarget]) -> Experiment:
    """The experiment, with the climb of all variants limited to what every server accepts."""
    search = experiment.search
    for one in looked:
        search = capped(search, [one])
    return experiment.model_copy(update={"search": search})


def _recorder(
    experiment: Experiment,
    servers: Servers,
    looked: Sequence[InspectedTarget],
    asked: ExperimentRequest,
    view: View,
) -> Recorder:
    targets = [one.endpoint.target for one in looked]
    workload = servers.workload(experiment.workloads[0].name)
    drive = experiment.drive.model_copy(update={"seed": experiment.seed})
    drive = drive.at(targets[0].family, [one.facts.flavour for one in looked])
    plan = step_plan(experiment, workload, targets, drive)
    # Reports look up a member's part of the load here, for every workload.
    plan = plan.model_copy(update={"mix": experiment.members})
    steps = _steps(experiment)
    device = common_device(looked)
    limits = asked.observing.limits
    of = ExperimentAsked(experiment, steps, servers.mark, asked.recipe, device, limits)
    return begin_run(plan, looked, Place(asked.out, view.command_line, view.commanded), of=of)


def _steps(experiment: Experiment) -> tuple[Step, ...] | None:
    """All steps, if they are known beforehand."""
    if experiment.until or experiment.search:
        return None
    return tuple(planned.step for planned in schedule(experiment))


@dataclass(frozen=True)
class _How:
    """The settings of an experiment's run that are not in its file."""

    asked: ExperimentRequest
    view: View
    backend: StepBackend
    notes: Sequence[Message]
    """Notes made during preparation."""
    protector: Protector
    done: Sequence[StepResult] = ()
    """Steps that were run before it was stopped."""


def _run_experiment(
    experiment: Experiment, servers: Servers, recorder: Recorder, how: _How
) -> Finished:
    recorder.generators(how.backend.nodes)
    steps = _steps(experiment)
    planned = None if steps is None else len(steps)
    first = servers.workload(experiment.workloads[0].name)
    plan = step_plan(experiment, first, [Target()], drive_of(experiment, servers.variants[0], 1, 1))
    searches = _searches_left(experiment, how.done)
    watched = how.view.steps(plan, planned, long=True, searches=searches)
    with Interrupts() as interrupts, watched as observer:
        lab = Lab(
            (),
            recorder,
            observer,
            interrupts,
            truncation,
            may_change=False,
            start=how.backend.start,
            drives_again=how.backend.drives_again,
            protector=how.protector,
        )
        observing = how.asked.observing
        describe = _describe(recorder, observing)
        look = looking(observing, lab.note)
        bench = ExperimentContext(experiment, servers, lab, look, _pace(experiment), describe)
        source = OfExperiment(bench, more_wanted(experiment), searching(experiment))
        carried = drive_steps(source, lab, how.done, how.notes)
        left, stopped = tuple(servers.told.left), interrupts.asked
        ended = recorder.ended
        return Finished(carried.result, recorder.folder, carried.error, stopped, left, ended)


def _searches_left(experiment: Experiment, done: Sequence[StepResult]) -> int:
    """The planned searches that are not over; 1 if the experiment does not search."""
    if experiment.search is None:
        return 1
    over = sum(each.is_over for each in searched(experiment, done))
    return max(len(schedule(experiment)) - over, 1)


def _describe(recorder: Recorder, observing: Observing) -> Callable[[str, ReadyServer], None]:
    """Records the surroundings of each variant's servers when it is measured for the first time."""
    described: set[str] = set()

    def describe(variant: str, standing: ReadyServer) -> None:
        if variant in described:
            return
        described.add(variant)
        looked = standing.looked_again()
        sources = sources_for([observable(one) for one in looked], observing)
        recorder.variant(variant, target_environment(looked, sources))

    return describe


def _pace(experiment: Experiment) -> CpuBudget:
    cluster = experiment.cluster
    return (
        GeneratorCpus(cluster.cpus_per_generator) if cluster else LocalCpus(cores(), USERS_A_SHARD)
    )
