"""`loadstone pgbench …`: the command line of another program, passed on unchanged."""

from __future__ import annotations

import click

from loadstone.cli.verbatim import Verbatim


@click.command(cls=Verbatim, add_help_option=False)
def pgbench(words: tuple[str, ...]) -> int:
    """Run as pgbench: its command lines, its output (docs/pgbench.md)."""
    from loadstone.pgbench.program import main

    return main(words)
