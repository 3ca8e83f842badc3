"""The texts of `--help`, `help` and `--help-loadstone`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loadstone.sysbench.oltp.tests import Bundled
from loadstone.workloads.scripts.options import BLOCKS, Option

_HEAD = """Usage:
  sysbench [options]... [testname] [command]

Commands implemented by most tests: prepare run cleanup help
"""
_DRIVERS = """Compiled-in database drivers:
  mysql - MySQL driver
  pgsql - PostgreSQL driver
"""
_TESTS = """Compiled-in tests:
  fileio - File I/O test
  cpu - CPU performance test
  memory - Memory functions speed test
  threads - Threads subsystem performance test
  mutex - Mutex performance test

See 'sysbench <testname> help' for a list of options for each test.
"""
_OURS = """Loadstone serves sysbench's command lines. What is its own:

{options}

Options that only sysbench 1.1 has are taken with either version:

{newer}

docs/sysbench.md says where the two differ.
"""


def general_help(compat: str) -> str:
    """The text of `sysbench --help`."""
    blocks = [
        _HEAD,
        "General options:\n" + block(BLOCKS["general"]),
        "Pseudo-Random Numbers Generator options:\n" + block(_random(compat)),
        "Log options:\n" + block(BLOCKS["log"][:1]),
        block(BLOCKS["log"][1:]),
        "General database options:\n",
        block(BLOCKS["database"]),
        "",
        _DRIVERS,
        "mysql options:\n" + block(BLOCKS["mysql"]),
        "pgsql options:\n" + block(BLOCKS["pgsql"]),
        _TESTS,
    ]
    return "\n".join(blocks) + "\n"


def test_help(test: Bundled, called: str) -> str:
    """The text of `sysbench oltp_read_write help`."""
    return f"{called} options:\n{block(list(test.known_options().values()))}"


def own_help() -> str:
    """The text of `sysbench --help-loadstone`."""
    return _OURS.format(
        options=block(BLOCKS["ours"]).rstrip(), newer=block(BLOCKS["only_in_1_1"]).rstrip()
    )


def _random(compat: str) -> Sequence[Option]:
    if compat == "1.0":
        return BLOCKS["random"]
    return [
        replace(option, default="uniform") if option.name == "rand-type" else option
        for option in BLOCKS["random"]
    ]


def block(listed: Sequence[Option]) -> str:
    """A line for each option, with the descriptions aligned."""
    width = max((len(option.usage) for option in listed), default=0)
    return "".join(f"  {option.usage:{width}} {_about(option)}\n" for option in listed)


def _about(option: Option) -> str:
    return option.about if option.default is None else f"{option.about} [{option.default}]"
