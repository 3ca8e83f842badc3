"""English sentences of the rest of the program, put into another language phrase by phrase.

The rules of `loadstone.diagnosis`, the ceilings, the review of settings and the lab write English
sentences with figures in them, and these are what a run's folder keeps. A phrase has such a
sentence with names in braces where figures stand, and the other language's with the same names.
To translate is to find the phrase that a sentence was made from, and to fill the figures in again.

So a rule is written once and knows no language, and what was stored years ago is translated too. A
sentence that no phrase fits stays as it is; a test looks at every sentence that the code can make.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

_HOLE = re.compile(r"\{(\w+)\}")

_FIGURES = {"number": r"[\d,]+"}
"""What fits a hole of that name; any other takes whatever stands there, and as little as it can."""


class Filling(Protocol):
    """What may stand in a hole that is not just a figure or a name."""

    @property
    def pattern(self) -> str:
        """A regular expression without groups that capture."""

    def localize(self, said: str) -> str | None:
        """What stands there in the other language; `None`: nothing of the kind is known."""


@dataclass(frozen=True)
class Phrase:
    """A sentence, or a part of one, in English and in another language."""

    english: str
    other: str
    fillings: Mapping[str, Filling]
    """By the hole's name; what stands in the other holes is told as it is."""

    @cached_property
    def literal(self) -> str:
        """The English without its holes."""
        return "".join(self._texts)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """The English between its holes."""
        return tuple(_HOLE.split(self.english)[::2])

    @property
    def pattern(self) -> str:
        """Fits what was made from the English."""
        return self._pattern(named=False)

    @cached_property
    def _matcher(self) -> re.Pattern[str]:
        return re.compile(self._pattern(named=True), re.DOTALL)

    def _pattern(self, *, named: bool) -> str:
        # Texts and names of holes take turns.
        parts = _HOLE.split(self.english)
        found = []
        for text, name in zip(parts[::2], [*parts[1::2], ""], strict=True):
            found.append(re.escape(text))
            if name:
                filling = self.fillings.get(name)
                inside = filling.pattern if filling else _FIGURES.get(name, ".*?")
                found.append(f"(?P<{name}>{inside})" if named else f"(?:{inside})")
        return "".join(found)

    def localize(self, said: str) -> str | None:
        """The other language's sentence with the figures of this one; `None`: it is another."""
        # Looking for its texts spares most phrases their regular expression.
        if not (said.startswith(self._texts[0]) and all(text in said for text in self._texts)):
            return None
        match = self._matcher.fullmatch(said)
        if match is None:
            return None
        values = {name: self._value(name, value) for name, value in match.groupdict().items()}
        if any(value is None for value in values.values()):
            return None
        return self.other.format_map(values)

    def _value(self, name: str, value: str) -> str | None:
        filling = self.fillings.get(name)
        return filling.localize(value) if filling else value


class Phrasebook:
    """Phrases of which one is chosen: that with the most words of its own."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        """The order of phrases does not matter."""
        self.phrases = tuple(sorted(phrases, key=lambda one: -len(one.literal)))

    @cached_property
    def pattern(self) -> str:
        """Fits what any of them fits."""
        return "|".join(phrase.pattern for phrase in self.phrases)

    def localize(self, said: str) -> str | None:
        """The sentence in the other language; `None`: no phrase fits."""
        for phrase in self.phrases:
            told = phrase.localize(said)
            if told is not None:
                return told
        return None


@dataclass(frozen=True)
class Each:
    """A list in which each part is told for itself; a part that no phrase fits stays as it is."""

    parts: Phrasebook
    separator: str = ", "
    joined: str = "、"
    pattern: str = ".*?"

    def localize(self, said: str) -> str:
        """All parts."""
        return self.joined.join(
            self.parts.localize(one) or one for one in said.split(self.separator)
        )


def phrase(english: str, other: str, /, **fillings: Filling) -> Phrase:
    """One phrase, with what stands in its holes where that is more than a figure."""
    return Phrase(english, other, fillings)


def one_of(said: Mapping[str, str], /, **fillings: Filling) -> Phrasebook:
    """Phrases without holes, or with holes for figures; `fillings` are for those that have them."""
    return Phrasebook(
        Phrase(english, other, {name: fillings[name] for name in _holes(english) & set(fillings)})
        for english, other in said.items()
    )


def _holes(text: str) -> set[str]:
    return set(_HOLE.findall(text))
