"""pgbench's messages on stderr."""

from __future__ import annotations

import sys

from loadstone.pgbench.errors import BadOption, Failed


def line(text: str) -> None:
    """A line of a command's progress."""
    print(text, file=sys.stderr, flush=True)


def passed_on(text: str) -> None:
    """What a script prints, as it is."""
    print(text, end="", file=sys.stderr, flush=True)


def begin(text: str) -> None:
    """The beginning of a line that says later how it ended."""
    print(text, end="", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """A `pgbench: …` line."""
    line(f"pgbench: {text}")


def warning(text: str) -> None:
    """A `pgbench: warning: …` line."""
    note(f"warning: {text}")


def error(text: str) -> None:
    """A `pgbench: error: …` line."""
    note(f"error: {text}")


def detail(text: str) -> None:
    """The line that says more about an error."""
    note(f"detail: {text}")


def hint(text: str) -> None:
    """The line that says what to do about an error."""
    note(f"hint: {text}")


def failure(failed: Failed) -> None:
    """All lines about what ended the program."""
    error(failed.causes[0])
    if failed.detail:
        detail(failed.detail)
    for cause in failed.causes[1:]:
        error(cause)
    if failed.advice:
        hint(failed.advice)


def bad_option(failed: BadOption) -> None:
    """The lines about a command line that cannot be read."""
    note(failed.message)
    hint('Try "pgbench --help" for more information.')
