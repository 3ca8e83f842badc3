"""Numbers in messages; each kind of figure knows its format, so that any language can write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from loadstone.model import numbers


@dataclass(frozen=True)
class Figure:
    """A number of some kind; `None` (unknown) is written `-`."""

    value: float | None
    kinds: ClassVar[dict[str, type[Figure]]] = {}
    """All kinds of figures by their names in JSON."""
    _writers: ClassVar[dict[str, Callable[[float], str]]] = {}

    def __init_subclass__(cls, write: Callable[[float], str]) -> None:
        """Register the kind; `write` formats the number in English."""
        Figure.kinds[cls._kind()] = cls
        Figure._writers[cls._kind()] = write

    @classmethod
    def _kind(cls) -> str:
        return cls.__name__.lower()

    @property
    def kind(self) -> str:
        """The name of this kind in JSON."""
        return self._kind()

    def __str__(self) -> str:
        return numbers.NOTHING if self.value is None else self._writers[self.kind](self.value)


class Number(Figure, write=numbers.num):
    """`1,234`, `56.7`, `0.089`: three significant digits."""


class Count(Figure, write=lambda value: numbers.count(int(value))):
    """`1,234`: a whole number."""


class Rate(Figure, write=numbers.digits):
    """`1,234`, `56.0`: as in a column, with trailing zeros."""


class AtLeast(Figure, write=lambda value: f"≥{numbers.digits(value)}"):
    """`≥56.0`: a `Rate` of which only a lower bound is known."""


class Percent(Figure, write=numbers.pct):
    """`41 %`: a share, where 1 is 100 %."""


class Change(Figure, write=numbers.signed):
    """`+31.4 %`: a change, as a share of the value before."""


class Bytes(Figure, write=numbers.size):
    """`48 MiB`: a size in bytes."""


class Seconds(Figure, write=numbers.duration):
    """`0.4 s`, `3 min 20 s`: a duration."""


class Short(Figure, write="{:.3g}".format):
    """`0.0123`, `1.23e+06`: three significant digits, as programs write them."""


class General(Figure, write="{:g}".format):
    """`10`, `2.5`: as many digits as the number has."""
