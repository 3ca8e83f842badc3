"""Why a client was aborted, in pgbench's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.model.error_codes import LOST, POSTGRESQL
from loadstone.model.records import UserEnded
from loadstone.pgbench.commands import SQL, kind_of, without_place

_OF_CLIENT = "02000"
"""The engine's code for a command that the client itself could not execute."""
_CLASS_OF_CONNECTIONS = "08"
_OF_THE_PROTOCOL = "08P01"
"""The code of what does not follow the protocol, and of all errors of pgbouncer."""
_OWN = "protocol: "
"""Before what the engine itself says of the protocol."""
_FATAL = ("57P01", "57P02", "57P03", "57P05", "25P03")
"""Codes with which the server ends a session."""
_EXECUTED = ("sleep", "shell", "setshell")
"""Commands that do more than to evaluate an expression."""
_OF_PIPELINES = "pipeline"
_MODES = {
    "a pipeline has started already": "already in pipeline mode",
    "no pipeline has started": "not in pipeline mode",
}
_ENDS = {
    "the script ends in a pipeline": "end of script reached with pipeline open",
    "the script ends in a transaction": (
        "end of script reached without completing the last transaction"
    ),
}
"""What pgbench says for the engine's reasons."""
_NO_ROW = "\\gset needs one row, and there are "


def lines(ended: UserEnded, script: int, commands: Sequence[str]) -> Iterator[str]:
    """The lines about the end of a client.

    `script`: the script's place on the command line; `commands`: the texts of its commands.
    """
    if ended.command is None:
        yield f"client {ended.user} aborted: {_ENDS.get(ended.message, ended.message)}"
        return
    text = commands[ended.command] if ended.command < len(commands) else ""
    kind = kind_of(text)
    client, place = f"client {ended.user}", f"command {ended.command}"
    if ended.code == _OF_CLIENT:
        yield from _of_client(ended, script, kind)
    elif ended.code == _OF_THE_PROTOCOL:
        own = ended.message.startswith(_OWN)
        why = ended.message.removeprefix(_OWN) if own else f"FATAL:  {ended.message}"
        yield f"{client} script {script} aborted in {place} query 0: {why}"
    elif ended.code in LOST[POSTGRESQL]:
        yield (
            f"{client} aborted in {place} ({kind}) of script {script}; perhaps the backend died"
            " while processing"
        )
    elif ended.code.startswith(_CLASS_OF_CONNECTIONS):
        yield ended.message
        yield f"{client} aborted while establishing connection"
    else:
        level = "FATAL" if ended.code in _FATAL else "ERROR"
        yield f"{client} script {script} aborted in {place} query 0: {level}:  {ended.message}"


def _of_client(ended: UserEnded, script: int, kind: str) -> Iterator[str]:
    why = without_place(ended.message)
    client, place = f"client {ended.user}", f"command {ended.command}"
    if why.startswith(_NO_ROW):
        rows = why.removeprefix(_NO_ROW)
        yield f"{client} script {script} {place} query 0: expected one row, got {rows}"
    elif kind == SQL:
        yield f"{client} script {script} aborted in {place} query 0: {why}"
    elif kind.endswith(_OF_PIPELINES):
        yield f"{client} aborted in {place} ({kind}) of script {script}; {_MODES.get(why, why)}"
    else:
        step = "execution" if kind in _EXECUTED else "evaluation"
        yield why
        yield (
            f"{client} aborted in {place} ({kind}) of script {script}; {step} of meta-command"
            " failed"
        )
