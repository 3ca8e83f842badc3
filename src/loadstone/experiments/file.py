"""From the text of an experiment file to an `Experiment`, or to all that is wrong with it.

docs/experiments.md has the format. Nothing is started before the whole file has been read, and
nothing here needs a server: what only a server knows is asked of it afterwards, with
`check_variables` and `check_workloads` of `experiment_checks`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from loadstone.config import values
from loadstone.config.lines import Path as KeyPath
from loadstone.config.lines import lines_of
from loadstone.config.phases import rates_of, seconds_of, users_of
from loadstone.config.problems import ExperimentRefused, Problems, Section, not_toml, text_of
from loadstone.experiments.checks import Machine, check
from loadstone.model.cluster import ClusterAsked, OnNodeLoss
from loadstone.model.experiment import (
    CgroupLimit,
    ClientOptions,
    Experiment,
    Factor,
    Level,
    NetworkLimit,
    Rules,
    SandboxChoice,
    Until,
)
from loadstone.model.plan import (
    USERS_OF_A_RATE,
    Closed,
    Drive,
    MixMember,
    OptionValue,
    Phase,
    ScriptSpec,
    Session,
    Special,
    WarmupAuto,
    WorkloadSpec,
)
from loadstone.model.protection import Protection
from loadstone.model.search import SearchPlan
from loadstone.model.target import Target
from loadstone.workloads.scripts.file import ENDING as SCRIPT_ENDING

DEFAULT_TABLES = 10
DEFAULT_TABLE_SIZE = 10_000
_ON_ERROR = values.one_of(("restart", "continue", "stop"))
_ISOLATION = values.one_of(
    ("read-uncommitted", "read-committed", "repeatable-read", "serializable")
)
_SIZES = ("tables", "table_size", "warehouses")
_OF_MEMBERS = (*_SIZES, "options", "distribution")
_OF_SCRIPTS = "a script has options of its own: write options = { tables = 10 }"
_ON_NODE_LOSS = values.one_of(get_args(OnNodeLoss))
DEFAULT_TIME_LIMIT_S = 8 * 3600.0


@dataclass(frozen=True)
class ExperimentFile:
    """An experiment, and where each of its keys was written."""

    name: str
    """The file's, for messages."""
    experiment: Experiment
    lines: Mapping[KeyPath, int]


def read_experiment(path: Path, machine: Machine) -> ExperimentFile:
    """Read and check a file.

    Raises:
        ExperimentRefused: it cannot be read, or something is wrong with it.
    """
    return parse_experiment(text_of(path, ExperimentRefused), str(path), machine)


