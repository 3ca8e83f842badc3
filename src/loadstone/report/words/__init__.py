"""The report's own words, a file a language; what a server or a user says is never translated."""

from __future__ import annotations

from typing import Literal

from loadstone.report.words.catalogue import Messages
from loadstone.report.words.en import ENGLISH
from loadstone.report.words.translation import localize, translated
from loadstone.report.words.zh import CHINESE

Lang = Literal["en", "zh"]

LANGUAGES: dict[Lang, Messages] = {"en": ENGLISH, "zh": CHINESE}


def in_language(lang: Lang) -> Messages:
    """The catalogue."""
    return LANGUAGES[lang]


__all__ = [
    "CHINESE",
    "ENGLISH",
    "LANGUAGES",
    "Lang",
    "Messages",
    "in_language",
    "localize",
    "translated",
]
