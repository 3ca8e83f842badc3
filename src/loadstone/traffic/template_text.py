"""Writes a template as the text of a file, with comments on what could not be known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from loadstone.model.message import Message, say
from loadstone.traffic.build_template import Draft, DraftParameter, DraftTransaction
from loadstone.workloads.templates.file import parse_template

_WIDTH = 110


def text_of(draft: Draft, name: str, about: str, notes: Iterable[str]) -> str:
    """The text of the whole file, parsed again to check that it is a valid template.

    Raises:
        TemplateRefused: it is invalid, which is a bug in this program.
    """
    text = "\n".join(_lines(draft, name, about, notes)) + "\n"
    parse_template(text, f"{name}.toml")
    return text


def unknown_of(draft: Draft) -> tuple[Message, ...]:
    """Facts that could not be known, each once."""
    found = [
        say(
            "{transaction}, :{parameter}: not known: {what}",
            transaction=one.name,
            parameter=each.name,
            what=each.unknown,
        )
        for one in draft.transactions
        for each in one.parameters
        if each.unknown
    ]
    return tuple(found)


def _lines(draft: Draft, name: str, about: str, notes: Iterable[str]) -> Iterator[str]:
    for note in notes:
        yield from _comment(note)
    yield f"name = {toml(name)}"
    yield f"about = {toml(about)}"
    yield f"dialect = {toml(draft.dialect.family)}"
    for one in draft.transactions:
        yield ""
        yield from _transaction(one)


def _transaction(one: DraftTransaction) -> Iterator[str]:
    yield f"[transaction.{one.name}]"
    yield f"weight = {one.weight}"
    if not one.explicit:
        yield "autocommit = true"
    yield "statements = ["
    for statement in one.statements:
        sql = toml(statement.sql)
        more = f", repeat = {statement.repeat}" if statement.repeat > 1 else ""
        yield f"  {{ sql = {sql}{more} }}," if more else f"  {sql},"
    yield "]"
    if one.parameters:
        yield f"[transaction.{one.name}.parameters]"
    for each in one.parameters:
        yield from _parameter(each)


def _parameter(each: DraftParameter) -> Iterator[str]:
    if each.unknown:
        yield from _comment(say("not known: {what}", what=each.unknown))
    line = f"{each.name} = {toml(each.keys)}"
    choices = each.keys.get("choice")
    if len(line) <= _WIDTH or not isinstance(choices, list):
        yield line
        return
    others = {key: value for key, value in each.keys.items() if key != "choice"}
    yield f"{each.name} = {{ choice = ["
    yield from _listed(map(toml, choices))
    yield "]" + "".join(f", {key} = {toml(value)}" for key, value in others.items()) + " }"


def _listed(entries: Iterable[str]) -> Iterator[str]:
    """The entries of a list in lines of limited length."""
    line = " "
    for entry in entries:
        if len(line) + len(entry) + 2 > _WIDTH and line != " ":
            yield line
            line = " "
        line += f" {entry},"
    yield line


def _comment(text: str) -> Iterator[str]:
    """The comment in lines of limited length, without control characters, which TOML forbids."""
    line = "#"
    for word in "".join(sign if sign.isprintable() else " " for sign in text).split():
        if len(line) + len(word) >= _WIDTH and line != "#":
            yield line
            line = "#"
        line += f" {word}"
    yield line


def toml(value: object) -> str:
    """A value as TOML 1.0 has it, on one line: https://toml.io/en/v1.0.0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {toml(each)}" for key, each in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return '"' + "".join(map(_escaped, str(value))) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    is_control = ord(sign) < 0x20 or ord(sign) == 0x7F
    return f"\\u{ord(sign):04x}" if is_control else sign
