"""Hints that many errors share."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.model.message import Joined, Message, say


def write(example: str) -> Message:
    """A hint with an example to write instead, which is the same in every language."""
    return say("write {example}", example=example)


def write_one_of(words: Iterable[str]) -> Message:
    """A hint with all words that may be written."""
    return say("write one of {known}", known=Joined(words))


def write_either(examples: Iterable[str]) -> Message:
    """A hint with several examples."""
    return say("write {example}", example=Joined(examples, "choices"))
