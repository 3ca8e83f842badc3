"""Why a client was aborted, in pgbench's words."""

from __future__ import annotations

import re
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
_PROGRAM = {"shell": 1, "setshell": 2}
"""Commands that run programs, and which of their words is the program's name."""
_OF_PROGRAMS = {
    re.compile(r"the program has failed: .*"): "could not launch shell command",
    re.compile(r"the program has printed nothing"): "could not read result of shell command",
    re.compile(r"the program has printed '(.*)', not an integer"): (
        r'shell command must return an integer (not "\1")'
    ),
    re.compile(r"there is no variable (.*)"): r'undefined variable ":\1"',
}
_NO_NAME = "invalid variable name: "
_MALFORMED = re.compile(r'malformed variable "(.*)" value: "(.*)"', re.DOTALL)
_NO_TIME = r'invalid sleep time "\2" for variable "\1"'
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
_QUERY = re.compile(r"query (\d+): (?:([ag]set): )?(.*)", re.DOTALL)
_STORING = "error storing into variable "
_IN_PIPELINE = re.compile(r"\\([ag]set) is not allowed in pipeline mode")
_NO_COPY = "the server asked for rows to copy although none were offered"


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
        yield from _of_client(ended, script, text)
    elif ended.code == _OF_THE_PROTOCOL:
        own = ended.message.startswith(_OWN)
        if ended.message == _OWN + _NO_COPY:
            yield "COPY is not supported in pgbench, aborting"
            return
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


def _of_client(ended: UserEnded, script: int, text: str) -> Iterator[str]:
    why, kind = without_place(ended.message), kind_of(text)
    client, place = f"client {ended.user}", f"command {ended.command}"
    if query := _QUERY.fullmatch(why):
        if query[2]:
            yield f'{query[2]}: invalid variable name: "{why.partition(_STORING)[2]}"'
        yield f"{client} script {script} {place} query {query[1]}: {query[3]}"
    elif pipelined := _IN_PIPELINE.match(why):
        yield f"{client} aborted in {place} ({pipelined[1]}) of script {script}; {why}"
    elif kind == SQL:
        yield f"{client} script {script} aborted in {place} query 0: {why}"
    elif kind.endswith(_OF_PIPELINES):
        yield f"{client} aborted in {place} ({kind}) of script {script}; {_MODES.get(why, why)}"
    else:
        step = "execution" if kind in _EXECUTED else "evaluation"
        if kind == "set" and why.startswith(_NO_NAME):
            step = "assignment"
        yield _said_of(kind, text, why)
        yield (
            f"{client} aborted in {place} ({kind}) of script {script}; {step} of meta-command"
            " failed"
        )


def _said_of(kind: str, text: str, why: str) -> str:
    """Why a command failed that the client itself executes."""
    if why.startswith(_NO_NAME):
        return f"{kind}: {why}"
    if kind == "sleep":
        malformed = _MALFORMED.fullmatch(why)
        return "sleep: " + (malformed.expand(_NO_TIME) if malformed else why)
    if kind not in _PROGRAM:
        return why
    program = text.split()[_PROGRAM[kind]]
    for pattern, said in _OF_PROGRAMS.items():
        if found := pattern.fullmatch(why):
            return f"{program}: {found.expand(said)}"
    return why
