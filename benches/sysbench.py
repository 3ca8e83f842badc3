"""Debian's sysbench: its command lines and its output."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.place import Place
from benches.processes import Memory, ProgramFailed, Ran, run
from benches.workload import Outcome, Step

# It gives its threads 30 s to connect and prepare ("failed to initialize within", "initialization
# failed"); thousands need most of that.
_TOO_SLOW, _TRIES = "nitializ", 3

_QUERIES = re.compile(r"^\s*queries:\s+(\d+)\s+\(([\d.]+) per sec\.\)$", re.MULTILINE)
_TOTAL = re.compile(r"^\s*total time:\s+([\d.]+)s$", re.MULTILINE)
_ERRORS = re.compile(r"^\s*(ignored errors|reconnects):\s+(\d+)\s", re.MULTILINE)


@dataclass(frozen=True)
class Printed:
    """The content of sysbench's last report."""

    queries: int
    queries_per_s: float
    seconds: float
    errors: int


def parse(text: str) -> Printed:
    """Parse the report at the end of `sysbench ... run`.

    Raises:
        ValueError: it is not a report.
    """
    queries, total = _QUERIES.search(text), _TOTAL.search(text)
    if queries is None or total is None:
        raise ValueError(f"this is no report of sysbench: {text[-300:]!r}")
    errors = sum(int(count) for _, count in _ERRORS.findall(text))
    return Printed(int(queries[1]), float(queries[2]), float(total[1]), errors)


def command(
    place: Place, options: Sequence[str], *, tls: bool = False, program: Sequence[str] = ()
) -> list[str]:
    """The options for the server, then `options`; for sysbench or a substitute."""
    return [
        *(program or (place.sysbench,)),
        *place.sysbench_login(tls=tls),
        "--rand-type=uniform",
        *options,
    ]


def drive(
    place: Place, step: Step, program: Sequence[str] = (), test: str | None = None
) -> Outcome:
    """Drive a step; optionally with another program, or with a script as the workload."""
    options = [
        f"--threads={step.users}",
        f"--time={step.seconds:g}",
        f"--db-ps-mode={'auto' if step.protocol == 'prepared' else 'disable'}",
    ]
    tables = [f"--tables={step.tables}", f"--table_size={step.table_size}"]
    memory = Memory()
    look = memory.look if step.watch_memory else None
    if program and step.warmup_s:
        options.append(f"--warmup-time={step.warmup_s:g}")
    asked = [*options, *tables, test or step.workload, "run"]
    words = command(place, asked, tls=step.tls, program=program)
    if step.tls:
        # It looks for its files, which have fixed names, in its working directory.
        words = ["env", "-C", str(_certificates(place)), *words]
    ran = _run(words, look)
    printed = parse(ran.stdout)
    return Outcome(
        queries=printed.queries,
        queries_per_s=printed.queries_per_s,
        cpu_s=ran.cpu_s,
        errors=printed.errors,
        memory_kb=memory.most_kb,
    )


def _run(words: Sequence[str], look: Callable[[int], None] | None) -> Ran:
    for _ in range(_TRIES - 1):
        try:
            return run(words, look=look)
        except ProgramFailed as error:
            if _TOO_SLOW not in str(error):
                raise
    return run(words, look=look)


def _certificates(place: Place) -> Path:
    """A folder with the three files, under the names that it expects."""
    files = place.sandbox.certificates
    folder = place.folder / f"sysbench-{place.sandbox.name}"
    if not folder.exists():
        folder.mkdir()
        (folder / "cacert.pem").symlink_to(files.ca)
        (folder / "client-cert.pem").symlink_to(files.cert("client"))
        (folder / "client-key.pem").symlink_to(files.key("client"))
    return folder
