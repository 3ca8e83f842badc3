"""The server of a step and its state: started, restored and configured for the step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from loadstone.engine import WorkloadInfo
from loadstone.experiments.changes import (
    Asking,
    Changes,
    changes_on,
    refuse_without_consent,
    set_by,
)
from loadstone.experiments.hosts import GivenServer, Host, Loads, OwnServer
from loadstone.experiments.schedule import PlannedStep
from loadstone.experiments.scripts import check_unchanged
from loadstone.experiments.tables import Tables, made_on_targets, tables_of, with_tables
from loadstone.experiments.tables import restoring as restoring_of
from loadstone.experiments.variants import (
    Place,
    client_of,
    drive_of,
    line_of,
    place_of,
    spoken_to,
    step_plan,
)
from loadstone.experiments.workloads import (
    fills_anew,
    for_servers_of,
    reads_by_file,
    wanted,
    writes,
)
from loadstone.lab.machine.generator_ceilings import generator_ceilings
from loadstone.lab.protection.company import Alone
from loadstone.lab.protection.first_contact import look_before_load
from loadstone.lab.tables.discover import Wanted
from loadstone.lab.tables.inspect import (
    InspectedTarget,
    check,
    confirm_tables,
    inspect_target,
    look_at_server,
)
from loadstone.lab.variables.stage import SettingsReport, staged
from loadstone.model.experiment import Experiment, Variant
from loadstone.model.message import Message, say
from loadstone.model.plan import Drive, Plan, WorkloadSpec
from loadstone.model.target import Endpoint, Target
from loadstone.runs.journal import Conditions
from loadstone.servers.guard import Consent
from loadstone.workloads.templates.explain import check_statements
from loadstone.workloads.templates.file import form_for


@dataclass(frozen=True)
class ServerSetup:
    """The means to start and prepare servers."""

    known: Mapping[str, WorkloadInfo]
    loads: Loads
    reach: Callable[[Target], Endpoint]
    """Returns a target's endpoint with its password."""
    announce: Callable[[str], None]
    """Shows a line of progress."""
    consent: Consent = Consent()
    """The user's consent to change targets that have tables of others."""
    mark: str = ""
    """The mark of its tables; tables with it are its own, from before the run was resumed."""
    lists: Callable[[str], None] | None = None
    """Announces what is changed on a target; `None`: `announce` does."""


@dataclass(frozen=True)
class ReadyServer:
    """A server in the state that one step needs."""

    looked: tuple[InspectedTarget, ...]
    dynamic: Mapping[str, str]
    settings_folder: Path
    beside: bool
    """Whether the server runs on this machine's cores, too."""
    told: SettingsReport
    """The reports of all times in which variables were set."""

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints for the load."""
        return tuple(one.endpoint for one in self.looked)

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets, without passwords."""
        return tuple(endpoint.target for endpoint in self.endpoints)

    def looked_again(self) -> tuple[InspectedTarget, ...]:
        """The servers' present state, with the variant's variables set."""
        return tuple(described(endpoint) for endpoint in self.endpoints)

    def conditions(self, plan: Plan) -> Conditions:
        """The conditions of a step, for the journal."""
        return Conditions(
            targets=tuple(target.url for target in self.targets),
            server_versions=tuple(one.facts.version for one in self.looked),
            ceilings=generator_ceilings(plan),
        )

    @contextlib.contextmanager
    def staged(self) -> Iterator[None]:
        """Set the variant's variables on all its servers, and put them back."""
        with contextlib.ExitStack() as stack:
            for endpoint in self.endpoints:
                setting = staged(endpoint, self.dynamic, self.settings_folder, self.told)
                stack.enter_context(setting)
            yield


