"""`python -m faults --drawn N`: draw, measure, diagnose, judge, keep."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches.place import ROOT
from benches.processes import ProgramFailed
from benches.progress import announce, hush
from faults.dialects import DRIVER_ERRORS
from faults.drawn import report
from faults.drawn.drawn import Family
from faults.drawn.families import draw_fault
from faults.drawn.frozen import Constants
from faults.drawn.judge import Judged, judge
from faults.drawn.measure import measure
from faults.drive import Asked
from faults.ground import Ground
from loadstone.sandbox import SandboxError, find_server
from loadstone.servers.errors import TargetError

RELEASES = (
    *("mariadb-10.11", "mysql-9", "mysql-8.0.31", "mysql-5.7.22"),
    *("postgresql-15", "postgresql-17", "postgresql-18"),
)
"""Servers that are asked for unless others are named."""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    draws: int
    seed: int
    seed_was_drawn: bool
    seconds: float
    families: tuple[Family, ...]
    releases: tuple[str, ...]
    constants: Constants
    """Those of the diagnosis, as they were before the seed was drawn."""
    keep: bool


@dataclass
class _Kept:
    """What came of the draws so far."""

    versions: dict[str, str]
    missing: dict[str, str]
    judged: list[Judged] = field(default_factory=list)
    not_evaluated: dict[str, str] = field(default_factory=dict)


def run_drawn(wanted: Wanted, folder: Path) -> int:
    """1 where nothing was judged; the figures are no promise yet, so none of them fails."""
    versions, missing = _servers(wanted.releases)
    for release, why in missing.items():
        print(f"not here: {release}: {why}", flush=True)
    if not versions:
        print("none of the servers is here", file=sys.stderr)
        return 1
    kept, interrupted = _Kept(versions, missing), False
    try:
        with Ground() as ground:
            _measure_all(ground, wanted, folder, kept)
    except KeyboardInterrupt:
        hush()
        interrupted = True
    finally:
        place = _keep(wanted, folder, kept)
    print(f"\n{report.by_family(kept.judged)}\n" if kept.judged else "")
    commit = (wanted.constants.commit or "no commit")[:12]
    state = "" if wanted.constants.are_frozen else ", changed since"
    print(f"Constants of {commit}{state}; seed {wanted.seed}. Not evaluated: {_count(kept)}.")
    print(f"Everything: {place.relative_to(ROOT)}")
    if interrupted:
        return 130
    return 0 if kept.judged else 1


def _count(kept: _Kept) -> str:
    missing = f"; not here: {', '.join(kept.missing)}" if kept.missing else ""
    return f"{len(kept.not_evaluated)}{missing}"


def _servers(releases: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Those that are here, with their version, and why the others are not."""
    versions, missing = {}, {}
    for release in releases:
        try:
            versions[release] = find_server(release).version
        except SandboxError as error:
            missing[release] = f"{error.message}; {error.hint}"
    return versions, missing


def _measure_all(ground: Ground, wanted: Wanted, folder: Path, kept: _Kept) -> None:
    asked = Asked(wanted.seed, wanted.seconds, folder / "runs")
    for number in range(1, wanted.draws + 1):
        announce(f"[{number}/{wanted.draws}] drawing")
        what = f"{number}"
        try:
            drawn = draw_fault(ground, wanted.seed, number, wanted.families, tuple(kept.versions))
            what = f"{number}: {drawn.family}, {drawn.kind} ({drawn.release}): {drawn.fault.size}"
            announce(f"[{number}/{wanted.draws}] {what}")
            judged = judge(measure(ground, drawn, asked))
        except (SandboxError, TargetError, ProgramFailed, *DRIVER_ERRORS, OSError) as error:
            kept.not_evaluated[what] = str(error)
            hush()
            print(f"not evaluated: {what}: {error}", flush=True)
            continue
        kept.judged.append(judged)
        hush()
        print(report.line(judged), flush=True)


def _keep(wanted: Wanted, folder: Path, kept: _Kept) -> Path:
    """In the bench's folder; with `--keep` under the names of its commit and its seed."""
    text = json.dumps(_as_record(wanted, kept), indent=1) + "\n"
    place = folder / "drawn.json"
    place.write_text(text)
    if wanted.keep:
        commit = (wanted.constants.commit or "")[:12]
        place = folder.parent / f"drawn-{commit}-{wanted.seed}.json"
        place.write_text(text)
    return place


def _as_record(wanted: Wanted, kept: _Kept) -> dict[str, Any]:
    constants = wanted.constants
    families = {
        family: report.figures_of(
            [one for one in kept.judged if one.measured.drawn.family == family]
        )
        for family in wanted.families
    }
    return {
        "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "constants": constants.commit,
        "constants_changed": constants.changed,
        "commit": constants.head,
        "seed": wanted.seed,
        "seed_drawn_after": wanted.seed_was_drawn and constants.are_frozen,
        "command": sys.argv[1:],
        "servers": kept.versions,
        "missing_servers": kept.missing,
        "families": {**families, "all": report.figures_of(kept.judged)},
        "draws": [report.as_record(one) for one in kept.judged],
        "not_evaluated": kept.not_evaluated,
    }
