"""The option of commands that carry out what a run's folder says, for folders of somebody else."""

from __future__ import annotations

import click

trust_option = click.option(
    "--trust-folder",
    "trusted",
    is_flag=True,
    help="Carry out what the folder asks for, though it was not begun by you on this machine.",
)
