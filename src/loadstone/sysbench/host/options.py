"""sysbench's tests that need no database: their options and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.sysbench.errors import Fatal
from loadstone.workloads.scripts.options import BLOCKS, Kind, Option

_COMMANDS = ("prepare", "run", "cleanup", "help")
# The help calls it a number, but a unit is accepted too.
_SIZES = ("file_block_size",)


class ModeMissing(Fatal):
    """`fileio run` without a mode: the test's options are printed too."""


@dataclass(frozen=True)
class Declared:
    """A test of the host, with its options and commands."""

    name: str
    options: tuple[Option, ...]
    commands: tuple[str, ...]

    def known_options(self) -> dict[str, Option]:
        """Its own options by key, in the order of the help."""
        return {option.key: option for option in self.options}

    def numbers(self) -> tuple[str, ...]:
        """The keys of the options that accept only whole numbers."""
        return tuple(
            one.key for one in self.options if one.kind is Kind.INT and one.key not in _SIZES
        )


HOST_TESTS: Mapping[str, Declared] = {
    name: Declared(name, BLOCKS[name], _COMMANDS if name == "fileio" else ("run", "help"))
    for name in ("fileio", "cpu", "memory", "threads", "mutex")
}
