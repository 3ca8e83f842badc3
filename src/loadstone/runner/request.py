"""The request for a run, and the plan made from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone import engine
from loadstone.analyse import search
from loadstone.families import some_target
from loadstone.lab.machine.outgoing import OutgoingError
from loadstone.lab.step.order import InOrder, Searching, Steps, steps_of
from loadstone.lab.tables.discover import Data
from loadstone.lab.tables.inspect import check_descriptors
from loadstone.model.engine_plan import step_document
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.model.observe_request import Observing
from loadstone.model.plan import (
    Distribution,
    Drive,
    Load,
    MixMember,
    OptionValue,
    Plan,
    WorkloadSpec,
)
from loadstone.model.target import Endpoint, Target
from loadstone.model.template import Template
from loadstone.observe.sources import check_places
from loadstone.runs import run_folder
from loadstone.servers.abilities import Ability
from loadstone.servers.facts import Layout as LayoutKind
from loadstone.workloads.templates.file import form_for

_ANY_SIZE = 2_000_000_000
"""Placeholder for an unknown size when the plan is checked for the first time."""


class MixedIn(Frozen):
    """One of several workloads in a mix: its request if it were alone, and its share."""

    name: str
    users: int | None
    weight: float | None
    think_s: float | None
    request: Request


class Request(Load):
    """The request for a run: a workload or a mix, a load, and where the run is stored."""

    workload: str
    file: str | None = None
    """The workload file, if the workload is one."""

    layout: LayoutKind
    writes: bool
    options: dict[str, OptionValue]
    distribution: Distribution
    tables: int | None
    table_size: int | None
    warehouses: int | None = None
    foreign_keys: bool = False
    partitions: int = 0
    flavours: tuple[str, ...] = ()
    """Which servers the targets are, once they were asked."""

    book: int = 0
    """For `ledger`: distinguishes this run's entries from all others."""

    mix: tuple[MixedIn, ...] = ()
    """The workloads of a mix; `workload` then has all their names, and `ladder` the sum of their
    users.
    """

    observing: Observing = Observing()
    yes: bool = False
    """Also run next to tables that are neither Loadstone's nor in sysbench's layout."""
    out: Path
    storage_engine: str = "innodb"
    of_families: tuple[str, ...] = ()
    """Options that were given and mean something for servers of some families only."""
    is_proved: bool = False
    """Whether its findings are proved after it."""
    server: str | None = None
    settings: dict[str, str] = {}
    template: Template | None = None
    """The parsed file, if the workload is one."""

    @property
    def wanted_as(self) -> str:
        """The workload's name in messages of `prepare` and `run`."""
        return self.file or self.workload

    @property
    def most_users(self) -> int:
        """The most virtual users that any step may have."""
        climbs = self.search.most_users if self.search and self.search.peak else 0
        return max(*self.ladder, climbs)

    @property
    def reads_by_file(self) -> bool:
        """Whether statements of a file are driven, and all of them are declared to read only.

        The server then enforces this on each connection.
        """
        return not self.writes and any(one.template for one in self.alone)

    @property
    def alone(self) -> tuple[Request, ...]:
        """A request for each workload of a mix; the request itself if it is not a mix."""
        return tuple(one.request for one in self.mix) or (self,)

    @property
    def needs(self) -> tuple[Ability, ...]:
        """What it does with its servers that Loadstone cannot do with those of every family."""
        needed: dict[Ability, bool] = {
            "templates": any(one.template for one in self.alone),
            "extended": self.drive.protocol == "extended",
            "pipelined": self.drive.protocol == "pipelined",
            "trials": self.is_proved,
        }
        return tuple(ability for ability, wanted in needed.items() if wanted)

    @property
    def most_connections(self) -> int:
        """As `most_users`, plus the idle connections."""
        return self.most_users + self.drive.idle

    def plan_of_all(self, targets: Sequence[Target], data: Sequence[Data]) -> Plan:
        """The plan for existing tables: those of each workload, in the order of `alone`."""
        plan = self.plan(targets, data[0])
        if not self.mix:
            return plan
        mix = tuple(
            MixMember(
                name=one.name,
                workload=one.request.plan(targets, found).workload,
                users=one.users,
                weight=one.weight,
                think_s=one.think_s,
            )
            for one, found in zip(self.mix, data, strict=True)
        )
        all_of_them = WorkloadSpec(
            name=self.workload,
            tables=max(found.tables for found in data),
            table_size=max(found.table_size for found in data),
        )
        return plan.model_copy(update={"workload": all_of_them, "mix": mix})

    def plan(self, targets: Sequence[Target], data: Data) -> Plan:
        """The plan for existing tables."""
        load = {name: getattr(self, name) for name in Load.model_fields}
        workload = WorkloadSpec(
            name=self.workload,
            tables=data.tables,
            table_size=data.table_size,
            warehouses=data.warehouses,
            template=self.template.spec if self.template else None,
            options=self.options,
            book=self.book,
            distribution=self.distribution,
        )
        drive = {"drive": self._drive_at(targets)}
        return Plan(**load | drive, targets=tuple(targets), workload=workload)

    def in_dialect(self, family: str) -> Request:
        """The request with its templates in the SQL of a family.

        Raises:
            TemplateRefused: a file is not for servers of that family.
        """
        if self.mix:
            mix = tuple(
                one.model_copy(update={"request": one.request.in_dialect(family)})
                for one in self.mix
            )
            writes = any(one.request.writes for one in mix)
            return self.model_copy(update={"mix": mix, "writes": writes})
        if self.template is None:
            return self
        form = form_for(self.template, self.wanted_as, family)
        return self.model_copy(update={"template": form, "writes": form.writes})

    def at_servers(self, flavours: Sequence[str]) -> Request:
        """The request, once it is known which servers its targets are."""
        return self.model_copy(update={"flavours": tuple(flavours)})

    def _drive_at(self, targets: Sequence[Target]) -> Drive:
        family = targets[0].family
        drive = self.drive.beside_the_server(family) if any_local(targets) else self.drive
        drive = drive.at(family, self.flavours)
        return drive.reading(family) if self.reads_by_file else drive


