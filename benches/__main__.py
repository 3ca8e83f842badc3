"""`python -m benches [name...]`: measures, prints, and keeps every reading."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benches import (
    ceilings,
    client_cpu,
    cluster,
    connections,
    connections_null,
    demo_start,
    known_waits,
    measuring,
    observing,
    open_loop,
    opening,
    postgresql,
    prepare,
    proofs,
    protocols,
    saturated,
    scripted,
    second,
    shards,
    soak,
    templates,
    tls,
    tls_suites,
    tpcc,
    trials,
    viewers,
)
from benches.contest import BY_WORD
from benches.place import RESULTS, ROOT, Asked, Place, conditions, open_place
from benches.processes import ProgramFailed
from benches.progress import announce, hush
from benches.report import Bench, BenchApart
from loadstone.sandbox import SandboxError

BENCHES: dict[str, Bench] = {
    "client-cpu": client_cpu.measure,
    "protocols": protocols.measure,
    "tls": tls.measure,
    "scripted": scripted.measure,
    "connections": connections.measure,
    "measuring": measuring.measure,
    "observing": observing.measure,
    "ceilings": ceilings.measure,
    "prepare": prepare.measure,
    "tpcc": tpcc.measure,
    "templates": templates.measure,
    "viewers": viewers.measure,
}
APART: dict[str, BenchApart] = {
    "known-waits": known_waits.measure,
    "trials": trials.measure,
    "proofs": proofs.measure,
    "cluster": cluster.measure,
    "connections-null": connections_null.measure,
    "demo-start": demo_start.measure,
    "open-loop": open_loop.measure,
    "opening": opening.measure,
    "postgresql-cpu": postgresql.measure_cpu,
    "postgresql-known-waits": known_waits.measure_postgresql,
    "postgresql-prepare": postgresql.measure_prepare,
    "saturated": saturated.measure,
    "second": second.measure,
    "shards": shards.measure,
    "soak": soak.measure,
    "tls-suites": tls_suites.measure,
}
"""Only measured when named: they take long, or start servers of their own."""


def main() -> int:
    """Measure the named benches, by default most of them; 1 if a promise is broken."""
    asked = _arguments()
    names = asked.names or list(BENCHES)
    time_for_it = Asked(
        pairs=asked.pairs,
        seconds=asked.seconds,
        quick=asked.quick,
        users=asked.users,
        part=asked.part,
        minutes=asked.minutes,
        contestants=asked.contestants,
        server=asked.server,
    )
    try:
        with contextlib.ExitStack() as stack:
            within = tempfile.TemporaryDirectory(prefix="loadstone-bench-")
            folder = Path(stack.enter_context(within))
            place = None
            if any(name in BENCHES for name in names):
                announce("starting a sandbox")
                place = stack.enter_context(open_place(time_for_it, folder))
            broken = _measure(names, place, (time_for_it, folder))
    except (ProgramFailed, SandboxError, OSError) as error:
        hush()
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        hush()
        return 130
    return 1 if broken else 0


def _measure(names: list[str], place: Place | None, apart: tuple[Asked, Path]) -> list[str]:
    """Return the broken promises."""
    begun = time.monotonic()
    kept: dict[str, Any] = {"command": sys.argv[1:], "conditions": conditions(place)}
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    path = RESULTS / f"{stamp}.json"
    for name, value in kept["conditions"].items():
        print(f"- {name}: {value}")
    broken: list[str] = []
    for name in names:
        report = BENCHES[name](place) if place and name in BENCHES else APART[name](*apart)
        hush()
        print(f"\n{report.text()}", flush=True)
        broken += report.broken
        kept[name] = {"title": report.title, "readings": report.readings}
        # After each bench: if a later one fails, the earlier readings are kept.
        _keep(path, kept | {"load_average_after": os.getloadavg()[0]})
    seconds = time.monotonic() - begun
    load = os.getloadavg()[0]
    print(f"\nTook {seconds:.0f} s; load average {load:.1f} (1 min) at the end.")
    print(f"Every reading: {path.relative_to(ROOT)}")
    return broken


def _keep(path: Path, kept: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benches", description="Loadstone's own cost, compared with sysbench."
    )
    known = [*BENCHES, *APART]
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="one pair, short: a smoke test")
    parser.add_argument("--pairs", type=int, help="of A B B A; 5, or 1 with --quick")
    parser.add_argument(
        "--seconds",
        type=_seconds,
        metavar="SHORT,LONG",
        help="of a short and a long run; 5,15, or 1,3 with --quick",
    )
    parser.add_argument(
        "--users",
        type=_users,
        metavar="N,N",
        help="only these levels of those that have some",
    )
    parser.add_argument(
        "--part", type=_part, help="of hundreds of trials; 1 is all, 0.02 with --quick"
    )
    parser.add_argument("--minutes", type=_minutes, default=60.0, help="of a soak; 60")
    parser.add_argument(
        "--contestants",
        type=_contestants,
        metavar="A,B",
        help=f"only these of the programs that are compared: {', '.join(BY_WORD)}",
    )
    parser.add_argument(
        "--server",
        default="mariadb",
        metavar="NAME",
        help="of the benches with a common server: mariadb, or one of tools/get-server",
    )
    asked = parser.parse_args()
    for name in asked.names:
        if name not in known:
            parser.error(f"no bench is named {name}; there are {', '.join(known)}")
    if asked.part is None:
        asked.part = 0.02 if asked.quick else 1.0
    if asked.pairs is None:
        asked.pairs = 1 if asked.quick else 5
    if asked.pairs < 1:
        parser.error("--pairs takes 1 and above")
    if asked.seconds is None:
        asked.seconds = (1.0, 3.0) if asked.quick else (5.0, 15.0)
    return asked


def _users(text: str) -> tuple[int, ...]:
    try:
        users = tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not N,N") from None
    if not users or min(users) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: 1 and above")
    return users


def _contestants(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    for word in words:
        if word not in BY_WORD:
            raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(BY_WORD)}")
    return words


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 2 <= minutes <= 24 * 60:
        raise argparse.ArgumentTypeError(f"{text!r}: 2 to 1440")
    return minutes


def _part(text: str) -> float:
    try:
        part = float(text)
    except ValueError:
        part = 0.0
    if not 0 < part <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: above 0, at most 1")
    return part


def _seconds(text: str) -> tuple[float, float]:
    try:
        short_s, long_s = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not SHORT,LONG") from None
    if not 0.5 <= short_s < long_s:
        raise argparse.ArgumentTypeError(f"{text!r}: at least 0.5, and the second longer")
    return short_s, long_s


if __name__ == "__main__":
    sys.exit(main())
