"""`loadstone sysbench …`: the command line of another program, passed on unchanged."""

from __future__ import annotations

import click


class Verbatim(click.Command):
    """A command whose arguments, `--help` included, are passed on unparsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take all words as they are."""
        ctx.params["words"] = tuple(args)
        return []


@click.command(cls=Verbatim, add_help_option=False)
def sysbench(words: tuple[str, ...]) -> int:
    """Run as sysbench: its command lines, its output (docs/sysbench.md)."""
    from loadstone.sysbench.program import main

    return main(words)
