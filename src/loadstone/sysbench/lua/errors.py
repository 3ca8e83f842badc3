"""The lines that sysbench prints before it gives up on a script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.plan import Plan
from loadstone.model.records import EngineFailure, FirstError
from loadstone.sysbench import messages
from loadstone.sysbench.errors import ScriptExit
from loadstone.sysbench.log import Log
from loadstone.sysbench.targets import NOT_INITIALISED, Place, driver_problem

_HOOK = re.compile(r"`(\w+)' of user \d+ (failed: |did not come back: )", re.ASCII)
_OF_THREADS = ("thread_init",)
_ERRNO = re.compile(r"SQL error, errno = (\d+)")
_EXIT = re.compile(r"the script called os\.exit\((-?\d+)\)$")
_ROWS = re.compile(r"db_bulk_insert_\w+\(\) failed")
# The second is of the functions of 0.5.
_NOT_CONNECTED = ("connection creation failed", "Failed to connect to the database")
_CANNOT_CONNECT = (2002, 2003)
_CLASS_OF_CONNECTIONS = "08"
"""What PostgreSQL's client notices itself has such a code: no server has sent it."""

_UNKNOWN_HOST = 2005


@dataclass
class Heard:
    """The errors that the driver has reported so far."""

    plan: Plan
    log: Log
    places: Sequence[Place]
    errors: list[FirstError] = field(default_factory=list)
    """The last one of each code."""

    def take(self, error: FirstError) -> None:
        """Keep the error; print it at once if it is not to be ignored."""
        self.errors = [*(each for each in self.errors if each.code != error.code), error]
        if error.preparing:
            # sysbench never ignores these.
            lines = messages.of_preparing(error)
        elif error.statement is not None and not self.ignores(error):
            lines = messages.of_driver(error, is_prepared=error.prepared)
        elif error.target is not None:
            lines = messages.connection_lines(_as_failure(error), self.places[error.target])
        else:
            return
        for line in lines:
            self.log.fatal(line)

    def ignores(self, error: FirstError) -> bool:
        """Whether a script restarts its event after an error of this code."""
        script = self.plan.workload.script
        ignored = script.ignore_errors if script else ()
        return ignored is None or error.code in ignored


def check_exit(message: str) -> None:
    """Raise ScriptExit if the message means that the script called os.exit()."""
    if found := _EXIT.search(message):
        raise ScriptExit(int(found[1]) & 0xFF)


def lines(
    failure: EngineFailure,
    errors: Sequence[FirstError],
    plan: Plan,
    command: str,
) -> tuple[str, ...]:
    """Why a script could not continue, after the driver's messages.

    `command` replaces the name of the hook if a command was run. Errors of statements were printed
    when they came.

    Raises:
        ScriptExit: the script called os.exit().
    """
    check_exit(failure.message)
    found = _HOOK.match(failure.message)
    if not found:
        return (failure.message,)
    hook = command if found[1] == "command" else found[1]
    verb = "failed: " if found[2] == "failed: " else "failed: it did not come back: "
    why = failure.message[found.end() :]
    said = (
        *_of_driver(failure, errors, plan),
        f"`{hook}' function {verb}{why}",
    )
    return (*said, "Thread initialization failed!") if hook in _OF_THREADS else said


def _of_driver(failure: EngineFailure, errors: Sequence[FirstError], plan: Plan) -> tuple[str, ...]:
    if NOT_INITIALISED in failure.message and plan.workload.script:
        told = plan.workload.script.general
        problem = driver_problem(str(told["db_driver"]), str(told["db_ps_mode"]))
        return (problem,) if problem else ()
    if any(text in failure.message for text in _NOT_CONNECTED):
        return ()  # printed when it came
    found = _ERRNO.search(failure.message)
    known = [error for error in errors if found and error.number == int(found[1])]
    if _ROWS.search(failure.message):
        known = list(errors)
    if not known or known[-1].statement is not None:
        return ()
    return messages.of_driver(known[-1], is_prepared=True)


def _as_failure(error: FirstError) -> EngineFailure:
    if error.family == POSTGRESQL:
        of_client = error.code.startswith(_CLASS_OF_CONNECTIONS)
        kind = {"08001": "unreachable", "08000": "unknown_host"}.get(error.code, "login_refused")
        state = None if of_client else error.code
        return EngineFailure(
            kind=kind,
            family=POSTGRESQL,
            code=error.code,
            message=error.message,
            sql_state=state,
        )
    kind = "login_refused"
    if error.number in _CANNOT_CONNECT:
        kind = "unreachable"
    elif error.number == _UNKNOWN_HOST:
        kind = "unknown_host"
    return EngineFailure(kind=kind, family=error.family, code=error.code, message=error.message)
