"""The tests that need no database, as sysbench has them: their options and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.sysbench.errors import Fatal
from loadstone.workloads.scripts.options import BLOCKS, Kind, Option

_COMMANDS = ("prepare", "run", "cleanup", "help")
# The help calls it a number, and a unit is taken all the same.
_SIZES = ("file_block_size",)


class ModeMissing(Fatal):
    """`fileio run` without a mode: the test's options are told too."""


@dataclass(frozen=True)
class Declared:
    """A test of the host that loads."""

    name: str
    options: tuple[Option, ...]
    commands: tuple[str, ...]

    def known_options(self) -> dict[str, Option]:
        """Its own options by key, in the order of the help."""
        return {option.key: option for option in self.options}

    def numbers(self) -> tuple[str, ...]:
        """The keys of the options that take whole numbers and nothing else."""
        return tuple(
            one.key for one in self.options if one.kind is Kind.INT and one.key not in _SIZES
        )


HOST_TESTS: Mapping[str, Declared] = {
    name: Declared(name, BLOCKS[name], _COMMANDS if name == "fileio" else ("run", "help"))
    for name in ("fileio", "cpu", "memory", "threads", "mutex")
}
