"""The command line of another program, passed on unchanged."""

from __future__ import annotations

import click


class Verbatim(click.Command):
    """A command whose arguments, `--help` included, are passed on unparsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take all words as they are."""
        ctx.params["words"] = tuple(args)
        return []
