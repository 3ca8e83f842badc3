"""The options of sysbench 1.0.20, those that only its 1.1 has, and ours: `options.toml`.

Names are written as the help writes them; on the command line `-` and `_` are the same.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from enum import Enum
from importlib.resources import files


class Kind(Enum):
    """The type of value that an option takes."""

    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    SIZE = "size"
    STRING = "string"
    LIST = "list"
    FILE = "file"


_TAKES = {
    Kind.BOOL: "[=on|off]",
    Kind.INT: "=N",
    Kind.DOUBLE: "=N",
    Kind.SIZE: "=SIZE",
    Kind.STRING: "=STRING",
    Kind.LIST: "=[LIST,...]",
    Kind.FILE: "=FILENAME",
}


@dataclass(frozen=True)
class Option:
    """An option with its line in the help and the text of its default; `None`: it has none."""

    name: str
    kind: Kind
    about: str
    default: str | None = None

    @property
    def usage(self) -> str:
        """The option as the help writes it, with its dashes."""
        return f"--{self.name}{_TAKES[self.kind]}"

    @property
    def key(self) -> str:
        """The name by which values are looked up."""
        return key_of(self.name)


def key_of(name: str) -> str:
    """The key of a name: `table-size` and `table_size` are the same option."""
    return name.replace("-", "_")


def _read() -> dict[str, tuple[Option, ...]]:
    text = files(__package__).joinpath("options.toml").read_text("utf-8")
    blocks = tomllib.loads(text)
    return {
        block: tuple(_option(name, *row) for name, row in rows.items())
        for block, rows in blocks.items()
    }


def _option(name: str, kind: str, about: str, default: str | None = None) -> Option:
    return Option(name, Kind(kind), about, default)


BLOCKS = _read()
"""The options grouped by purpose, in the order of the help."""

_OF_ALL = ("general", "random", "log", "database", "mysql", "pgsql", "only_in_1_1", "ours")


def for_all_tests() -> dict[str, Option]:
    """The options that any command line may have, by key."""
    return {option.key: option for block in _OF_ALL for option in BLOCKS[block]}


def with_defaults_of_1_1(options: dict[str, Option]) -> dict[str, Option]:
    """The options with the different defaults of 1.1."""
    uniform = replace(options["rand_type"], default="uniform")
    return options | {"rand_type": uniform}
