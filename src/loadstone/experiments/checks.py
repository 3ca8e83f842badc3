"""Finds what contradicts itself in an experiment of valid values, and what cannot be done here.

Pure: facts about the machine and the server are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.config.lines import Path
from loadstone.config.problems import ExperimentRefused, Problems
from loadstone.model.distribution import not_drawn
from loadstone.model.experiment import Experiment, Factor, Level, Variant
from loadstone.model.figure import General
from loadstone.model.message import Message, say
from loadstone.model.nearest import nearest, nearest_or_all
from loadstone.model.plan import Closed, MixMember, WorkloadSpec
from loadstone.model.search import SearchPlan

if TYPE_CHECKING:
    from loadstone.engine import WorkloadInfo
    from loadstone.experiments.file import ExperimentFile

NONE_REFUSED: Mapping[tuple[str, str], str] = {}

_OPTIONS_THAT_ARE_NO_VARIABLES = ("plugin_load_add", "plugin_load", "default_storage_engine")


@dataclass(frozen=True)
class Machine:
    """What this machine allows us to do to a sandbox."""

    is_root: bool
    """Whether cgroups and network namespaces can be made."""
    cores: int
    memory_bytes: int | None = None


def check(experiment: Experiment, machine: Machine, faults: Problems) -> None:
    """Add everything that is wrong to the faults."""
    _check_place(experiment, faults)
    _check_repeats(experiment, faults)
    _check_workload_names(experiment, faults)
    _check_members(experiment, faults)
    _check_scripts(experiment, faults)
    if experiment.search:
        _check_search(experiment, experiment.search, faults)
    for factor in experiment.factors:
        _check_alike(factor, faults)
    for path, level in _levels(experiment):
        _check_level(path, level, faults)
        _check_limits(path, level, machine, faults)
    _check_variants(experiment, faults)
    _check_between_factors(experiment, faults)
    if experiment.cluster and (said := beyond_a_cluster(experiment)):
        write = say("leave [cluster] out, or measure a [target] that all its nodes reach")
        faults.add(("cluster",), said, write)


def beyond_a_cluster(experiment: Experiment) -> Message | None:
    """Why other machines cannot drive it; `None` if they can."""
    if any(_is_sandboxed(experiment, each) for each in experiment.variants):
        return say("a throwaway server cannot be reached from other machines")
    targets = [experiment.target, *(level.target for _, level in _levels(experiment))]
    clients = [level.client for _, level in _levels(experiment)]
    if any(each and each.socket for each in targets) or any(
        each and each.connect == "socket" for each in clients
    ):
        return say("a unix socket cannot be reached from other machines")
    return None


_NO_ROOT = (
    say("only root can do that to a server"),
    say("run it as root, or leave it out and use a machine of that kind as another target"),
)


def _levels(experiment: Experiment) -> Iterator[tuple[Path, Level]]:
    for factor in experiment.factors:
        for level in factor.levels:
            yield ("factor", factor.name, level.name), level


def _check_place(experiment: Experiment, faults: Problems) -> None:
    if experiment.target and experiment.sandbox:
        said = say("both a target and a sandbox")
        faults.add(("target",), said, say("leave one out; a level may have a target of its own"))
    if experiment.target or experiment.sandbox:
        return
    own = [
        all(level.target or level.sandbox for level in each.levels) for each in experiment.factors
    ]
    if not any(own):
        write = say('write [sandbox], or [target] and url = "mysql://user@host:3306/schema"')
        said = say("neither a target nor a sandbox: nothing would be measured")
        faults.add(("target",), said, write)


def _check_repeats(experiment: Experiment, faults: Problems) -> None:
    if experiment.repeats % 2 and len(experiment.variants) > 1:
        said = say(
            "{number} repeats: variants alternate in both orders, AB and BA",
            number=experiment.repeats,
        )
        write = say("write {code}", code=f"repeats = {experiment.repeats + 1}")
        faults.add(("repeats",), said, write)
    if experiment.until and len(experiment.variants) < 2 and experiment.repeats < 2:
        said = say("a single repeat does not show how well the rate is known")
        faults.add(("repeats",), said, say("write repeats = 2 or more along with until"))
    if experiment.restore == "copy" and experiment.target:
        said = say("the data folder of a target may not be copied")
        faults.add(("restore",), said, say("write {code}", code='restore = "prepare"'))


def _check_workload_names(experiment: Experiment, faults: Problems) -> None:
    names = [workload.name for workload in experiment.workloads]
    for at, name in enumerate(names):
        if name in names[:at]:
            said = say("the workload {name} is there twice", name=name)
            faults.add(
                ("workload", at, "name"), said, say("leave one out; levels vary what differs")
            )


def _check_members(experiment: Experiment, faults: Problems) -> None:
    """Check that members' names are unique in the file: reports distinguish members by name."""
    known: dict[str, MixMember] = {}
    for at, workload in enumerate(experiment.workloads):
        for number, member in enumerate(workload.mix):
            if known.setdefault(member.name, member) != member:
                said = say("another mix of this file has another {name}", name=member.name)
                faults.add(
                    ("workload", at, "mix", number),
                    said,
                    say("write {code}", code='as = "another name"'),
                )


