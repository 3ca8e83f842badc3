"""The language in which this process talks to people.

It is chosen before click reads the command line, since help and usage errors are shown in it too.
JSON, CSV and JUnit documents are English in every language.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import get_args

from loadstone.cli.defaults.place import language_of_defaults
from loadstone.model.language import ENGLISH, VARIABLE, Lang, Language, named, of_environment

_OPTION = "--lang"
_AS_ANOTHER = ("sysbench", "pgbench")
"""Commands that print what these programs print, which scripts parse."""

_NO_OPTIONS_AFTER = ("--", *_AS_ANOTHER)
"""Words after which `--lang` is not our option."""


class _Spoken:
    """The language of the process, not of a thread: several threads print progress."""

    language: Language = ENGLISH


def current() -> Language:
    """The language of this process."""
    return _Spoken.language


def in_words(message: str) -> str:
    """A message in the language of this process; any other text unchanged."""
    return _Spoken.language(message)


def by_text(text: str) -> str:
    """A message whose type was lost on the way through click, looked up by its English text."""
    return _Spoken.language.lookup(text)


@contextmanager
def spoken_for(arguments: Sequence[str]) -> Iterator[None]:
    """Speak the language that a command line asks for, then English again."""
    _Spoken.language = _chosen(arguments)
    try:
        yield
    finally:
        _Spoken.language = ENGLISH


def _chosen(arguments: Sequence[str]) -> Language:
    """The language of `--lang`, else LOADSTONE_LANG, the user's file of defaults, or the locale.

    An unknown one is refused later, when click parses it.
    """
    if tuple(arguments[:1]) == _AS_ANOTHER:
        return ENGLISH
    wanted = _asked(arguments)
    if wanted not in get_args(Lang) and not os.environ.get(VARIABLE):
        wanted = language_of_defaults(arguments)
    known = wanted in get_args(Lang)
    return named(wanted) if wanted and known else of_environment(os.environ)


def _asked(arguments: Sequence[str]) -> str | None:
    wanted = None
    for place, word in enumerate(arguments):
        if word in _NO_OPTIONS_AFTER:
            break
        if word == _OPTION and place + 1 < len(arguments):
            wanted = arguments[place + 1]
        elif word.startswith(f"{_OPTION}="):
            wanted = word.removeprefix(f"{_OPTION}=")
    return wanted
