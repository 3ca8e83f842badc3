"""`python -m faults [case...]`, `python -m faults --drawn N`: inject, diagnose, judge, keep."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import get_args

from benches.place import ROOT, allow_descriptors
from benches.processes import ProgramFailed
from benches.progress import announce, hush
from faults import leftovers, verdict
from faults.arguments import HEALTHY, arguments
from faults.case import Case, Server
from faults.catalogue import CASES, PAIRS, healthy_case
from faults.dialects import DRIVER_ERRORS
from faults.drawn.command import RELEASES, Wanted, run_drawn
from faults.drawn.drawn import FAMILIES
from faults.drive import Asked, Carried, carry_out
from faults.forecast import summed_up
from faults.ground import Ground
from loadstone.sandbox import SandboxError
from loadstone.servers.errors import TargetError

_RESULTS = ROOT / "fault-results"


def main() -> int:
    """The cases, or drawn faults, each in a folder of its own."""
    asked = arguments()
    signal.signal(signal.SIGTERM, _interrupted)
    leftovers.remove()
    allow_descriptors()
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = _RESULTS / stamp
    folder.mkdir(parents=True)
    print(f"seed {asked.seed}: --seed {asked.seed} draws the same again", flush=True)
    return _cases(asked, folder) if asked.drawn is None else run_drawn(_wanted_drawn(asked), folder)


def _wanted_drawn(asked: argparse.Namespace) -> Wanted:
    return Wanted(
        draws=asked.drawn,
        seed=asked.seed,
        seed_was_drawn=asked.seed_was_drawn,
        seconds=asked.seconds,
        families=tuple(asked.family or FAMILIES),
        releases=tuple(asked.server or RELEASES),
        constants=asked.constants,
        keep=asked.keep,
    )


def _cases(asked: argparse.Namespace, folder: Path) -> int:
    """1 where too few were right or a healthy server was accused."""
    begun = time.monotonic()
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
        except (SandboxError, TargetError, ProgramFailed, *DRIVER_ERRORS, OSError) as error:
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
            number = name.removeprefix(HEALTHY)
            case = known[name] if name in known else healthy_case(int(number))
            yield from _on(case, asked.only_server)
        return
    for case in (*CASES, *PAIRS[: asked.pairs]):
        yield from _on(case, asked.only_server)
    servers = [asked.only_server] if asked.only_server else get_args(Server)
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
            f" (wanted: {verdict.RIGHT_WANTED:.0%}); {void} do not count."
            f" In {verdict.by_others(carried)} of them it is others on this machine, whom /proc"
            " shows as well."
        )
    forecasts = verdict.forecasts(carried)
    if forecasts:
        print(summed_up(forecasts))
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
        "predicted": [one.record for one in verdict.forecasts(carried)],
        "cases": [verdict.as_record(one) for one in carried],
        "not_evaluated": skipped,
    }
    (folder / "faults.json").write_text(json.dumps(kept, indent=1) + "\n")


def _interrupted(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends as Ctrl-C does: with everything put away."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