def first_script(experiment: Experiment) -> WorkloadSpec | None:
    """The first workload that is a script."""
    return next((each for each in experiment.workloads if each.script), None)


def _check_scripts(experiment: Experiment, faults: Problems) -> None:
    """Check that what applies to all workloads of the file is possible for a script as well."""
    script = first_script(experiment)
    if script is None:
        return
    drive = experiment.drive
    of_drills = drive.pauses_s is not None
    name = script.name
    opens = say("{script} is a script, which opens its connections itself", script=name)
    phases = say("{script} is a script, which cannot have phases", script=name)
    outages = say("{script} is a script, which does not report each user's outages", script=name)
    errors = say("{script} is a script, which decides itself what errors do", script=name)
    for key, is_asked, said in (
        ("phases", experiment.phases, phases),
        ("idle", drive.idle, opens),
        ("reconnect", drive.reconnect_after, opens),
        ("timeline", of_drills, outages),
        ("on_error", not of_drills and drive.on_error != "restart", errors),
    ):
        if is_asked:
            write = say("leave {key} out, or give {script} a file of its own", key=key, script=name)
            faults.add((key,), said, write)
    on_targets = any(not _is_sandboxed(experiment, each) for each in experiment.variants)
    if experiment.restore == "prepare" and on_targets:
        said = say(
            "{script} is a script, which may drop anything: it prepares only in a sandbox",
            script=name,
        )
        write = say('write restore = "none", or [sandbox] instead of the target')
        faults.add(("restore",), said, write)


def _check_search(experiment: Experiment, search: SearchPlan, faults: Problems) -> None:
    """Check that nothing conflicts with a search; the rules are those of a plain run."""
    if experiment.phases:
        said = say("a search chooses levels itself, and phases have none to choose")
        faults.add(("phases",), said, say("leave it out, or [search]"))
    else:
        _check_searched_levels(experiment, search, faults)
    for at, workload in enumerate(experiment.workloads):
        if workload.mix:
            said = say("a search looks for the level of one workload")
            faults.add(("workload", at, "mix"), said, say("leave all but one out, or [search]"))
    if experiment.protection.max_load:
        said = say("a load that is held back does not show what the server can do")
        faults.add(("max_load",), said, say("leave it out, or write abort_if"))
    arrival = experiment.drive.arrival
    if search.objective and isinstance(arrival, Closed) and arrival.think_s:
        said = say("events are due by a rate, whatever the think time is")
        faults.add(("think",), said, say("leave it out, or the objective"))