def parse_experiment(text: str, file: str, machine: Machine) -> ExperimentFile:
    """The same of a text; `file` is how messages call it.

    Raises:
        ExperimentRefused: with all faults that were found.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExperimentRefused(file, [not_toml(str(error), text)]) from error
    faults = Problems(lines_of(text))
    experiment = _experiment(Section(document, (), faults), Path(file).stem)
    if experiment is not None and not faults.found:
        check(experiment, machine, faults)
    if faults.found or experiment is None:
        raise ExperimentRefused(file, faults.found)
    return ExperimentFile(file, experiment, lines_of(text))


def _experiment(top: Section, stem: str) -> Experiment | None:
    """`None` where a part that nothing can stand in for is missing or wrong."""
    target, sandbox = top.section("target"), top.section("sandbox")
    workloads = tuple(_workload(section) for section in top.sections("workload"))
    if not workloads:
        top.wrong("workload", "no workload", 'write [[workload]] and name = "oltp_read_write"')
    phases = top.take("phases", values.phases, ())
    search = _search(top.section("search"))
    given: dict[str, object] = {
        "name": top.take("name", values.text, stem),
        "target": _target(target) if target else None,
        "sandbox": _sandbox(sandbox) if sandbox else None,
        "workloads": workloads,
        "factors": _factors(top),
        "ladder": top.take("ladder", values.ladder, users_of(phases) or _users(search)),
        "search": search,
        "rates": rates_of(phases, top.take("rates", values.rates, ())),
        "duration_s": top.take("duration", values.seconds, 30.0),
        "warmup": top.take("warmup", values.warmup, WarmupAuto()),
        "drive": _drive(top),
        "repeats": top.take("repeats", values.count, 6),
        "until": _until(top),
        "rules": Rules(
            level=top.take("level", values.share, Rules().level),
            margin=top.take("margin", values.share, Rules().margin),
            power=top.take("power", values.share, Rules().power),
        ),
        "restore": top.take("restore", values.restore, "auto"),
        "columns": top.take("columns", values.columns, ()),
        "seed": top.take("seed", values.seed, 0),
        "cluster": _cluster(top.section("cluster")),
        "protection": _protection(top),
    }
    if phases:
        _check_phases(top, phases)
        given |= seconds_of(phases, None, None)
    top.end()
    return None if top.faults.found else Experiment.model_validate(given)


def _check_phases(top: Section, phases: tuple[Phase, ...]) -> None:
    """Phases say how long a step is, and how many users or events it has."""
    said = ["duration", "warmup", "rates"] + (["ladder"] if phases[0].users else [])
    for name in said:
        if top.has(name):
            top.wrong(name, "the phases say that", "leave it out, or the phases")


def _drive(top: Section) -> Drive:
    """How the load is driven, beside what a variant says of it."""
    is_drill = top.take("timeline", values.flag, False)
    drive = Drive.of_drill() if is_drill else Drive()
    session = Session(
        init_sql=top.take("init_sql", values.texts, ()),
        isolation=top.take("isolation", _ISOLATION, None),
    )
    return drive.model_copy(
        update={
            "arrival": Closed(think_s=top.take("think", values.seconds_or_none, 0.0)),
            "on_error": top.take("on_error", _ON_ERROR, drive.on_error),
            "reconnect_after": top.take("reconnect", values.count, None),
            "idle": top.take("idle", values.count, 0),
            "session": session,
        }
    )


def _protection(top: Section) -> Protection:
    return Protection(
        abort_if=top.take("abort_if", values.conditions, ()),
        max_load=top.take("max_load", values.conditions_of_max_load, ()),
        defaults=not top.take("no_abort", values.flag, False),
        replicas=top.take("replicas", values.targets, ()),
    )


def _until(top: Section) -> Until | None:
    limit = top.take("time_limit", values.seconds, DEFAULT_TIME_LIMIT_S)
    if not top.has("until"):
        if top.has("time_limit"):
            top.wrong("time_limit", "nothing is waited for", 'write until = "2%" beside it')
        return None
    return Until(half_width=top.take("until", values.share, 0.5), time_limit_s=limit)


def _search(section: Section | None) -> SearchPlan | None:
    if section is None:
        return None
    found = SearchPlan(
        objective=section.take("objective", values.objective, None),
        peak=section.take("peak", values.flag, False),
        most_users=section.take("most_users", values.count, SearchPlan().most_users),
    )
    if not section.has("objective") and not found.peak:
        section.wrong(None, "it looks for nothing", 'write objective = "p99<10ms", or peak = true')
    if section.has("most_users") and not found.peak:
        section.wrong("most_users", "only the way to the peak adds users", "write peak = true")
    section.end()
    return found


def _users(search: SearchPlan | None) -> tuple[int, ...]:
    """Where nobody says how many."""
    return (USERS_OF_A_RATE,) if search and search.objective else (1,)


def _target(section: Section) -> Target | None:
    if not section.has("url"):
        section.wrong(None, "no url", 'write url = "mysql://user@host:3306/schema"')
    found = section.take("url", values.target, None)
    section.end()
    return found


def _cluster(section: Section | None) -> ClusterAsked | None:
    if section is None:
        return None
    if not section.has("address"):
        section.wrong(None, "no address", 'write address = "10.0.0.1:6379", as Ray has it')
    found = ClusterAsked(
        address=section.take("address", values.text, ""),
        generators=section.take("generators", values.count, None),
        cpus_per_generator=section.take("cpus_per_generator", values.count, 1),
        on_node_loss=section.take("on_node_loss", _ON_NODE_LOSS, "continue"),
    )
    section.end()
    return found


def _sandbox(section: Section) -> SandboxChoice:
    found = SandboxChoice(
        server=section.take("server", values.text, None),
        root=section.take("root", values.folder, None),
        settings=section.take("settings", values.variables, {}),
    )
    section.end()
    return found


def _workload(section: Section) -> WorkloadSpec:
    members = tuple(_member(each) for each in section.sections("mix"))
    if members:
        return _mix(section, members)
    found = _alone(section)
    section.end(dict.fromkeys(_SIZES, _OF_SCRIPTS) if found.script else {})
    return found


def _alone(section: Section) -> WorkloadSpec:
    if not section.has("name"):
        write = "write name = \"oltp_read_write\", or the name of a template's or a script's file"
        section.wrong(None, "a workload without a name", write)
    name = section.take("name", values.text, "")
    if name.endswith(SCRIPT_ENDING):
        return _script(section, name)
    return WorkloadSpec(
        name=name,
        tables=section.take("tables", values.count, DEFAULT_TABLES),
        table_size=section.take("table_size", values.count, DEFAULT_TABLE_SIZE),
        warehouses=section.take("warehouses", values.count, 0),
        options=section.take("options", _options, {}),
        distribution=section.take("distribution", values.distribution, Special()),
    )


def _script(section: Section, path: str) -> WorkloadSpec:
    """A script makes tables of its own, as its own options say."""
    options = section.take("options", _options, {})
    script = ScriptSpec(
        path=path,
        options={name: _as_text(value) for name, value in options.items()},
        distribution=section.take("distribution", values.distribution, Special()),
    )
    return WorkloadSpec(name=Path(path).stem, tables=1, table_size=1, script=script)


def _as_text(value: OptionValue) -> str:
    """As it would be written on sysbench's command line."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _mix(section: Section, members: tuple[MixMember, ...]) -> WorkloadSpec:
    names = [member.name for member in members]
    for at, name in enumerate(names):
        if name in names[:at]:
            said = f"{name} is there twice"
            section.faults.add((*section.path, "mix", at), said, 'write as = "another name"')
    if all(member.users for member in members) and section.faults.found == []:
        said = "all of them have users of their own, and none is left for the ladder's"
        section.wrong("mix", said, "write one of them without users")
    found = WorkloadSpec(
        name=section.take("name", values.text, "+".join(names)),
        tables=max(member.workload.tables for member in members),
        table_size=max(member.workload.table_size for member in members),
        mix=members,
    )
    section.end(dict.fromkeys(_OF_MEMBERS, "write it below [[workload.mix]]"))
    return found


