"""The interface of a family's SQL, as far as templates are read and judged in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from loadstone.model.effect import Effect
from loadstone.model.template import Notation


class Dialect(Protocol):
    """How a family's servers read and write SQL."""

    @property
    def family(self) -> str:
        """The name of the family."""

    @property
    def notation(self) -> Notation:
        """How the tables of a file are written."""

    @property
    def hides(self) -> str:
        """A verbose regular expression for texts, quoted names and comments.

        Nothing in them is a parameter.
        """

    @property
    def opens(self) -> str:
        """One for the signs that begin such a thing, where it has no end."""

    @property
    def folds_names(self) -> bool:
        """Whether names without quotes are read in lower case."""

    @property
    def longest_name(self) -> int:
        """The most letters of a table's or an index's name."""

    @property
    def integers(self) -> Mapping[str, int]:
        """The types of whole numbers, in capitals, with their bits."""

    @property
    def digits_unsaid(self) -> int | None:
        """The digits of a DECIMAL that states none; `None`: any number."""

    def placeholder(self, number: int) -> str:
        """The placeholder of a statement's parameter; `number` counts from 1."""

    def effect_of(self, sql: str) -> Effect:
        """What a statement would do, judged by its words."""

    def administers(self, sql: str) -> str | None:
        """The part that affects the whole server or its accounts; `None` if there is none."""
