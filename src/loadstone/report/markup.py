"""HTML built from elements. Text is always escaped, so callers need not remember to do it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is HTML already; any other string is escaped where it is put into an element."""

    __slots__ = ()


def text(value: str) -> Markup:
    """The value escaped, so that `<`, `&` and quotes are shown as they are.

    Characters that HTML forbids (control characters, lone surrogates) become U+FFFD.
    """
    if isinstance(value, Markup):
        return value
    shown = "".join(mark if _is_shown(mark) else "\ufffd" for mark in value)
    return Markup(escape(shown, quote=True))


def element(name: str, *inside: str, **attributes: str | bool | None) -> Markup:
    """`element("p", "a < b", class_="note")`.

    An attribute's trailing underscore is removed and its others become hyphens. `None` and `False`
    omit the attribute; `True` writes it without a value.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        words.append(attribute if value is True else f'{attribute}="{text(str(value))}"')
    return Markup(f"<{' '.join(words)}>{''.join(map(text, inside))}</{name}>")


def joined(parts: Iterable[Markup]) -> Markup:
    """The parts joined by line breaks."""
    return Markup("\n".join(parts))


def cell(*inside: str, **attributes: str | bool | None) -> Markup:
    """A table cell that holds more than text."""
    return element("span", *inside, **attributes)


def folded(summary: str, *inside: str, is_open: bool = False, class_: str | None = None) -> Markup:
    """Details that are folded until the reader opens them by mouse or keyboard."""
    return element("details", element("summary", summary), *inside, open=is_open, class_=class_)


def not_on_paper(summary: str, inside: str, remark: str) -> Markup:
    """Details that a page has and its print has not, but for the remark next to their name."""
    where = element("span", f" ({remark})", class_="on-paper")
    return folded(element("span", summary, where), inside, class_="raw")


def paragraph(said: str, kind: str | None = None) -> Markup:
    """A line of text."""
    return element("p", said, class_=kind)


def list_of(lines: Iterable[str]) -> Markup:
    """A list of lines; nothing where there are none."""
    items = [element("li", line) for line in lines]
    return element("ul", *items) if items else Markup("")


def _is_shown(mark: str) -> bool:
    code = ord(mark)
    if code < 0x20:
        return mark in "\t\n"
    return not (0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000)
