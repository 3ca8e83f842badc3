"""How wide the text on stdout is: asked here, passed on to all that makes text.

`--wide` comes first, then `COLUMNS`, then the terminal. A pipe or a file has no width: as from
`ls` or `iostat`, a row of a table is a line there, which `grep` and `awk` can rely on.
Errors and progress on stderr are a line each at any width, so that logs can be searched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import click

from loadstone.cli.language import in_words

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDE = "loadstone.wide"
"""The key of a context's `meta` that says that nothing is to be wrapped."""

_VARIABLE = "COLUMNS"
_HEIGHT = 25
"""Any: what is printed scrolls."""


def ask_for_wide(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Remember `--wide`, which may stand before or after the name of a command."""
    if asked:
        ctx.meta[_WIDE] = True


def width() -> int:
    """The width of the text on stdout."""
    from loadstone.report.wrapping import UNLIMITED

    ctx = click.get_current_context(silent=True)
    if ctx and ctx.meta.get(_WIDE):
        return UNLIMITED
    return width_of(sys.stdout) or UNLIMITED


def width_of(stream: TextIO) -> int | None:
    """The width that `COLUMNS` sets, else that of the terminal; `None` if there is neither."""
    wanted = os.environ.get(_VARIABLE, "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):  # no terminal, or a stream without a file below it
        return None


def show(parts: RenderableType) -> None:
    """Print on stdout, in colour if that is a terminal."""
    from rich.console import Console

    from loadstone.report.text import as_plain

    columns = width()
    if sys.stdout.isatty():
        # Without a height rich takes a terminal without control codes to have 80 columns.
        Console(highlight=False, width=columns, height=_HEIGHT).print(parts, crop=False)
    else:
        click.echo(as_plain(parts, columns), nl=False)


def show_lines(lines: Iterable[str]) -> None:
    """Print sentences on stdout; the next lines of a long one are indented."""
    from rich.console import Group

    from loadstone.report.lines import lines_of

    if texts := [in_words(line) for line in lines]:
        show(Group(*lines_of(texts)))
