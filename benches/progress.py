"""Progress messages for people who wait; only figures go to standard output."""

from __future__ import annotations

import sys


def announce(text: str) -> None:
    """Print one line: in place on a terminal, otherwise one after another."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def hush() -> None:
    """Remove the line from the terminal."""
    if sys.stderr.isatty():
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
