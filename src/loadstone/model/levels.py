"""Parses numbers of virtual users, written one by one or as a range."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loadstone.model.figure import Count
from loadstone.model.message import Message, say
from loadstone.model.quantity import COUNTS, scaled

MOST_USERS = 1_000_000
"""The most virtual users: more sockets than a host has ports for one target."""

MOST_LEVELS = 100

WRITE = say("write 1,8,64, 1..128 (doubling), or 1..4000/10 (ten levels)")

_RANGE = re.compile(r"([^./]+)\.\.([^./]+)(?:/(\d+))?")


class InvalidLevels(ValueError):
    """The text does not describe levels; has a hint what to write instead."""

    def __init__(self, what: Message, write: Message) -> None:
        super().__init__(say("{wrong}: {write}", wrong=what, write=write))
        self.what = what
        self.write = write


def levels(text: str) -> tuple[int, ...]:
    """Parse `1,8,64`; `1..128`, which doubles; `1..4000/10`, ten levels with even ratios.

    Raises:
        InvalidLevels: the syntax is wrong, or a level is repeated.
    """
    found = [level for word in text.split(",") for level in _of(word.strip())]
    twice = next((level for level in found if found.count(level) > 1), None)
    if twice is not None:
        raise InvalidLevels(
            say("{value} is there twice", value=twice),
            say(
                "leave one out; how often each is measured is said by --repeats (in a file,"
                " repeats)"
            ),
        )
    if len(found) > MOST_LEVELS:
        raise InvalidLevels(
            say("{number} levels are too many", number=Count(len(found))), _at_most(MOST_LEVELS)
        )
    return tuple(found)


def _of(word: str) -> Iterator[int]:
    match = _RANGE.fullmatch(word)
    if match is None:
        yield _users(word)
        return
    first, last = _users(match[1]), _users(match[2])
    if first >= last:
        raise InvalidLevels(say("'{word}' does not rise", word=word), WRITE)
    yield from _doubled(first, last) if match[3] is None else _spread(word, first, last, match[3])


def _doubled(first: int, last: int) -> Iterator[int]:
    """Levels that double; the last one is always included."""
    while first < last:
        yield first
        first *= 2
    yield last


def _spread(word: str, first: int, last: int, number: str) -> Iterator[int]:
    """That many levels with even ratios; fewer if rounding would repeat some."""
    count = int(number)
    if not 2 <= count <= MOST_LEVELS:
        raise InvalidLevels(
            say("'{word}' has too few or too many levels", word=word),
            say("write 2 to {most}", most=Count(MOST_LEVELS)),
        )
    ratio = (last / first) ** (1 / (count - 1))
    yield from dict.fromkeys(round(first * ratio**each) for each in range(count))


def _users(word: str) -> int:
    number = scaled(word, COUNTS)
    if number is None or number < 1 or not (number.is_integer() or number > MOST_USERS):
        raise InvalidLevels(say("'{word}' is not a number of users", word=word), WRITE)
    if number > MOST_USERS:
        raise InvalidLevels(say("'{word}' is too many", word=word), _at_most(MOST_USERS))
    return int(number)


def _at_most(number: int) -> Message:
    return say("at most {most}", most=Count(number))
