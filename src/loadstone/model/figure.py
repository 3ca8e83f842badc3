"""Numbers in sentences, each of a kind, so that its language can write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from loadstone.model import numbers


@dataclass(frozen=True)
class Figure:
    """A number of some kind; an unknown one (`None`) is written `-`."""

    value: float | None
    kinds: ClassVar[dict[str, type[Figure]]] = {}
    """By their names in JSON."""
    _writers: ClassVar[dict[str, Callable[[float], str]]] = {}

    def __init_subclass__(cls, write: Callable[[float], str]) -> None:
        """`write`: the number in English."""
        Figure.kinds[cls._kind()] = cls
        Figure._writers[cls._kind()] = write

    @classmethod
    def _kind(cls) -> str:
        return cls.__name__.lower()

    @property
    def kind(self) -> str:
        """Its name in JSON."""
        return self._kind()

    def __str__(self) -> str:
        return numbers.NOTHING if self.value is None else self._writers[self.kind](self.value)


class Number(Figure, write=numbers.num):
    """`1,234`, `56.7`, `0.089`: three digits that matter."""


class Count(Figure, write=lambda value: numbers.count(int(value))):
    """`1,234`: a whole number."""


class Rate(Figure, write=numbers.digits):
    """`1,234`, `56.0`: as in a column, with the zeros at its end."""


class Percent(Figure, write=numbers.pct):
    """`41 %`: a share of 1."""


class Change(Figure, write=numbers.signed):
    """`+31.4 %`: a difference, as a share of what there was before."""


class Bytes(Figure, write=numbers.size):
    """`48 MiB`."""


class Seconds(Figure, write=numbers.duration):
    """`0.4 s`, `3 min 20 s`: a duration."""


class Short(Figure, write="{:.3g}".format):
    """`0.0123`, `1.23e+06`: three digits that matter, as programs write them."""


class General(Figure, write="{:g}".format):
    """`10`, `2.5`: as many digits as it has."""
