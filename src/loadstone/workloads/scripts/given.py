"""The values of options: as given, or else their defaults."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.options import Option


class Values:
    """The values of options by key: what was given, else the default."""

    def __init__(self, known: Mapping[str, Option], given: Mapping[str, str]) -> None:
        self._known = known
        self._given = dict(given)

    def is_given(self, key: str) -> bool:
        """Whether the command line or a file sets the option."""
        return key in self._given

    def text(self, key: str) -> str:
        """The given text, or else that of the default; empty if there is neither."""
        return self._given.get(key, self._known[key].default or "")

    def integer(self, key: str) -> int:
        """The whole number at the start of the text."""
        return values.lenient_int(self.text(key))

    def number(self, key: str) -> float:
        """The number at the start of the text, which may have a fraction."""
        return values.lenient_float(self.text(key))

    def switch(self, key: str) -> bool:
        """Whether the option is on; one without a value is on."""
        if key in self._given and not self._given[key]:
            return True
        return bool(values.switch(self.text(key)))

    def words(self, key: str) -> list[str]:
        """The parts of a comma-separated list."""
        return values.words(self.text(key))

    def with_more(self, known: Mapping[str, Option], given: Mapping[str, str]) -> Values:
        """The values together with the options of a test."""
        return Values({**self._known, **known}, {**self._given, **given})
