"""The commands of scripts, as reports list them and as messages name them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadstone import engine
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.scripts import Script
from loadstone.pgbench.settings import Protocol

_PLACE = re.compile(r"line (\d+): (.*)", re.DOTALL)
_CONDITION = re.compile(r"command (\d+): (.*)", re.DOTALL)
_WHOLE = "statement has too many arguments"
"""The begin of a message that pgbench prints without a place."""
SQL = "SQL"
"""What messages call a statement."""
_PIPELINE = "startpipeline"
_META = re.compile(r"\\(\w+)")


def commands_of(script: Script) -> Sequence[str]:
    """The texts of a script's commands, in the order of their numbers.

    Raises:
        Failed: the text is no script, or has no command.
    """
    try:
        commands = engine.pgbench_commands(script.text)
    except engine.PlanRefused as error:
        raise Failed(at_place(script, error.message)) from error
    if not commands:
        raise Failed(f'empty command list for script "{script.called}"')
    return [command.text for command in commands]


def check_protocol(script: Script, commands: Sequence[str], protocol: Protocol) -> None:
    """Check that the protocol has what the commands need.

    Raises:
        Failed: a pipeline is to be sent by the simple protocol.
    """
    if protocol != "simple":
        return
    kinds = [kind_of(text) for text in commands]
    if _PIPELINE in kinds:
        raise Failed(
            f"{script.called}: command {kinds.index(_PIPELINE)} ({_PIPELINE}): cannot use pipeline"
            " mode with the simple query protocol"
        )


def at_place(script: Script, message: str) -> str:
    """A message with the place that it names, as `file:line: …`, or a condition's command."""
    if found := _PLACE.fullmatch(message):
        return f"{script.called}:{found[1]}: {found[2]}"
    if found := _CONDITION.fullmatch(message):
        return f'condition error in script "{script.called}" command {found[1]}: {found[2]}'
    return message if message.startswith(_WHOLE) else f"{script.called}: {message}"


def without_place(message: str) -> str:
    """A message without the line that it names."""
    found = _PLACE.fullmatch(message)
    return found[2] if found else message


def kind_of(text: str) -> str:
    """The word of a backslash command, such as `set`, and `SQL`: what messages call it."""
    found = _META.match(text)
    return found[1] if found else SQL
