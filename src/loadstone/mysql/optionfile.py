"""Reads MySQL's option files: the sections for clients in `~/.my.cnf`."""

from __future__ import annotations

import re
from pathlib import Path

from loadstone.model.message import say
from loadstone.servers.errors import TargetError

_SECTIONS = ("client", "client-server", "client-mariadb", "loadstone")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " "}
_INCLUDES_DEEP = 5


def read_option_file(path: Path) -> dict[str, str]:
    """The client options in that file and in the files that it includes; a later one wins.

    Names have dashes (`ssl-ca`); an option without `=` has an empty text.

    Raises:
        TargetError: the file cannot be read.
    """
    try:
        return _read(path, _INCLUDES_DEEP)
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        said = say("cannot read the option file {path}: {reason}", path=str(path), reason=what)
        raise TargetError("options", said, say("see --defaults-file")) from error


def parse_options(text: str) -> list[tuple[str, str]]:
    """Names and values in the sections for clients, including `!include` lines, in order."""
    section = ""
    found: list[tuple[str, str]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("!include"):
            directive, _, place = line.partition(" ")
            found.append((directive, place.strip()))
        elif line.startswith("["):
            section = line[1:].partition("]")[0].strip().lower()
        elif section in _SECTIONS:
            name, _, value = line.partition("=")
            found.append((name.strip().lower().replace("_", "-"), _value(value)))
    return found


def _read(path: Path, deep: int) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_options(path.read_text()):
        if not name.startswith("!"):
            options[name] = value
        elif deep:
            for included in _included(name, path.parent / value):
                options |= _read(included, deep - 1)
    return options


def _included(directive: str, place: Path) -> list[Path]:
    if directive == "!includedir":
        return sorted(place.glob("*.cnf")) if place.is_dir() else []
    return [place] if place.is_file() else []


def _value(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] in "'\"":
        end = text.find(text[0], 1)
        if end > 0:
            return _unescaped(text[1:end])
    # After a value only # starts a comment; a password that contains one must be quoted.
    return _unescaped(re.split(r"\s*#", text, maxsplit=1)[0])


def _unescaped(text: str) -> str:
    return re.sub(r"\\([btnr\\s])", lambda match: _ESCAPES[match[1]], text)
