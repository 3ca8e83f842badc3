"""Click's own texts in the language of this process.

Click looks them up with gettext, which reads compiled catalogues from a folder. Our catalogues are
not compiled, so gettext's lookup in click's modules is replaced by ours.
"""

from __future__ import annotations

from importlib import import_module

from loadstone.cli.language import by_text
from loadstone.model.message import say

_MODULES = ("core", "exceptions", "formatting", "parser", "types")
_KINDS = ("file", "directory", "path")
"""Click translates them once, when a type is created, which may be before the language is chosen.
"""

TEXTS = (
    say("Usage:"),
    say("[OPTIONS]"),
    say("COMMAND [ARGS]..."),
    say("default: {default}"),
    say("required"),
    say("Show this message and exit."),
    say("Missing argument"),
    say("Missing option"),
    say("Missing parameter"),
    say("Missing command."),
    say("Invalid value: {message}"),
    say("Invalid value for {param_hint}: {message}"),
    say("No such option {name!r}."),
    say("No such command {name!r}."),
    say("Option {name!r} does not take a value."),
    say("Option {name!r} requires an argument."),
    say("Option {name!r} requires {nargs} arguments."),
    say("Got unexpected extra argument ({args})"),
    say("Got unexpected extra arguments ({args})"),
    say("Choose from:\n\t{choices}"),
    say("{value!r} is not {choice}."),
    say("{value!r} is not one of {choices}."),
    say("{value!r} is not a valid {number_type}."),
    say("{value} is not in the range {range}."),
    say("{value!r} is not a valid boolean. Recognized values: {states}"),
    say("{name} {filename!r} does not exist."),
    say("{name} {filename!r} is a file."),
    say("{name} {filename!r} is a directory."),
    say("{name} {filename!r} is not readable."),
    say("{name} {filename!r} is not writable."),
)
"""The texts of click that users can see; catalogues collect them from here."""


def translate_click() -> None:
    """Make click use the language of this process from now on."""
    for name in _MODULES:
        texts = vars(import_module(f"click.{name}"))
        if "_" in texts:
            texts["_"] = _by_text
        if "ngettext" in texts:
            texts["ngettext"] = _by_number


def _by_text(text: str) -> str:
    return text if text in _KINDS else by_text(text)


def _by_number(one: str, many: str, number: int) -> str:
    return by_text(one if number == 1 else many)
