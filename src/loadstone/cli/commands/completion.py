"""`loadstone completion SHELL`: what makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from loadstone.cli.help.command import command
from loadstone.model.message import say

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_LOADSTONE_COMPLETE"
"""The environment variable with which the shell asks; click's own name for it."""


@command(
    help=say(
        "Print the lines that make SHELL complete commands and options with the tab key.\n\n"
        "The shell calls loadstone when the tab key is pressed, so it must be on the PATH then."
    ),
    examples=(
        (say("for bash"), "loadstone completion bash >> ~/.bashrc"),
        (say("for zsh"), "loadstone completion zsh >> ~/.zshrc"),
        (say("for fish"), "loadstone completion fish > ~/.config/fish/completions/loadstone.fish"),
    ),
)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the shell's lines."""
    made_by = get_completion_class(shell)
    assert made_by is not None
    root = context.find_root().command
    click.echo(made_by(root, {}, "loadstone", VARIABLE).source())
