"""Sketches of the values of one place, in constant memory whatever their number."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from loadstone.traffic.shapes import Value, ValueKind

SAMPLE = 2_000
"""Size of the even sample of whole numbers (Vitter's algorithm R)."""

MOST_DISTINCT = 64
_LONGEST_SHAPE = 512
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DECIMAL = re.compile(r"-?\d{1,18}\.\d{1,18}")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?")


@dataclass
class Numbers:
    """A sketch of whole numbers."""

    count: int = 0
    low: int = 0
    high: int = 0
    rising: int = 0
    """How many numbers were greater than the one before."""

    last: int = 0
    sample: array[int] = field(default_factory=lambda: array("q"))

    def add(self, value: int, random: Random) -> None:
        """Add a number."""
        if self.count:
            self.low, self.high = min(self.low, value), max(self.high, value)
            self.rising += value > self.last
        else:
            self.low = self.high = value
        self.count += 1
        self.last = value
        if len(self.sample) < SAMPLE:
            self.sample.append(value)
        elif (place := random.randrange(self.count)) < SAMPLE:
            self.sample[place] = value


@dataclass
class Decimals:
    """A sketch of numbers with decimal places."""

    low: Decimal
    high: Decimal
    places: int

    def add(self, value: Decimal) -> None:
        """Add a number."""
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.places = max(self.places, places_of(value))


def with_decimal(seen: Decimals | None, value: Decimal) -> Decimals:
    """The sketch `seen`, or a new one, with one more value."""
    if seen is None:
        return Decimals(value, value, places_of(value))
    seen.add(value)
    return seen


def places_of(value: Decimal) -> int:
    """The number of decimal places."""
    exponent = value.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


@dataclass
class Texts:
    """A sketch of texts: how long they are, and what all of them have in common."""

    shortest: int
    longest: int
    low: str
    high: str
    """`low` and `high` are the first and last text in character order: for dates, in time."""

    dates: int = 0
    datetimes: int = 0
    digits: int = 0
    decimals: int = 0
    numbers: Decimals | None = None
    """Decimals among the values: a number that was read earlier is sent back as quoted text."""

    shape: str | None = None
    """For each position the character that all texts have, or `DIGIT`, `CAPITAL` or `OTHER` where
    they differ. `None`: the texts differ in length, or are too long."""

    @classmethod
    def first(cls, text: str) -> Texts:
        """A sketch of one text."""
        found = cls(len(text), len(text), text, text)
        found.shape = text if len(text) <= _LONGEST_SHAPE and text.isprintable() else None
        found._note(text)
        return found

    def add(self, text: str) -> None:
        """Add a text."""
        self.shortest, self.longest = min(self.shortest, len(text)), max(self.longest, len(text))
        self.low, self.high = min(self.low, text), max(self.high, text)
        if self.shape is not None:
            same = len(text) == len(self.shape)
            self.shape = _common(self.shape, text) if same else None
        self._note(text)

    def _note(self, text: str) -> None:
        self.dates += bool(_DATE.fullmatch(text))
        self.datetimes += bool(_DATETIME.fullmatch(text))
        self.digits += text.isascii() and text.isdecimal()
        if text.isascii() and _DECIMAL.fullmatch(text):
            self.decimals += 1
            self.numbers = with_decimal(self.numbers, Decimal(text))


DIGIT, CAPITAL, OTHER = "\x01", "\x02", "\x03"
"""Markers in a shape for positions that differ: digits, capitals, or any characters."""


def _common(shape: str, text: str) -> str:
    if shape == text:
        return shape
    return "".join(map(_both, shape, text))


def _both(before: str, sign: str) -> str:
    if before == sign:
        return sign
    if before in "0123456789\x01" and sign in "0123456789":
        return DIGIT
    if (before == CAPITAL or "A" <= before <= "Z") and "A" <= sign <= "Z":
        return CAPITAL
    return OTHER


@dataclass
class Sketch:
    """The sketch of all values of one place."""

    count: int = 0
    kinds: Counter[ValueKind] = field(default_factory=Counter)
    first: Value | None = None
    same: bool = True
    """Whether all values were written the same."""

    distinct: Counter[str] | None = field(default_factory=Counter)
    """How often each spelling occurred; `None` where there are too many."""

    numbers: Numbers = field(default_factory=Numbers)
    decimals: Decimals | None = None
    texts: Texts | None = None
    longest_bytes: int = 0

    def add(self, values: Sequence[Value], random: Random) -> None:
        """Add the values of one statement."""
        for value in values:
            self._add(value, random)

    def _add(self, value: Value, random: Random) -> None:
        self.count += 1
        self.kinds[value.kind] += 1
        if self.first is None:
            self.first = value
        elif self.same and value.written != self.first.written:
            self.same = False
        if self.distinct is not None:
            self.distinct[value.written[:256]] += 1
            if len(self.distinct) > MOST_DISTINCT:
                self.distinct = None
        match value.kind, value.value:
            case "int", int(number):
                self.numbers.add(number, random)
            case "decimal" | "float", Decimal() as number:
                self.decimals = with_decimal(self.decimals, number)
            case "text", str(text):
                if self.texts:
                    self.texts.add(text)
                else:
                    self.texts = Texts.first(text)
            case "bytes", int(size):
                self.longest_bytes = max(self.longest_bytes, size)
