"""Debian's pgbench: its command line and its output."""

from __future__ import annotations

import re
from pathlib import Path

from benches.place import Place, find
from benches.postgresql_place import PostgresqlPlace
from benches.processes import run
from benches.workload import Outcome, Step

_PROCESSED = re.compile(r"^number of transactions actually processed: (\d+)", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d+)", re.MULTILINE)
_RATE = re.compile(r"^tps = ([\d.]+) \(without initial connection time\)", re.MULTILINE)


def drive(place: Place, step: Step) -> Outcome:
    """Drive point selects of the first table, one transaction each."""
    assert isinstance(place, PostgresqlPlace), "it drives no other server"
    words = [find("pgbench"), "-n", "-f", str(_script(place, step))]
    words += ["-c", str(step.users), "-j", str(min(step.users, place.cores))]
    words += ["-T", f"{step.seconds:.0f}"]
    words += ["-M", "prepared" if step.protocol == "prepared" else "simple"]
    ran = run(words, environment=place.libpq())
    processed, failed, rate = (
        pattern.search(ran.stdout) for pattern in (_PROCESSED, _FAILED, _RATE)
    )
    if processed is None or rate is None:
        raise ValueError(f"this is no report of pgbench: {ran.stdout[-300:]!r}")
    return Outcome(
        queries=int(processed[1]),
        queries_per_s=float(rate[1]),
        cpu_s=ran.cpu_s,
        errors=int(failed[1]) if failed else 0,
    )


def _script(place: Place, step: Step) -> Path:
    """A point select of one table, with a uniform key."""
    assert step.workload == "oltp_point_select", "it has no other"
    script = place.folder / f"point-select-{step.table_size}.sql"
    script.write_text(
        f"\\set id random(1, {step.table_size})\nSELECT c FROM sbtest1 WHERE id = :id;\n"
    )
    return script
