"""The tests that come with sysbench, and the workloads that implement them here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.workloads.scripts.options import BLOCKS, Option

STATEMENT_COUNTS = (
    "point_selects",
    "simple_ranges",
    "sum_ranges",
    "order_ranges",
    "distinct_ranges",
    "index_updates",
    "non_index_updates",
    "delete_inserts",
)
"""Options that say how many statements of a kind an event has."""

Layout = Literal["sbtest", "bulk"]

BULK_INSERT = Path(__file__).with_name("bulk_insert.lua")
"""The script of the test `bulk_insert`, whose events are rows, most of them without a statement."""

STANDARD_INPUT = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
# Where sysbench's packages put its scripts, and people theirs.
_INSTALLED = ("/usr/share/sysbench", "/usr/local/share/sysbench")
_OLTP_COMMANDS = ("prepare", "prewarm", "run", "cleanup", "help")
_SAME_COMMAND = {"warmup": "prewarm"}
_BULK_COMMANDS = ("prepare", "run", "cleanup")


@dataclass(frozen=True)
class Bundled:
    """A test that a built-in workload implements."""

    name: str
    workload: str
    options: tuple[Option, ...] = BLOCKS["oltp"]
    commands: tuple[str, ...] = _OLTP_COMMANDS
    layout: Layout = "sbtest"
    legacy: bool = False
    """Whether it is a test of 0.5, which also takes that version's options."""

    def known_options(self) -> dict[str, Option]:
        """Its own options by key, in the order of the help."""
        listed = sorted(self.options, key=lambda option: option.name)
        return {option.key: option for option in listed}


def _of_1_0(name: str, more: tuple[Option, ...] = ()) -> Bundled:
    return Bundled(name, name, BLOCKS["oltp"] + more)


_OLTP_NAMES = (
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
)

_OF_1_0 = {
    **{name: _of_1_0(name) for name in _OLTP_NAMES},
    "select_random_points": _of_1_0("select_random_points", BLOCKS["random_points"]),
    "select_random_ranges": _of_1_0("select_random_ranges", BLOCKS["random_ranges"]),
    "bulk_insert": Bundled("bulk_insert", "bulk_insert", (), _BULK_COMMANDS, "bulk"),
}

_OF_0_5 = {
    "oltp": "oltp_read_write",
    "oltp_simple": "oltp_point_select",
    "select": "oltp_point_select",
    "update_index": "oltp_update_index",
    "update_non_index": "oltp_update_non_index",
    "insert": "oltp_insert",
    "delete": "oltp_delete",
    "parallel_prepare": "oltp_read_write",
}
PARALLEL_PREPARE = "parallel_prepare"


def find_bundled(word: str) -> Bundled | None:
    """The bundled test for a name, or for the path of a script that does not exist."""
    if word in _OF_1_0:
        return _OF_1_0[word]
    stem = Path(word).name.removesuffix(".lua")
    if stem in _OF_1_0:
        return _OF_1_0[stem]
    if stem in _OF_0_5:
        return Bundled(stem, _OF_0_5[stem], BLOCKS["oltp"] + BLOCKS["legacy"], legacy=True)
    return None


def find_script(word: str) -> str | None:
    """The script for a word: a path, a name without its ending, or a Lua module."""
    places = [word, f"{word}.lua"]
    if not is_own_name(word) and "/" not in word:
        places += [each.replace("?", word.replace(".", "/")) for each in _module_path()]
    if word in STANDARD_INPUT:
        return word
    return next((path for path in places if Path(path).is_file()), None)


def _module_path() -> list[str]:
    """The module paths of LUA_PATH, LuaRocks and sysbench, as templates with a question mark."""
    given = os.environ.get("LUA_PATH_5_1") or os.environ.get("LUA_PATH") or ""
    rocks = Path.home() / ".luarocks/share/lua/5.1"
    folders = (str(rocks), "/usr/local/share/lua/5.1", "/usr/share/lua/5.1")
    own = [f"{folder}/{name}" for folder in folders for name in ("?.lua", "?/init.lua")]
    installed = [f"{folder}/?.lua" for folder in _INSTALLED]
    return [*(each for each in given.split(";") if "?" in each), "./?.lua", *own, *installed]


def is_own_name(word: str) -> bool:
    """Whether sysbench 1.0 itself has a test of exactly this name."""
    return word in _OF_1_0


def command_of(test: Bundled, word: str) -> str | None:
    """The command by its name in this test; 1.1 also calls `prewarm` `warmup`."""
    command = _SAME_COMMAND.get(word, word)
    return command if command in test.commands else None
