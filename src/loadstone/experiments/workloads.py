"""The workloads of an experiment: built in, from a file, scripts, or mixes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from loadstone.config.lines import Path as KeyPath
from loadstone.config.problems import ExperimentRefused, Problems
from loadstone.engine import WorkloadInfo
from loadstone.experiments.file import ExperimentFile
from loadstone.lab.tables.discover import Wanted, needed_beside
from loadstone.lab.tables.load import layout_for, layout_of
from loadstone.model.engine_plan import Layout
from loadstone.model.experiment import Experiment
from loadstone.model.message import say
from loadstone.model.plan import WorkloadSpec
from loadstone.model.template import Template
from loadstone.servers.guard import Consent
from loadstone.workloads.bundled import ENDING
from loadstone.workloads.templates.file import find_template, form_for, info_of

Known = Mapping[str, WorkloadInfo]


def info(experiment: Experiment, known: Known, workload: WorkloadSpec) -> WorkloadInfo:
    """The facts about one workload; for a mix, ask for each of its members."""
    if workload.script:
        # Nothing is known of a script's code.
        return WorkloadInfo(
            name=workload.name, summary="", options={}, writes=True, layout="template"
        )
    template = experiment.templates.get(workload.name)
    return info_of(template) if template and workload.template else known[workload.name]


def writes(experiment: Experiment, known: Known, workload: WorkloadSpec) -> bool:
    """Whether a workload, or any member of a mix, changes rows."""
    return any(info(experiment, known, one).writes for one in workload.alone)


def fills_anew(experiment: Experiment, known: Known, workload: WorkloadSpec) -> bool:
    """Whether each step of the workload fills its tables from the first key on."""
    return any(info(experiment, known, one).layout == "bulk" for one in workload.alone)


def reads_by_file(experiment: Experiment, known: Known, workload: WorkloadSpec) -> bool:
    """Whether statements of a file are driven, and all of them are declared to read only.

    The server then enforces this on each connection.
    """
    is_file = any(one.template for one in workload.alone)
    return is_file and not writes(experiment, known, workload)


def in_sql_of(experiment: Experiment, workload: WorkloadSpec, family: str) -> WorkloadSpec:
    """The workload with the statements that its files have for a family of servers."""
    if workload.mix:
        members = tuple(
            member.model_copy(update={"workload": in_sql_of(experiment, member.workload, family)})
            for member in workload.mix
        )
        return workload.model_copy(update={"mix": members})
    template = experiment.templates.get(workload.name) if workload.template else None
    form = template.form(family) if template else None
    return workload.model_copy(update={"template": form.spec}) if form else workload


def for_servers_of(experiment: Experiment, family: str) -> Experiment:
    """The experiment with its files as they are for a family of servers."""
    templates = {name: one.form(family) or one for name, one in experiment.templates.items()}
    workloads = tuple(in_sql_of(experiment, one, family) for one in experiment.workloads)
    return experiment.model_copy(update={"templates": templates, "workloads": workloads})


def layout_for_workload(experiment: Experiment, known: Known, workload: WorkloadSpec) -> Layout:
    """The tables that one workload needs."""
    if workload.template:
        return layout_of(experiment.templates[workload.name])
    kind = info(experiment, known, workload).layout
    return layout_for(kind, workload.tables, workload.table_size, workload.warehouses)


def wanted(
    experiment: Experiment, known: Known, workload: WorkloadSpec, consent: Consent
) -> tuple[Wanted, ...]:
    """The tables that a workload expects on a server; for a mix, those of each member.

    Only a script itself knows its tables.
    """
    if workload.script:
        return ()
    bound = reads_by_file(experiment, known, workload)
    return tuple(
        _wanted(experiment, info(experiment, known, one), one, consent, bound=bound)
        for one in workload.alone
    )


def _wanted(
    experiment: Experiment,
    known: WorkloadInfo,
    workload: WorkloadSpec,
    consent: Consent,
    *,
    bound: bool,
) -> Wanted:
    template = experiment.templates.get(workload.name) if workload.template else None
    return Wanted(
        workload=workload.name,
        layout=known.layout,
        names=tuple(table.name for table in template.loaded()) if template else (),
        effects=template.not_held if template and not bound else (),
        tables=None if template else workload.tables,
        table_size=None if template else workload.table_size,
        warehouses=workload.warehouses or None,
        users=experiment.most_users,
        beside=needed_beside(known.layout, workload.options),
        writes=known.writes,
        consent=consent,
    )


def with_templates(file: ExperimentFile, known: Known, families: Collection[str]) -> ExperimentFile:
    """The file, with each workload that names a file read from that file.

    Files are looked for from the experiment's own folder on. `families`: those of its servers.

    Raises:
        TemplateRefused: one cannot be read, something is wrong in it, or it is not for its servers.
        ExperimentRefused: two of them have the same name.
    """
    templates: dict[str, Template] = {}
    faults = Problems(file.lines)
    folder = Path(file.name).parent
    taken = frozenset(known) | {each.name for each in file.experiment.workloads if each.script}

    def read(workload: WorkloadSpec, path: KeyPath) -> WorkloadSpec:
        if workload.mix:
            members = tuple(
                member.model_copy(
                    update={"workload": read(member.workload, (*path, "mix", at, "name"))}
                )
                for at, member in enumerate(workload.mix)
            )
            largest = {
                size: max(getattr(one.workload, size) for one in members)
                for size in ("tables", "table_size")
            }
            return workload.model_copy(update={"mix": members} | largest)
        if workload.script or not workload.name.endswith(ENDING):
            return workload
        template = find_template(workload.name, folder, taken)
        for family in families:
            form_for(template, workload.name, family)
        before = templates.setdefault(template.name, template)
        if before != template:
            said = say("another file has the name {name} too", name=template.name)
            faults.add(path, said, say("write another name into one of the two files"))
        layout = layout_of(template)
        update = {
            "name": template.name,
            "template": template.spec,
            "tables": layout.tables,
            "table_size": layout.table_size,
        }
        return workload.model_copy(update=update)

    workloads = tuple(
        read(workload, ("workload", at, "name"))
        for at, workload in enumerate(file.experiment.workloads)
    )
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)
    update = {"workloads": workloads, "templates": templates}
    experiment = file.experiment.model_copy(update=update)
    return ExperimentFile(file.name, experiment, file.lines)
