"""Suggestions for an unknown word."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from loadstone.model.message import Joined, Message, say


def closest(word: str, known: Iterable[str]) -> str | None:
    """The most similar known word; `None` if none is similar enough."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def nearest(word: str, known: Iterable[str]) -> Message | None:
    """`did you mean …?`; `None` if no known word is similar enough."""
    close = closest(word, known)
    return say("did you mean {word}?", word=close) if close else None


def nearest_or_all(word: str, known: Iterable[str]) -> Message:
    """As `nearest`, but if no known word is similar, all of them."""
    words = list(known)
    return nearest(word, words) or say("there are {known}", known=Joined(words))
