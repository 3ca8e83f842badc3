"""The texts of `--help`, `--help-loadstone` and `--version`."""

from __future__ import annotations

from loadstone import __version__
from loadstone.pgbench.options import OPTIONS, Block, Option

VERSION = "15.18"
"""The version whose behaviour is reproduced."""

_HEAD = """pgbench is a benchmarking tool for PostgreSQL.

Usage:
  pgbench [OPTION]... [DBNAME]
"""
_TAIL = """Report bugs to Loadstone, which serves these options, and not to PostgreSQL.
--help-loadstone lists its own options.
"""
_TITLES: tuple[tuple[Block, str], ...] = (
    ("initialization", "Initialization options:"),
    ("script", "Options to select what to run:"),
    ("benchmarking", "Benchmarking options:"),
    ("common", "Common options:"),
)
_OURS = """Loadstone serves pgbench's command lines. What is its own:

{options}
docs/pgbench.md says where the two differ.
"""
_WIDTH = 33


def version() -> str:
    """The text of `--version`."""
    return f"pgbench (PostgreSQL) {served()}\n"


def served() -> str:
    """The version, as the first line of a report has it."""
    return f"{VERSION} (served by Loadstone {__version__})"


def general_help() -> str:
    """The text of `--help`."""
    blocks = [f"{title}\n{_block(block)}" for block, title in _TITLES]
    return "\n".join([_HEAD, *blocks, _TAIL])


def own_help() -> str:
    """The text of `--help-loadstone`."""
    return _OURS.format(options=_block("ours"))


def _block(block: Block) -> str:
    return "".join(_line(option) for option in OPTIONS if option.block == block)


def _line(option: Option) -> str:
    short = f"-{option.short}, " if option.short else ""
    takes = f"={option.takes}" if option.takes else ""
    usage = f"  {short}--{option.long}{takes}"
    if len(usage) >= _WIDTH:
        return f"{usage}\n{'':{_WIDTH}}{option.about}\n"
    return f"{usage:{_WIDTH}}{option.about}\n"
