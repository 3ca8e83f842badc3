"""Workloads of an experiment that are scripts: their files, and the tables that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loadstone.config.lines import Path as KeyPath
from loadstone.config.problems import ExperimentRefused, Problems
from loadstone.engine import ScriptRefused
from loadstone.experiments.file import ExperimentFile
from loadstone.experiments.variants import drive_of, step_plan
from loadstone.lab.step.failures import as_error
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.script_command import command_plan, run_command
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment, Manner, ScriptFile
from loadstone.model.message import plain, say
from loadstone.model.plan import Drive, ScriptSpec, WorkloadSpec
from loadstone.model.records import End, Printed, StepRecord, Stuck
from loadstone.model.target import Endpoint, Target
from loadstone.servers.errors import TargetError
from loadstone.workloads.scripts.file import digest_of, read_script
from loadstone.workloads.scripts.general import with_general_options


class ScriptChanged(LoadstoneError):
    """A script has changed since the experiment started."""

    exit_code = ExitCode.PLAN


def with_scripts(file: ExperimentFile) -> ExperimentFile:
    """The file, with each workload that is a script read from its own file.

    Files are looked for from the experiment's own folder on.

    Raises:
        ExperimentRefused: one cannot be read, is no script, or does not take its options.
    """
    faults = Problems(file.lines)
    folder = Path(file.name).parent.absolute()
    workloads: list[WorkloadSpec] = []
    scripts: dict[str, ScriptFile] = {}
    for at, workload in enumerate(file.experiment.workloads):
        if workload.script:
            path = str(folder / workload.script.path)
            script = workload.script.model_copy(update={"path": path})
            workload = workload.model_copy(update={"script": script})
            if found := _read(file.experiment, workload, ("workload", at), faults):
                scripts[workload.name] = found
        workloads.append(workload)
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)
    update = {"workloads": tuple(workloads), "scripts": scripts}
    experiment = file.experiment.model_copy(update=update)
    return ExperimentFile(file.name, experiment, file.lines)


def _read(
    experiment: Experiment, workload: WorkloadSpec, path: KeyPath, faults: Problems
) -> ScriptFile | None:
    drive = drive_of(experiment, experiment.variants[0], 1, 1)
    plan = step_plan(experiment, workload, [Target()], drive)
    script = with_general_options(plan, experiment.most_users).workload.script
    assert script is not None, "only scripts are read"
    name = Path(script.path).name
    try:
        return read_script(script)
    except OSError as error:
        write = say("give the path of a script, or the name of a built-in workload without .lua")
        unread = say("{path} cannot be read: {why}", path=name, why=error.strerror)
        faults.add((*path, "name"), unread, write)
    except ScriptRefused as error:
        if error.kind in ("option", "value"):
            is_unknown = error.kind == "option"
            said = say("{name} has no such option", name=name) if is_unknown else error.message
            write = say("`loadstone sysbench {script} help` lists them", script=script.path)
            faults.add((*path, "options", error.subject), said, write)
        else:
            write = say("give a script that `loadstone sysbench` runs")
            faults.add((*path, "name"), error.message, write)
    return None


def check_unchanged(experiment: Experiment) -> None:
    """Check that the scripts have not changed since the experiment started.

    Raises:
        ScriptChanged: one has changed, or is gone.
    """
    for workload in experiment.workloads:
        if workload.script is None:
            continue
        path = workload.script.path
        try:
            is_same = digest_of(workload.script) == experiment.scripts[workload.name].sha256
        except OSError as error:
            said = say("{path} can no longer be read: {why}", path=path, why=error.strerror)
            raise ScriptChanged(said, say("put it back where it was")) from error
        if not is_same:
            said = say("{path} has been changed since the experiment started", path=path)
            raise ScriptChanged(said, say("put it back as it was, or start a new experiment"))


@dataclass(frozen=True)
class ScriptTables:
    """Runs the scripts' commands that make and drop their tables on throwaway servers."""

    experiment: Experiment
    connections: int
    """Minimum number of connections for a command that all users execute."""
    announce: Callable[[str], None]
    """Shows a line of progress."""

    def prepare(self, workload: WorkloadSpec, endpoint: Endpoint) -> None:
        """Run the script's `prepare`, if it has one.

        Raises:
            TargetError: it failed.
            Interrupted: a signal came.
        """
        manner = self.experiment.scripts[workload.name].prepare
        self._carry_out("prepare", manner, workload, endpoint)

    def cleanup(self, workload: WorkloadSpec, endpoint: Endpoint) -> None:
        """Run the script's `cleanup`, if it has one.

        Raises:
            TargetError: it failed.
            Interrupted: a signal came.
        """
        manner = self.experiment.scripts[workload.name].cleanup
        self._carry_out("cleanup", manner, workload, endpoint)

    def _carry_out(
        self, command: str, manner: Manner | None, workload: WorkloadSpec, endpoint: Endpoint
    ) -> None:
        if manner is None:
            return
        # Some scripts make a table for each thread of `run`.
        threads = self.experiment.most_users
        if manner == "parallel":
            threads = max(threads, self.connections)
        script = _script_of(workload).model_copy(update={"command": command})
        asked = workload.model_copy(update={"script": script})
        drive = Drive(seed=self.experiment.seed)
        users = threads if manner == "parallel" else 1
        plan = command_plan(asked, [endpoint.target], users, drive)
        plan = with_general_options(plan, threads)
        heard = _Heard(f"{workload.name} {command}", endpoint.target, self.announce)
        with Interrupts() as interrupts:
            run_command(plan, [endpoint], heard.take, interrupts)
            interrupts.check()


def _script_of(workload: WorkloadSpec) -> ScriptSpec:
    assert workload.script is not None, "other workloads have no commands"
    return workload.script


@dataclass
class _Heard:
    """The outcome of a command."""

    called: str
    target: Target
    announce: Callable[[str], None]

    def take(self, record: StepRecord) -> bool:
        """Process the next record; returns whether it is the last.

        Raises:
            TargetError: the command failed.
        """
        match record:
            case Printed():
                for line in record.text.splitlines():
                    self.announce(plain(f"{self.called}: {line}"))
            case Stuck():
                self.announce(
                    say(
                        "{command}: {place} has run for {seconds} s without a statement",
                        command=self.called,
                        place=record.place,
                        seconds=round(record.seconds),
                    )
                )
            case End():
                if record.error:
                    said = as_error(record.error, [self.target]).message
                    told = say("{command}: {why}", command=self.called, why=said)
                    raise TargetError("statement_failed", told)
                return True
        return False