def _check_searched_levels(experiment: Experiment, search: SearchPlan, faults: Problems) -> None:
    if experiment.rates:
        said = say("a search chooses the rates itself")
        faults.add(("rates",), said, say("leave it out, or [search]"))
    if search.peak and faults.has(("ladder",)):
        said = say("on its way to the peak a search chooses the users itself")
        faults.add(("ladder",), said, say("leave it out; most_users in [search] is its limit"))
    elif len(experiment.ladder) > 1:
        said = say("a search drives all its rates with one number of users")
        write = say("write {code}", code=f"ladder = [{max(experiment.ladder)}]")
        faults.add(("ladder",), said, write)


def _check_alike(factor: Factor, faults: Problems) -> None:
    """Refuse two levels that do the same: comparing them would be pointless."""
    seen: dict[str, str] = {}
    for level in factor.levels:
        same = seen.setdefault(level.model_dump_json(exclude={"name"}), level.name)
        if same != level.name:
            path = ("factor", factor.name, level.name)
            said = say("it is the same as the level {level}", level=same)
            faults.add(path, said, say("change it, or leave one out"))


def _check_level(path: Path, level: Level, faults: Problems) -> None:
    if level.target and level.sandbox:
        faults.add((*path, "sandbox"), say("both a target and a sandbox"), say("leave one out"))
    for name in level.startup.keys() & level.dynamic.keys():
        said = say("{name} is set at the start and while it runs", name=name)
        faults.add((*path, "dynamic"), said, say("write it under one of the two"))
    for name in level.variables.keys() & level.per_session.keys():
        said = say("{name} is set for the server and for each session", name=name)
        faults.add((*path, "session"), said, say("write it under one of the two"))
    client = level.client
    if client and client.connect == "socket" and client.hosts:
        said = say("hosts are reached over TCP")
        faults.add((*path, "client", "connect"), said, say("leave connect out"))
    if client and client.connect == "pooler" and client.hosts:
        said = say("hosts are reached directly")
        faults.add((*path, "client", "connect"), said, say("leave connect out"))


def _check_limits(path: Path, level: Level, machine: Machine, faults: Problems) -> None:
    for name, wanted in (("cgroup", level.cgroup), ("network", level.network)):
        if wanted and not machine.is_root:
            faults.add((*path, name), *_NO_ROOT)
    limit = level.cgroup
    if limit and limit.cores and limit.cores > machine.cores:
        said = say(
            "{cores} cores on a machine of {all}", cores=General(limit.cores), all=machine.cores
        )
        write = say("write cores = {cores} or less", cores=machine.cores)
        faults.add((*path, "cgroup", "cores"), said, write)
    has = machine.memory_bytes
    if limit and limit.memory_bytes and has and limit.memory_bytes > has:
        said = say("{memory} on a machine of {all}", memory=_gib(limit.memory_bytes), all=_gib(has))
        faults.add((*path, "cgroup", "memory"), said, say("write what this machine has, or less"))


def _gib(size: int) -> str:
    return f"{size / 1024**3:.3g} GiB"


def _check_variants(experiment: Experiment, faults: Problems) -> None:
    """Check that each level's changes to a server are possible in combination with the others."""
    told: set[tuple[Path, str]] = set()
    for variant in experiment.variants:
        if not _is_sandboxed(experiment, variant):
            for factor, level in variant.levels:
                told |= {(("factor", factor, level.name), what) for what in _of_sandboxes(level)}
        _check_way(variant, faults)
        _check_protocol(variant, faults)
        _check_pooler(experiment, variant, faults)
        _check_pooled_sessions(experiment, variant, faults)
    for path, what in sorted(told, key=str):
        said = say("the server is a target, which is neither started nor limited by Loadstone")
        faults.add(
            (*path, what), said, say("write [sandbox] instead of the target, or use dynamic")
        )


def _check_protocol(variant: Variant, faults: Problems) -> None:
    """Refuse what is said twice about how statements are sent."""
    levels = [(factor, level) for factor, level in variant.levels if level.client]
    if not any(level.client and level.client.prepared is not None for _, level in levels):
        return
    for factor, level in levels:
        path = ("factor", factor, level.name, "client", "protocol")
        if level.client and level.client.protocol is not None and path not in faults.paths:
            said = say("prepared already says how statements are sent")
            faults.add(path, said, say("leave one out"))


