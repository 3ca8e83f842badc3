"""The option of commands that carry out what a run's folder says, for folders of somebody else."""

from __future__ import annotations

import click

trust_option = click.option(
    "--trust-folder",
    "trusted",
    is_flag=True,
    help="Trust this run folder although it was not created by you on this machine.",
)
