"""`--lang`: the language in which a command speaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def lang_option(said: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """English unless something else is asked for; the environment is not looked at.

    What a command prints must not depend on the machine on which a script runs.
    """
    return click.option(
        "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help=said
    )
