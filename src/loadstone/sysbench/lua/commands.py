"""The commands of a script that drive no events: `prepare`, `cleanup`, and its own ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loadstone import engine
from loadstone.dropin.aside import aside
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.order import steps_of
from loadstone.lab.step.script_command import run_command
from loadstone.lab.tables.inspect import check_descriptors
from loadstone.model.engine_plan import step_document
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say
from loadstone.model.plan import WorkloadSpec
from loadstone.model.records import AnyStepRecord, End, FirstError, Printed, Stuck
from loadstone.sysbench import planning, running, starting
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.log import Log
from loadstone.sysbench.lua import errors
from loadstone.sysbench.lua.calls import call
from loadstone.sysbench.report_writer import tell
from loadstone.sysbench.settings import Settings
from loadstone.workloads.scripts.given import Values

_DECLARED = "sysbench.cmdline.call_command"
Manner = Literal["single", "parallel"]


def called(command: str, *, is_declared: bool) -> str:
    """The function that sysbench names when a command fails."""
    return _DECLARED if is_declared else command


def run_command_of_script(
    script: engine.Script,
    workload: WorkloadSpec,
    settings: Settings,
    given: Values,
    log: Log,
    manner: Manner | None,
) -> int:
    """Have the script run its command: once, or in each of several threads if `manner` says so.

    Raises:
        Fatal: it failed.
        TargetError: so many threads need more file descriptors than this process may have.
    """
    users = settings.threads if manner == "parallel" else 1
    if users > 1:
        running.announce_threads(log)
        check_descriptors(users)
    command = (workload.script and workload.script.command) or ""
    hook = called(command, is_declared=manner is not None)
    is_dry = given.switch("mysql_dry_run")
    with starting.servers(given, settings, is_dry=is_dry, command=hook) as places:
        targets = [place.endpoint.target for place in places]
        plan = planning.command_of(workload, settings, given, targets, users)
        heard = errors.Heard(plan, log, places)
        endpoints = [place.endpoint for place in places]
        with Interrupts() as interrupts:
            if users > 1:
                run_command(plan, endpoints, _Watched(heard, hook).take, interrupts)
            else:
                script.serve(step_document(plan, steps_of(plan)[0], endpoints))
                call(lambda: script.begin_command(command), script, heard, hook, interrupts)
    if interrupts.asked:
        aside(say("interrupted"))
        return ExitCode.INTERRUPTED
    return ExitCode.OK


@dataclass
class _Watched:
    """The outcome of a command that each thread runs."""

    heard: errors.Heard
    called: str

    def take(self, record: AnyStepRecord) -> bool:
        """Process the next record; returns whether it is the last."""
        match record:
            case Printed() | FirstError() | Stuck():
                tell((record,), self.heard.take)
            case End():
                if record.error:
                    failed = errors.lines(
                        record.error, self.heard.errors, self.heard.plan, self.called
                    )
                    raise Fatal(*failed)
                return True
        return False
