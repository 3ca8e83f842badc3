"""`python -m faults [case...]`: inject, diagnose, judge, keep."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pymysql

from benches.place import ROOT, allow_descriptors
from benches.processes import ProgramFailed
from benches.progress import announce, hush
from faults import leftovers, verdict
from faults.case import Case, Server
from faults.catalogue import CASES, PAIRS, healthy_case
from faults.drive import Asked, Carried, carry_out
from faults.ground import Ground
from loadstone.sandbox import SandboxError
from loadstone.servers.errors import TargetError

_RESULTS = ROOT / "fault-results"
_HEALTHY = "healthy-"
_SEEDS = 1_000_000
_SERVERS: tuple[Server, ...] = ("mariadb", "mysql")


def main() -> int:
    """Carry the cases out; 1 where too few were right or a healthy server was accused."""
    asked = _arguments()
    signal.signal(signal.SIGTERM, _interrupted)
    leftovers.remove()
    allow_descriptors()
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = _RESULTS / stamp
    folder.mkdir(parents=True)
    begun = time.monotonic()
    print(f"seed {asked.seed}: --seed {asked.seed} draws the same sizes again", flush=True)
    carried: list[Carried] = []
    skipped: dict[str, str] = {}
    try:
        with Ground() as ground:
            _carry_out_all(ground, asked, folder, carried, skipped)
    except KeyboardInterrupt:
        hush()
        return 130
    finally:
        _keep(folder, asked, carried, skipped)
    print(f"\n{verdict.matrix(carried)}\n")
    _sum_up(carried, skipped, time.monotonic() - begun)
    print(f"Everything: {(folder / 'faults.json').relative_to(ROOT)}")
    return 0 if carried and verdict.is_good(carried) else 1


def _carry_out_all(
    ground: Ground,
    asked: argparse.Namespace,
    folder: Path,
    carried: list[Carried],
    skipped: dict[str, str],
) -> None:
    wanted = list(_wanted(asked))
    within = Asked(asked.seed, asked.seconds, folder / "runs")
    for number, (case, server) in enumerate(wanted, 1):
        announce(f"[{number}/{len(wanted)}] {case.name} on {server}")
        try:
            one = carry_out(ground, case, server, within)
        except (SandboxError, TargetError, ProgramFailed, pymysql.MySQLError, OSError) as error:
            skipped[f"{case.name} ({server})"] = str(error)
            hush()
            print(f"not evaluated: {case.name} ({server}): {error}", flush=True)
            continue
        carried.append(one)
        hush()
        print(verdict.line(one), flush=True)


def _wanted(asked: argparse.Namespace) -> Iterator[tuple[Case, Server]]:
    """Each case on each server that it is for; pairs and healthy runs take servers in turn."""
    if asked.names:
        known = {case.name: case for case in (*CASES, *PAIRS)}
        for name in asked.names:
            number = name.removeprefix(_HEALTHY)
            case = known[name] if name in known else healthy_case(int(number))
            yield from _on(case, asked.server)
        return
    for case in (*CASES, *PAIRS[: asked.pairs]):
        yield from _on(case, asked.server)
    servers: list[Server] = [asked.server] if asked.server else ["mariadb", "mysql"]
    for number in range(asked.healthy):
        yield healthy_case(number + 1), servers[number % len(servers)]


def _on(case: Case, only: Server | None) -> Iterator[tuple[Case, Server]]:
    return ((case, server) for server in case.servers if only in (None, server))


def _sum_up(carried: list[Carried], skipped: dict[str, str], seconds: float) -> None:
    share = verdict.right_share(carried)
    faults = [one for one in carried if one.fault.causes]
    void = sum(verdict.outcome(one) == "void" for one in faults)
    accused = [one for one in carried if not one.fault.causes and verdict.false_findings(one)]
    if share is not None:
        print(
            f"Right cause first: {share:.0%} of {len(faults) - void} faults"
            f" (wanted: {verdict.RIGHT_WANTED:.0%}); without effect: {void}."
            f" In {verdict.by_others(carried)} of them it is others on this machine, whom /proc"
            " shows as well."
        )
    healthy = len(carried) - len(faults)
    print(f"Healthy runs with a false finding above note level: {len(accused)} of {healthy}.")
    print(f"Not evaluated: {len(skipped)}. Took {seconds:.0f} s.")


def _keep(
    folder: Path, asked: argparse.Namespace, carried: list[Carried], skipped: dict[str, str]
) -> None:
    kept = {
        "seed": asked.seed,
        "command": sys.argv[1:],
        "cores": os.cpu_count(),
        "right_share": verdict.right_share(carried),
        "right_by_others": verdict.by_others(carried),
        "confusion": verdict.confusion(carried),
        "cases": [verdict.as_record(one) for one in carried],
        "not_evaluated": skipped,
    }
    (folder / "faults.json").write_text(json.dumps(kept, indent=1) + "\n")


def _interrupted(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends as Ctrl-C does: with everything put away."""
    raise KeyboardInterrupt


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m faults",
        description="Real servers with one real cause injected each, and the finding that comes"
        " first. Exit code 1: too few were right, or a healthy server was accused.",
    )
    names = [case.name for case in (*CASES, *PAIRS)]
    parser.add_argument("names", nargs="*", metavar="case", help=f"of {', '.join(names)}")
    parser.add_argument("--seed", type=int, help="draws the same sizes again")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="that case, or with mariadb or mysql on that server alone; may be given again",
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of a level of users; 5")
    parser.add_argument("--healthy", type=int, default=6, help="runs with nothing wrong; 6")
    parser.add_argument("--pairs", type=int, default=len(PAIRS), help="of causes at once; all")
    asked = parser.parse_args()
    asked.server = next((server for server in _SERVERS if server in asked.only), None)
    asked.names += [name for name in asked.only if name not in _SERVERS]
    for name in asked.names:
        if name not in names and not name.removeprefix(_HEALTHY).isdigit():
            parser.error(f"no case is named {name}; there are {', '.join(names)}, {_HEALTHY}1 ...")
    if asked.seconds < 3:
        parser.error("--seconds takes 3 and above: rules need some seconds to look at")
    if asked.seed is None:
        asked.seed = random.SystemRandom().randrange(_SEEDS)
    return asked


if __name__ == "__main__":
    sys.exit(main())
