"""The words of `python -m faults`."""

from __future__ import annotations

import argparse
import random
from typing import get_args

from faults.case import Server
from faults.catalogue import CASES, PAIRS
from faults.drawn.command import RELEASES
from faults.drawn.drawn import FAMILIES
from faults.drawn.frozen import FROZEN, constants

HEALTHY = "healthy-"
"""The start of the names of runs with nothing wrong; a number follows."""

_SEEDS = 1_000_000
_SERVERS: tuple[Server, ...] = get_args(Server)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What is asked for; ends the program where that cannot be."""
    parser = _parser()
    asked = parser.parse_args(words)
    asked.only_server = next((server for server in _SERVERS if server in asked.only), None)
    asked.names += [name for name in asked.only if name not in _SERVERS]
    if asked.seconds < 3:
        parser.error("--seconds takes 3 and above: rules need some seconds to look at")
    _check_drawn(parser, asked)
    names = _names()
    for name in asked.names:
        if name not in names and not name.removeprefix(HEALTHY).isdigit():
            parser.error(f"no case is named {name}; there are {', '.join(names)}, {HEALTHY}1 ...")
    # Before the seed is drawn: nobody can have fitted these constants to its faults.
    asked.constants = constants()
    if asked.keep and not asked.constants.are_frozen:
        why = ", ".join(asked.constants.changed) or "no commit has them"
        parser.error(f"--keep needs frozen constants: commit {why}, or leave --keep out")
    asked.seed_was_drawn = asked.seed is None
    if asked.seed is None:
        asked.seed = random.SystemRandom().randrange(_SEEDS)
    return asked


def _check_drawn(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    if asked.drawn is None:
        if asked.keep or asked.server or asked.family:
            parser.error("--keep, --server and --family belong to --drawn")
        return
    if asked.drawn < 1:
        parser.error("--drawn takes 1 and above: how many faults to draw")
    if asked.names or asked.only:
        parser.error("--drawn takes no cases: it draws faults without a name; --server limits it")
    if asked.keep and asked.seed is not None:
        parser.error("--keep draws its seed itself, after the constants were frozen: no --seed")


def _names() -> list[str]:
    return [case.name for case in (*CASES, *PAIRS)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m faults",
        description="Real servers with one real cause injected each, and the finding that comes"
        " first. Exit code 1: too few were right, or a healthy server was accused.",
    )
    parser.add_argument("names", nargs="*", metavar="case", help=f"of {', '.join(_names())}")
    parser.add_argument("--seed", type=int, help="draws the same sizes again")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help=f"that case, or with {', '.join(_SERVERS)} on that server alone; may be given again",
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of a level of users; 5")
    parser.add_argument("--healthy", type=int, default=6, help="runs with nothing wrong; 6")
    parser.add_argument("--pairs", type=int, default=len(PAIRS), help="of causes at once; all")
    drawn = parser.add_argument_group("drawn faults, in place of the cases")
    drawn.add_argument("--drawn", type=int, metavar="N", help="draw so many faults")
    drawn.add_argument(
        "--server",
        action="append",
        metavar="NAME",
        help=f"draw from these servers; {', '.join(RELEASES)}; may be given again",
    )
    drawn.add_argument(
        "--family", action="append", choices=FAMILIES, help="draw from these; all; may be repeated"
    )
    drawn.add_argument(
        "--keep",
        action="store_true",
        help="name the result after the commit and the seed; refused while there are changes that"
        f" are not committed in {', '.join(FROZEN)}",
    )
    return parser
