"""`loadstone sysbench …`: the command line of another program, passed on unchanged."""

from __future__ import annotations

import click

from loadstone.cli.verbatim import Verbatim


@click.command(cls=Verbatim, add_help_option=False)
def sysbench(words: tuple[str, ...]) -> int:
    """Run as sysbench: its command lines, its output (docs/sysbench.md)."""
    from loadstone.sysbench.program import main

    return main(words)
