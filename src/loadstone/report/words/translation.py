"""What the rest of the program says in English, in the language of a report."""

from __future__ import annotations

from functools import lru_cache

from loadstone.report.words.catalogue import Messages
from loadstone.report.words.phrases import Phrasebook

_CHINESE = "zh-CN"


def localize(said: str, words: Messages) -> str:
    """The sentence in the report's language; as it is where that has no phrase for it."""
    return translated(said, words) or said


def translated(said: str, words: Messages) -> str | None:
    """The sentence in the report's language; `None` where that has no phrase for it."""
    if words.language != _CHINESE:
        return None
    return _in_chinese(said)


@lru_cache(maxsize=4096)
def _in_chinese(said: str) -> str | None:
    return _book().localize(said)


@lru_cache(maxsize=1)
def _book() -> Phrasebook:
    # Only a Chinese report pays for its phrases.
    from loadstone.report.words.zh_phrases import PHRASES

    return Phrasebook(PHRASES)