def _check_way(variant: Variant, faults: Problems) -> None:
    """Refuse a socket where the line to the server is limited."""
    if not any(level.network for _, level in variant.levels):
        return
    for factor, level in variant.levels:
        path = ("factor", factor, level.name, "client", "connect")
        if level.client and level.client.connect == "socket" and path not in faults.paths:
            said = say("a socket does not go over the network that is limited")
            faults.add(path, said, say("write {code}", code='connect = "tcp"'))


def _check_pooler(experiment: Experiment, variant: Variant, faults: Problems) -> None:
    """Refuse a pooler that is not there."""
    sandboxes = [experiment.sandbox, *(level.sandbox for _, level in variant.levels)]
    is_there = _is_sandboxed(experiment, variant) and any(
        each and each.pooler for each in sandboxes
    )
    for factor, level in variant.levels:
        path = ("factor", factor, level.name, "client", "connect")
        asks = level.client and level.client.connect == "pooler"
        if asks and not is_there and path not in faults.paths:
            said = say("there is no sandbox with a pooler")
            faults.add(path, said, say('write pooler = "pgbouncer" under [sandbox]'))


def _check_pooled_sessions(experiment: Experiment, variant: Variant, faults: Problems) -> None:
    """Refuse settings of sessions that a pooler passes on to other variants."""
    sandboxes = [experiment.sandbox, *(level.sandbox for _, level in variant.levels)]
    modes = [each.pooler_settings.get("pool_mode") for each in sandboxes if each and each.pooler]
    is_pooled = any(
        level.client and level.client.connect == "pooler" for _, level in variant.levels
    )
    # By default PgBouncer keeps a session for its client.
    if not is_pooled or set(modes) <= {None, "session"}:
        return
    for factor, level in variant.levels:
        path = ("factor", factor, level.name, "session")
        if level.per_session and path not in faults.paths:
            said = say("a pooler with this pool_mode gives a session to others, as it was set")
            faults.add(path, said, say('write pool_mode = "session", or dynamic'))


def _is_sandboxed(experiment: Experiment, variant: Variant) -> bool:
    if any(level.target for _, level in variant.levels):
        return False
    return bool(experiment.sandbox or any(level.sandbox for _, level in variant.levels))


def _of_sandboxes(level: Level) -> list[str]:
    asked = {"startup": level.startup, "cgroup": level.cgroup, "network": level.network}
    return [name for name, value in asked.items() if value]


def _check_between_factors(experiment: Experiment, faults: Problems) -> None:
    """Refuse two factors that set the same thing."""
    owners: dict[str, str] = {}
    for path, level in _levels(experiment):
        factor = str(path[1])
        for what, where in _set_by(level):
            owner = owners.setdefault(what, factor)
            if owner != factor:
                said = say("the factor {factor} sets {what} as well", factor=owner, what=what)
                faults.add((*path, *where), said, say("let one factor have it"))


def _set_by(level: Level) -> Iterator[tuple[str, Path]]:
    for kind, names in (
        ("startup", level.startup), ("dynamic", level.dynamic), ("session", level.per_session)
    ):  # fmt: skip
        for name in names:
            yield name, (kind, name)
    if level.target or level.sandbox:
        yield say("the server"), ("target" if level.target else "sandbox",)
    for kind, options in (
        ("client", level.client), ("cgroup", level.cgroup), ("network", level.network)
    ):  # fmt: skip
        for name in options.model_dump(exclude_defaults=True) if options else ():
            yield f"{kind}.{name}", (kind, name)