MixedIn.model_rebuild()


def any_local(targets: Sequence[Target]) -> bool:
    """Whether a server may be on this machine, judging by its address."""
    return any(target.is_local for target in targets)


def check_request(request: Request, targets: int = 1) -> None:
    """Refuse whatever can be refused before anything is started.

    Raises:
        PlanRefused: the engine has no such workload, option or value.
        TargetError: so many users need more file descriptors than this process may have.
        StoreError: the run could not be stored.
        SourceError: a source of counters is invalid.
        OutgoingError: other machines are to drive the load from this one's addresses.
    """
    check_places(request.observing, targets)
    target = some_target(request.drive.protocol)
    plan = imagined_plan(request, target)
    first = steps_for(plan).following([])
    assert first is not None, "every plan has a step"
    engine.check_plan(step_document(plan, first, [Endpoint(target=target)]))
    if request.cluster is None:
        check_descriptors(request.most_connections)
    elif request.drive.connect.source_addresses:
        raise OutgoingError(
            say("--source-address names addresses of this machine, and others drive the load"),
            say("leave it out: each of the cluster's machines has its own"),
        )
    run_folder.check_writable(request.out)


def imagined_plan(request: Request, target: Target) -> Plan:
    """The plan at a target that nobody has looked at: sizes that were not given are made up."""
    data = [
        Data(
            tables=one.tables or one.most_users,
            table_size=one.table_size or _ANY_SIZE,
            warehouses=one.warehouses or int(one.layout == "tpcc"),
        )
        for one in request.alone
    ]
    return request.plan_of_all([target], data)


def steps_for(plan: Plan) -> Steps:
    """The steps of a plan: all in their order, or as a search chooses them."""
    wanted = plan.search
    if wanted is None:
        return InOrder(steps_of(plan))
    users = plan.ladder[0]
    return Searching(
        plan.workload.name,
        lambda done: search.following(wanted, users, done),
        lambda done: search.outcome(wanted, users, done),
    )
