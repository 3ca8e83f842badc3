"""Translates messages into the reader's language.

Each language has a gettext catalogue, `locale/zh_CN/LC_MESSAGES/loadstone.po`; a new language is a
new file. English is the source and has none.
"""

from __future__ import annotations

import ast
import gettext
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from loadstone.model.chinese_spaces import spaced
from loadstone.model.figure import Figure
from loadstone.model.message import Joined, Message, filled, plain, say_in

Lang = Literal["en", "zh"]

VARIABLE = "LOADSTONE_LANG"
"""The environment variable that comes before the locale."""

_CATALOGUES: Mapping[Lang, str] = {"zh": "zh_CN"}
_LOCALE = Path(__file__).parents[1] / "locale"

Key = tuple[str | None, str]
"""The context and template of a message."""


@dataclass(frozen=True)
class Catalogue:
    """The translations of one language."""

    texts: Mapping[Key, tuple[str, ...]]
    """The translations, one for each plural form; a single one if nothing is counted."""
    form: Callable[[int], int]
    """Returns the plural form for a number."""

    def of(self, message: Message) -> str | None:
        """The translated template of a message; `None` if there is none."""
        found = self.texts.get((message.context, message.template))
        if not found:
            return None
        if message.plural is None or message.number is None:
            return found[0]
        form = self.form(message.number)
        return found[form] if form < len(found) else found[-1]


@dataclass(frozen=True)
class Language:
    """A language; `language(message)` translates a message."""

    code: Lang
    tag: str
    """The language tag for HTML (BCP 47)."""
    catalogue: Catalogue | None = field(default=None, repr=False, compare=False)

    def __call__(self, text: str) -> str:
        """The message in this language; a plain text or an untranslated message as it is."""
        if self.catalogue is None or not isinstance(text, Message):
            return str(text)
        template = self.catalogue.of(text)
        if template is None:
            return str(text)
        values = {name: self.value(one) for name, one in text.values.items()}
        if self.code == "zh" and "{{" not in template:
            template = spaced(template, values)
        return filled(template, values)

    def value(self, value: Any) -> str:
        """The text for a placeholder's value."""
        match value:
            case Joined():
                return value.joined(self.value, self)
            case Figure():
                return self._figure(str(value))
            case _:
                return self(value) if isinstance(value, str) else str(value)

    def _figure(self, written: str) -> str:
        """The figure in this language: not every one has a space before the percent sign."""
        number, sign, rest = written.partition(" %")
        if not sign or rest:
            return written
        return self(say_in("unit", "{number} %", number=number))

    def knows(self, text: str) -> bool:
        """Whether the text has a translation in this language; always false in English."""
        if self.catalogue is None:
            return True
        return isinstance(text, Message) and self.catalogue.of(text) is not None

    def template(self, text: str) -> str | None:
        """The translation of a template without context, with its placeholders."""
        return None if self.catalogue is None else self.catalogue.of(plain(text))

    def sentences(self, *texts: str) -> str:
        """The sentences one after the other, without empty ones."""
        return self.value(Joined((text for text in texts if text), "sentences"))

    def pair(self, name: str, what: str) -> str:
        """A name and its description: `name: what`."""
        return self(say_in("joined", "{first}: {second}", first=name, second=what))

    def ended(self, sentence: str) -> str:
        """The sentence with a full stop."""
        return self(say_in("joined", "{sentence}.", sentence=sentence))

    def lookup(self, text: str) -> str:
        """Translate a template without placeholders, even if it is no longer a `Message`."""
        return self(plain(text))


ENGLISH = Language("en", "en")


@lru_cache
def in_language(code: Lang) -> Language:
    """The language with this code."""
    name = _CATALOGUES.get(code)
    if name is None:
        return ENGLISH
    path = _LOCALE / name / "LC_MESSAGES" / "loadstone.po"
    return Language(code, name.replace("_", "-"), read_catalogue(path.read_text("utf-8")))


def translating() -> tuple[Language, ...]:
    """All languages with a catalogue."""
    return tuple(map(in_language, _CATALOGUES))


def of_environment(environment: Mapping[str, str] = os.environ) -> Language:
    """The user's language, by `LOADSTONE_LANG`, else `LC_ALL`, `LC_MESSAGES` or `LANG`."""
    for variable in (VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        if wanted := environment.get(variable):
            return named(wanted)
    return ENGLISH


def named(wanted: str) -> Language:
    """The language of `zh`, `zh_CN.UTF-8` or `zh-CN`, whatever the country; English if unknown."""
    code = re.split(r"[_.@-]", wanted.lower())[0]
    return next((in_language(each) for each in _CATALOGUES if each == code), ENGLISH)


def read_catalogue(text: str) -> Catalogue:
    """Parse the text of a `.po` file (GNU gettext manual, "PO Files")."""
    texts: dict[Key, tuple[str, ...]] = {}
    rule = "n != 1"
    for entry in _entries(text):
        forms = tuple(one for name, one in entry.items() if name.startswith("msgstr") and one)
        if entry["msgid"]:
            texts[entry.get("msgctxt"), entry["msgid"]] = forms
        elif forms and (found := re.search(r"plural=([^;\n]+)", forms[0])):
            rule = found[1]
    return Catalogue(texts, gettext.c2py(rule))


def _entries(text: str) -> Iterator[dict[str, str]]:
    """The texts of each entry by keyword (`msgid`, `msgstr[0]`), without fuzzy entries."""
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        entry: dict[str, str] = {}
        keyword = ""
        for line in lines:
            if line and not line.startswith("#"):
                name, quote, rest = line.partition('"')
                keyword = name.strip() or keyword
                entry[keyword] = entry.get(keyword, "") + ast.literal_eval(quote + rest)
        if "msgid" in entry and not any(re.match("#,.*fuzzy", line) for line in lines):
            yield entry
