"""Values of the file as click takes them from a command line, checked by the option's own type."""

from __future__ import annotations

import click

from loadstone.cli.defaults.settable import Settable
from loadstone.cli.language import in_words
from loadstone.cli.options.types import Word
from loadstone.model.hints import write_one_of
from loadstone.model.message import Message, plain, say
from loadstone.model.nearest import nearest

Given = str | bool | tuple[str, ...]
"""What click gets instead of the words of a command line."""


class UnfitValue(Exception):
    """The value is not one of this option, and what to write instead."""

    def __init__(self, what: str, write: str) -> None:
        super().__init__(what)
        self.what = what
        self.write = write


def given_by(value: object, of: Settable, context: click.Context) -> Given | None:
    """The value for click; `None` if it is what would hold without the file.

    Raises:
        UnfitValue: the option takes no such value.
    """
    if of.is_switch:
        return _switched(value, of)
    given = _texts(value, of)
    for text in (given,) if isinstance(given, str) else given:
        _refuse_passwords(text)
    if isinstance(of.option.type, click.Path):
        return given  # it is looked for when it is used: other commands do not need it
    try:
        of.option.type_cast_value(context, given)
    except click.BadParameter as error:
        raise UnfitValue(_reason(error), _instead_of(value, of, context)) from error
    return given


def _switched(value: object, of: Settable) -> Given | None:
    if not isinstance(value, bool):
        said = say("{value} is neither true nor false", value=_shown(value))
        raise UnfitValue(said, say("write true or false"))
    if isinstance(of.option.flag_value, str):
        return of.option.flag_value if value else None
    return value is not of.is_opposite


def _texts(value: object, of: Settable) -> str | tuple[str, ...]:
    """The words of the option: several if it may be repeated."""
    if not isinstance(value, list):
        text = _text(value, of)
        return (text,) if of.option.multiple else text
    texts = tuple(_text(each, of) for each in value)
    if of.option.multiple:
        return texts
    if getattr(of.option.type, "takes_list", False) and texts:
        return ",".join(texts)
    raise UnfitValue(
        say("{value} is a list, and the option takes one value", value=_shown(value)),
        say("write one value, without brackets"),
    )


def _text(value: object, of: Settable) -> str:
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and not _is_textual(of.option.type):
        return str(value)
    if isinstance(value, dict) and of.option.multiple:
        raise UnfitValue(say("it is a table"), say("write a list of texts"))
    if _is_textual(of.option.type):
        said = say("{value} is not a text", value=_shown(value))
        raise UnfitValue(said, say('write a text between quotes: "name"'))
    said = say("{value} is neither a number nor a text", value=_shown(value))
    raise UnfitValue(said, say("write a number, or a text between quotes"))


def _is_textual(kind: click.ParamType[object]) -> bool:
    """Whether a bare number is a mistake."""
    return kind is click.STRING or isinstance(kind, Word | click.Choice | click.Path)


def _refuse_passwords(text: str) -> None:
    if "://" not in text:
        return
    from loadstone.model.target_url import without_passwords_in

    if without_passwords_in(text) != text:
        raise UnfitValue(
            say("the URL has a password, and files are copied and shown"),
            say(
                "leave it out, and keep it in LOADSTONE_PASSWORD, or in an option file that"
                " defaults_file names"
            ),
        )


def _reason(error: click.BadParameter) -> Message:
    if isinstance(error.message, Message):
        return error.message
    text = in_words(error.message).strip().removesuffix(".")
    return plain(" ".join(f"{text[:1].lower()}{text[1:]}".split()))


def _instead_of(value: object, of: Settable, context: click.Context) -> Message:
    if isinstance(of.option.type, click.Choice):
        known = [str(each) for each in of.option.type.choices]
        return nearest(str(value), known) or write_one_of(known)
    return say("{command} shows what it takes", command=f"{context.command_path} --help-all")


def _shown(value: object) -> str:
    """The value as written, short enough for a line."""
    from loadstone.config.values import shown

    return shown(value)


def as_words(given: Given, of: Settable) -> tuple[str, ...]:
    """The words that say the same on a command line."""
    name = next(each for each in of.option.opts if each.startswith("--"))
    match given:
        case bool():
            names = [name] if given else of.option.secondary_opts
            return tuple(names[:1])
        case str():
            return (name,) if of.is_switch else (name, given)
        case _:
            return tuple(word for text in given for word in (name, text))
