"""Hints that many errors give."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.model.message import Joined, Message, say


def write(example: str) -> Message:
    """What to write instead: the same in every language."""
    return say("write {example}", example=example)


def write_one_of(words: Iterable[str]) -> Message:
    """All that may be written."""
    return say("write one of {known}", known=Joined(words))


def write_either(examples: Iterable[str]) -> Message:
    """Several ways to write it."""
    return say("write {example}", example=Joined(examples, "choices"))
