"""Runs a part of a script in the state that loading its file has left, as sysbench does."""

from __future__ import annotations

from collections.abc import Callable

from loadstone import engine
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.records import EngineFailure, FirstError
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.lua import errors
from loadstone.sysbench.report_writer import tell


def call(
    begin: Callable[[], None],
    script: engine.Script,
    heard: errors.Heard,
    called: str,
    interrupts: Interrupts,
    refused: Callable[[FirstError], None] | None = None,
) -> None:
    """Have the script begin and wait for the end; a signal ends it, without an error.

    `called` is the name of the function in messages; `refused` takes the servers' errors in place
    of `heard`.

    Raises:
        Fatal: it failed.
        ScriptExit: it called os.exit().
    """
    refused = refused or heard.take
    begin()
    try:
        while not script.is_over() and not interrupts.asked_again:
            tell(script.said(), refused)
            if interrupts.asked:
                script.end()
        tell(script.said(), refused)
    except engine.ScriptRefused as error:
        tell(script.said(), refused)
        if not interrupts.asked:
            failure = EngineFailure(kind="script", message=error.message)
            raise Fatal(*errors.lines(failure, heard.errors, heard.plan, called)) from error