def check_variables(
    file: ExperimentFile,
    known: Mapping[str, bool],
    refused: Mapping[tuple[str, str], str] = NONE_REFUSED,
    *,
    is_postgresql: bool = False,
) -> None:
    """Check the variables to be set: whether the server has them, and whether they are dynamic.

    Variables of plugins may be unknown before their plugin is loaded: `loose_` in front of the name
    leaves the check to the server, as in its own option files. Those of PostgreSQL's extensions are
    known by the point in their names.

    Args:
        file: the experiment.
        known: what its servers have.
        refused: why a session of them may not set a variable to a value.
        is_postgresql: whether all of them are of PostgreSQL's family.

    Raises:
        ExperimentRefused: it has no such variable, or one that does not change while it runs.
    """
    faults = Problems(file.lines)
    names = {name.lower(): dynamic for name, dynamic in known.items()}
    check = _check_setting if is_postgresql else _check_variable
    for path, level in _levels(file.experiment):
        for name in level.startup:
            check((*path, "startup", name), names, faults)
        for name in level.dynamic:
            if check((*path, "dynamic", name), names, faults) and not names[name]:
                said = say("the server reads it only when it starts")
                faults.add((*path, "dynamic", name), said, say("write it under startup"))
        for name, value in level.per_session.items():
            where = (*path, "session", name)
            if check(where, names, faults) and (why := refused.get((name, value))):
                said = say("a session cannot set it: {why}", why=why)
                faults.add(where, said, say("write a value that a session may set, or dynamic"))
    for name in file.experiment.sandbox.settings if file.experiment.sandbox else ():
        check(("sandbox", "settings", name), names, faults)
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)


def _check_variable(path: Path, known: Mapping[str, bool], faults: Problems) -> bool:
    """Check that the variable exists; returns whether it can be checked further."""
    name = str(path[-1])
    if name in known:
        return True
    if not name.startswith("loose_") and name not in _OPTIONS_THAT_ARE_NO_VARIABLES:
        write = nearest(name, known) or say(
            "write {name} if a plugin brings it", name=f"loose_{name}"
        )
        faults.add(path, say("the server has no such variable"), write)
    return False


def _check_setting(path: Path, known: Mapping[str, bool], faults: Problems) -> bool:
    """The same for PostgreSQL."""
    name = str(path[-1])
    if name not in known and "." not in name:
        write = nearest(name, known) or say("SHOW ALL lists them all")
        faults.add(path, say("the server has no such variable"), write)
    return name in known


def check_workloads(file: ExperimentFile, known: Mapping[str, WorkloadInfo]) -> None:
    """Check the workloads and their options against those of the engine.

    Raises:
        ExperimentRefused: there is no such workload, it has no such option, or a distribution has
            no effect on it.
    """
    faults = Problems(file.lines)
    for at, workload in enumerate(file.experiment.workloads):
        path: Path = ("workload", at)
        if not workload.mix:
            _check_workload(path, workload, known, faults)
        for number, member in enumerate(workload.mix):
            _check_workload((*path, "mix", number), member.workload, known, faults)
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)


def _check_workload(
    path: Path, workload: WorkloadSpec, known: Mapping[str, WorkloadInfo], faults: Problems
) -> None:
    if workload.script:
        return
    if workload.template:
        _check_distribution(path, workload, "template", faults)
        return
    if workload.name not in known:
        write = nearest_or_all(workload.name, known)
        faults.add((*path, "name"), say("there is no workload {name}", name=workload.name), write)
        return
    _check_distribution(path, workload, known[workload.name].layout, faults)
    options = known[workload.name].options
    for name in workload.options.keys() - options.keys():
        write = (
            say("its options are {names}", names=", ".join(options))
            if options
            else say("leave options out")
        )
        faults.add(
            (*path, "options", name), say("{name} has no such option", name=workload.name), write
        )


def _check_distribution(path: Path, workload: WorkloadSpec, layout: str, faults: Problems) -> None:
    """Refuse a distribution that was written, even the default, where it has no effect."""
    if "distribution" in workload.model_fields_set and (why := not_drawn(layout)):
        faults.add((*path, "distribution"), *why)