class Servers:
    """All servers of an experiment; after the block none of ours is left."""

    def __init__(self, experiment: Experiment, means: ServerSetup) -> None:
        self._experiment = experiment
        self._means = means
        self._restarts = len({each.at_start(experiment.restarting) for each in self.variants}) > 1
        self._hosts: dict[str, Host] = {}
        self._places = {each.name: place_of(experiment, each) for each in self.variants}
        self._up: tuple[str, ...] | None = None
        self._kept = contextlib.ExitStack()
        self._alone: list[Alone] = []
        self.told = SettingsReport()
        """The reports on the variables that were set."""

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All variants."""
        return self._experiment.variants

    @property
    def mark(self) -> str:
        """The mark of its tables."""
        return self._means.mark

    @property
    def tables(self) -> Tables:
        """The tables to load."""
        return tables_of(self._experiment, self._means.known)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._kept as stack:
            for host in self._hosts.values():
                stack.callback(host.close)

    def changes(self, *, asked: bool = True) -> list[Changes]:
        """What is dropped, made and set on each target; throwaway servers are not listed.

        `asked`: the servers are asked which of the tables exist.

        Raises:
            GuardError, TargetError: as `changes_on`.
        """
        means = self._means
        asking = Asking(means.reach if asked else None, means.consent, means.mark)
        return [
            changes_on(place.target, self._made_on(place.target), set_by(on_it), asking)
            for place, on_it in self._by_place()
            if place.target
        ]

    def _made_on(self, target: Target) -> tuple[str, ...]:
        """The names of the tables that are repeatedly dropped and made there."""
        theirs = for_servers_of(self._experiment, target.family)
        return made_on_targets(theirs, tables_of(theirs, self._means.known))

    def prepare(self) -> tuple[list[InspectedTarget], list[Message]]:
        """Start each server once, load it, and try everything that the variants need of it.

        Returns the state of each server, and notes for the reader.

        Raises:
            SandboxError, TargetError, SettingsError, GuardError: something does not fit.
            ScriptChanged: a script has changed.
        """
        looked: list[InspectedTarget] = []
        notes: list[Message] = []
        check_unchanged(self._experiment)
        self._take_targets()
        for changes in self.changes():
            refuse_without_consent(changes, self._means.consent)
            for line in changes.lines():
                (self._means.lists or self._means.announce)(line)
        for place, on_it in self._by_place():
            host = self._hosts[place.key] = self._host(place)
            self._means.announce(_preparing(place, on_it))
            host.prepare()
            for variant in on_it:
                found = self._try(variant, host)
                notes += [note for note in found if note not in notes]
            looked.append(self._standing(on_it[0], host, self._experiment.workloads[0]).looked[0])
            host.settle()
        return looked, [*notes, *self.told.notes]

    def _take_targets(self) -> None:
        """Keep other programs out of the schemas of all targets until the experiment is over.

        Raises:
            GuardError: another is at work in one, or it serves others and the user has not agreed.
            TargetError: one could not be reached, or refused.
        """
        targets = [place.target for place, _ in self._by_place() if place.target]
        different = {(one.place, one.database): one for one in targets}.values()
        endpoints = [self._means.reach(target) for target in different]
        for note in look_before_load(endpoints, yes=self._means.consent.yes):
            self._means.announce(say("note: {note}", note=note))
        for endpoint in endpoints:
            alone = Alone(endpoint)
            self._kept.callback(alone.close)
            self._alone.append(alone)

    def stand(self, planned: PlannedStep) -> ReadyServer:
        """The server for a step: its block started, its data as the plan says.

        Raises:
            SandboxError, TargetError, GuardError: it is not available, or others are at work there.
            ScriptChanged: a script has changed.
        """
        check_unchanged(self._experiment)
        for alone in self._alone:
            if said := alone.renew():
                self.told.note(said)
        variant = next(each for each in self.variants if each.name == planned.step.variant)
        group = variant.at_start(self._experiment.restarting)
        if planned.fresh or self._up != group:
            self._begin(group)
        workload = next(
            each for each in self._experiment.workloads if each.name == planned.step.workload
        )
        host = self._hosts[self._places[variant.name].key]
        if fills_anew(self._experiment, self._means.known, workload):
            host.renew(self.tables.of[workload.name])
        host.limit_line(line_of(variant))
        standing = self._standing(variant, host, workload)
        if self._writes(workload) and self._places[variant.name].target:
            for endpoint in standing.endpoints:
                for one in self._wanted(workload, endpoint.target.family):
                    confirm_tables(endpoint, one)
        return standing

    def workload(self, name: str) -> WorkloadSpec:
        """The workload as it is driven: with a table for each user, if it needs that."""
        found = next(each for each in self._experiment.workloads if each.name == name)
        return with_tables(found, self._experiment, self._means.known)

    def only_reads_by_file(self, workload: WorkloadSpec) -> bool:
        """Whether the server makes each connection read-only."""
        return reads_by_file(self._experiment, self._means.known, workload)

    def _begin(self, group: tuple[str, ...]) -> None:
        restarting = self._experiment.restarting
        mine = {
            self._places[each.name].key: None
            for each in self.variants
            if each.at_start(restarting) == group
        }
        for key, host in self._hosts.items():
            if key not in mine:
                host.rest()
        for key in mine:
            self._hosts[key].begin()
        self._up = group

    def _host(self, place: Place) -> Host:
        if place.target:
            restoring = restoring_of(self._experiment, self.tables, "prepare")
            return GivenServer(place.target, self._means.reach, self._means.loads, restoring)
        restoring = restoring_of(self._experiment, self.tables, "copy")
        return OwnServer(place, self._means.loads, restoring, restarts=self._restarts)

    def _by_place(self) -> list[tuple[Place, list[Variant]]]:
        """Each server with the variants that are measured on it."""
        places = {each.key: each for each in self._places.values()}
        return [
            (place, [each for each in self.variants if self._places[each.name].key == key])
            for key, place in places.items()
        ]

    def _try(self, variant: Variant, host: Host) -> list[Message]:
        """Log in as the load will, set what will be set, and look for the tables."""
        notes: list[Message] = []
        for workload in self._experiment.workloads:
            standing = self._standing(variant, host, workload)
            for endpoint in standing.endpoints:
                for one in self._wanted(workload, endpoint.target.family):
                    inspect_target(endpoint, one, Drive().connect.timeout_s)
            plan = self._tried_plan(variant, workload, standing.targets)
            # It is unknown whether a script writes: a read-only server shows it.
            writes = self._writes(workload) and not workload.script
            notes += check(plan, standing.looked, writes=writes, observed=True)
            # After that: a proxy could give others what it sets for a session.
            for endpoint in standing.endpoints:
                self._check_statements(workload, endpoint)
            if workload.script and not self._is_ours(variant):
                notes.append(_left_changed(workload, standing))
        with self._standing(variant, host, self._experiment.workloads[0]).staged():
            return notes

    def _tried_plan(
        self, variant: Variant, workload: WorkloadSpec, targets: Sequence[Target]
    ) -> Plan:
        """The plan of a variant's steps, as far as what is tried before them depends on it."""
        # Nothing of that depends on the processors which drive the load.
        drive = drive_of(self._experiment, variant, cores=1, users_a_shard=1)
        if self.only_reads_by_file(workload):
            drive = drive.reading(targets[0].family)
        return step_plan(self._experiment, workload, targets, drive)

    def _writes(self, workload: WorkloadSpec) -> bool:
        return writes(self._experiment, self._means.known, workload)

    def _check_statements(self, workload: WorkloadSpec, endpoint: Endpoint) -> None:
        """Check that a server understands the statements of files."""
        for one in workload.alone:
            template = self._experiment.templates.get(one.name) if one.template else None
            if template:
                init_sql = self._experiment.drive.session.init_sql
                form = form_for(template, template.name, endpoint.target.family)
                check_statements(form, template.name, endpoint, init_sql)

    def _wanted(self, workload: WorkloadSpec, family: str) -> tuple[Wanted, ...]:
        """The tables that it needs on a server of a family."""
        fitted = self.workload(workload.name)
        theirs = for_servers_of(self._experiment, family)
        return wanted(theirs, self._means.known, fitted, self._means.consent)

    def _is_ours(self, variant: Variant) -> bool:
        """Whether the variant is measured on a throwaway server."""
        return self._places[variant.name].target is None

    def _standing(self, variant: Variant, host: Host, workload: WorkloadSpec) -> ReadyServer:
        client = client_of(variant)
        endpoint = host.endpoint(client.connect)
        target = endpoint.target
        if self._is_ours(variant):
            schema = self.tables.schema(workload.name, target.database or "")
            target = target.model_copy(update={"database": schema})
        endpoints = spoken_to(endpoint.model_copy(update={"target": target}), client)
        looked = tuple(described(each) for each in endpoints)
        beside = self._is_ours(variant) or any(each.target.is_local for each in endpoints)
        return ReadyServer(looked, variant.dynamic, host.settings_folder, beside, self.told)


def _left_changed(workload: WorkloadSpec, standing: ReadyServer) -> Message:
    places = ", ".join(target.place for target in standing.targets)
    return say(
        "{workload}: what its steps change on {places} stays as they leave it",
        workload=workload.name,
        places=places,
    )


def described(endpoint: Endpoint) -> InspectedTarget:
    """The server's present state."""
    timeout_s = Drive().connect.timeout_s
    return look_at_server(endpoint).model_copy(update={"connect_s": timeout_s})


def _preparing(place: Place, variants: list[Variant]) -> Message:
    of = ", ".join(variant.name for variant in variants)
    if place.target:
        return say("preparing {place} for {variants}", place=place.target.place, variants=of)
    return say("preparing a throwaway server for {variants}", variants=of)