def _member(section: Section) -> MixMember:
    workload = _alone(section)
    if workload.script:
        said = "a script drives all users, and cannot be one of several"
        section.wrong("name", said, "write a [[workload]] of its own for it")
    users = section.take("users", values.count, None)
    weight = section.take("weight", values.weight, None)
    think_s = section.take("think", values.seconds_or_none, None)
    if users is not None and weight is not None:
        section.wrong("weight", "it has either users of its own or a weight", "leave one out")
    if think_s is not None and users is None:
        section.wrong("think", "it is of users of its own", "write users, or think above")
    found = MixMember(
        name=section.take("as", values.text, Path(workload.name).stem),
        workload=workload,
        users=users,
        weight=1.0 if users is None and weight is None else weight,
        think_s=think_s,
    )
    section.end()
    return found


def _options(value: object) -> dict[str, OptionValue]:
    if not isinstance(value, dict):
        raise values.InvalidValue(
            f"{values.shown(value)} is no table", "write { point_selects = 5 }"
        )
    for name, each in value.items():
        if not isinstance(each, bool | int | float | str):
            raise values.InvalidValue(f"{name} is {values.shown(each)}", f"write {name} = 5")
    return {name.replace("-", "_"): each for name, each in value.items()}


def _factors(top: Section) -> tuple[Factor, ...]:
    section = top.section("factor")
    if section is None:
        return ()
    # Whatever stands below [factor] is the name of one.
    below = [(name, section.section(name)) for name in section.names()]
    made = (_factor(name, each) for name, each in below if each is not None)
    return tuple(factor for factor in made if factor is not None)


def _factor(name: str, section: Section) -> Factor | None:
    below = [(level, section.section(level)) for level in section.names()]
    levels = tuple(_level(level, each) for level, each in below if each is not None)
    for word, path in [(name, section), *((level, each) for level, each in below if each)]:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", word):
            said = f"{word!r} cannot be the name of a factor or level"
            path.wrong(None, said, "write letters, digits, dots, dashes and underscores")
    if len(levels) < 2:
        said = "a factor with fewer than two levels varies nothing"
        section.wrong(None, said, f"write [factor.{name}.off] and [factor.{name}.on]")
        return None
    return Factor(name=name, levels=levels)


def _level(name: str, section: Section) -> Level:
    sandbox, target = section.section("sandbox"), section.section("target")
    found = Level(
        name=name,
        startup=section.take("startup", values.variables, {}),
        dynamic=section.take("dynamic", values.variables, {}),
        client=_client(section.section("client")),
        sandbox=_sandbox(sandbox) if sandbox else None,
        cgroup=_cgroup(section.section("cgroup")),
        network=_network(section.section("network")),
        target=_target(target) if target else None,
    )
    section.end()
    return found


def _client(section: Section | None) -> ClientOptions | None:
    if section is None:
        return None
    found = ClientOptions(
        tls=section.take("tls", values.tls, None),
        prepared=section.take("prepared", values.flag, None),
        connect=section.take("connect", values.one_of(("socket", "tcp")), None),
        compression=section.take("compression", values.kinds_of_compression, None),
        hosts=section.take("hosts", values.hosts, ()),
    )
    section.end()
    return found


def _cgroup(section: Section | None) -> CgroupLimit | None:
    if section is None:
        return None
    found = CgroupLimit(
        cores=section.take("cores", values.cores, None),
        memory_bytes=section.take("memory", values.size_bytes, None),
        read_iops=section.take("read_iops", values.count, None),
        write_iops=section.take("write_iops", values.count, None),
    )
    if not section.names():
        section.wrong(None, "it limits nothing", "write cores = 4, memory or write_iops")
    section.end()
    return found


def _network(section: Section | None) -> NetworkLimit | None:
    if section is None:
        return None
    found = NetworkLimit(
        bits_per_s=section.take("rate", values.bits_per_s, None),
        delay_s=section.take("delay", values.seconds, None),
    )
    if not section.names():
        section.wrong(None, "it limits nothing", 'write rate = "1Gbit" or delay = "1ms"')
    section.end()
    return found
