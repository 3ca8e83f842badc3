"""What other parts of the program said in English, as elements of a page."""

from __future__ import annotations

from loadstone.report.markup import Markup, element
from loadstone.report.words import ENGLISH, Words, translated


def speech(said: str, words: Words, name: str = "span", class_: str | None = None) -> Markup:
    """In the page's language; what that has no phrase for is marked as English.

    Readers of screens change their voice by the mark.
    """
    other = translated(said, words)
    is_foreign = other is None and words.language != ENGLISH.language
    return element(
        name, other or said, lang=ENGLISH.language if is_foreign else None, class_=class_
    )
