"""The file of user defaults: which one it is, and the language that it sets."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.config.problems import ExperimentRefused
from loadstone.model.exit_codes import ExitCode

VARIABLE = "LOADSTONE_CONFIG"
"""The environment variable that names another file; empty: no file."""

_LANG = "lang"


class DefaultsRefused(ExperimentRefused):
    """The file of user defaults was refused; the command was not run."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class Place:
    """A path, and whether the user named it."""

    path: Path
    is_named: bool
    """Whether the environment names the file, so that it must be there."""

    @property
    def is_used(self) -> bool:
        """Whether there is something to read."""
        return self.is_named or os.path.lexists(self.path)


def place_of_defaults() -> Place | None:
    """The file's place; `None` if the environment turns it off."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Place(Path(named).expanduser(), is_named=True) if named else None
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Place(Path(home, "loadstone", "config.toml"), is_named=False)


def language_of_defaults(arguments: Sequence[str]) -> str | None:
    """The `lang` that the file sets for this command line.

    It is needed before the command line is parsed. Whatever is wrong with the file is reported
    when it is read as a whole.
    """
    place = place_of_defaults()
    if place is None or not place.is_used:
        return None
    try:
        table: object = tomllib.loads(place.path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    found: object = None
    for word in (None, *arguments):
        if word is not None and isinstance(table, dict):
            table = table.get(word, table.get(word.replace("-", "_")))
        if not isinstance(table, dict):
            break
        found = table.get(_LANG, found)
    return found if isinstance(found, str) else None
