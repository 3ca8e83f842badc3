"""What a user may have meant by an option that a command does not have."""

from __future__ import annotations

import click

from loadstone.cli.help.command import Explained
from loadstone.cli.help.other_tools import OF_TABLES, called_here
from loadstone.model.message import Message, say
from loadstone.model.nearest import closest

_RUN = "run"


def option_hint(error: click.NoSuchOption, path: str) -> Message:
    """The hint for an unknown option of the command at `path`.

    Words of other tools come first, because an option spelled alike may be something else.
    """
    word, context = error.option_name, error.ctx
    if context is None:
        return say("{command} shows all options", command=f"{path} --help")
    known = _options_of(context.command)
    if found := called_here(word, known) or _place_of(word, context):
        return found
    if context.command.name == "cleanup" and word in OF_TABLES:
        return say(
            "cleanup drops what prepare made, however many and large: leave {word} out", word=word
        )
    # Compared without dashes, which would make all options similar to each other.
    bare = {each.lstrip("-"): each for each in known if each.startswith("--")}
    if near := closest(word.lstrip("-"), bare):
        return say("did you mean {word}?", word=bare[near])
    is_short = isinstance(context.command, Explained) and not context.command.has_rare_options
    return say(
        "{command} shows all options", command=f"{path} {'--help' if is_short else '--help-all'}"
    )


def _place_of(word: str, context: click.Context) -> Message | None:
    """Where an option of `run` belongs, if it was written before a command or for an experiment."""
    root = context.find_root()
    run = root.command.get_command(root, _RUN) if isinstance(root.command, click.Group) else None
    known = _options_of(run) if run else []
    if context.command.name == "experiment" and (word in known or called_here(word, known)):
        return say("the experiment's file has it as a key: docs/experiments.md")
    if context is root and word in known:
        return say("an option follows its command: {line}", line=f"loadstone run WORKLOAD {word}")
    return None


def _options_of(command: click.Command) -> list[str]:
    more = getattr(command, "options_of_workloads", list)
    return [*(option for each in command.params for option in each.opts), *more()]
