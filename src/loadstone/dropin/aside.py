"""Remarks of our own next to the output of the program that we stand in for."""

from __future__ import annotations

import sys

from loadstone.model.language import of_environment
from loadstone.model.message import say


def aside(text: str) -> None:
    """Print a remark of our own on stderr, where no parser of the report finds it.

    It is in the language of the environment, as the other program has no such line; its own lines
    stay English.
    """
    print(of_environment()(say("loadstone: {text}", text=text)), file=sys.stderr, flush=True)
