"""Three field causes on real servers: found by the diagnosis, and their size measured by its proof.

A full line, encryption, and a sort buffer at glibc's mmap threshold (C1 to C3 of the field cases).
Each server has the cause when its load starts, verified independently of the diagnosis. A cause
that the diagnosis does not suspect is tried all the same, as an experiment: missing a cause is
judged as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benches.place import LOADSTONE, Asked
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.tables import table
from loadstone.model.experiment import NetworkLimit
from loadstone.mysql.facts import describe_server
from loadstone.report.opened import Run
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, start_sandbox
from loadstone.sandbox.network import limit_line, namespace, passed

SERVERS = ("mariadb", "mysql")
MBIT = 40
"""The line's rate: some hundred transactions of oltp_read_only per second."""

SORT_BUFFER = "64M"
"""Twice glibc's greatest mmap threshold."""

SMALL = "2M"

SORTED_ROWS = 400_000
"""MariaDB allocates no more of a sort buffer than the table could fill."""

_TRIAL_S, _QUICK_TRIAL_S = 120.0, 60.0
"""The duration of a proof: twice its minimum, and the minimum."""

_RESTLESS = ("gtid", "timestamp", "last_", "innodb_buffer_pool_dump", "innodb_buffer_pool_load")


@dataclass(frozen=True)
class ReadyServer:
    """A server that has the cause, and how the load reaches it."""

    sandbox: Sandbox
    url: str
    took_effect: Callable[[Mapping[str, Any]], str]
    """Given the step, what shows the cause independently of the diagnosis."""


@dataclass(frozen=True)
class Case:
    """A cause, a server that has it, and the load that triggers it."""

    name: str
    cause: str
    stand: Callable[[str], AbstractContextManager[ReadyServer]]
    """Starts a server of the given kind."""
    workload: str
    users: int
    tables: tuple[int, int]
    """The number of tables, and the rows of each."""
    remedy: str
    """What an experiment changes if nothing is suspected, in the syntax of its file."""
    options: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """The outcome of a case on one server."""

    case: str
    server: str
    took_effect: str
    first: str
    """The first finding."""
    confidence: float | None
    """The confidence in the cause before its proof; `None`: it was not suspected."""
    verdict: str
    cost: float | None
    """The share of the rate that the cause costs."""
    sentence: str
    seconds: float | None
    """The duration of the proof."""
    as_before: bool
    """Whether all variables of the server were restored at the end."""


def measure(asked: Asked, folder: Path) -> Report:
    """Run each case on each available server."""
    readings: list[Reading] = []
    missing: list[str] = []
    for case in cases():
        for server in SERVERS:
            announce(f"proofs: {case.name} on {server}")
            try:
                readings.append(_carry_out(case, server, asked, folder))
            except (SandboxError, ProgramFailed) as error:
                missing.append(f"Not evaluated: {case.name} on {server}: {error}")
    return Report(
        title="Proofs: field causes on real servers, found and measured",
        tables=(proofs_table(readings),),
        readings=[asdict(one) for one in readings],
        notes=(
            *(f"- {one.case}, {one.server}: {one.sentence}" for one in readings),
            *(f"- {one.case}, {one.server}: {one.took_effect}" for one in readings),
            *missing,
        ),
    )


def cases() -> tuple[Case, ...]:
    """The three cases, at their sizes."""
    sorts = {"order_ranges": 1, "distinct_ranges": 1}
    none = {"point_selects": 0, "simple_ranges": 0, "sum_ranges": 0}
    return (
        Case(
            "line",
            "line-full",
            _behind_a_line,
            "oltp_read_only",
            16,
            (4, 10_000),
            remedy='client = { connect = "socket" }',
        ),
        Case(
            "encryption",
            "tls",
            _encrypted,
            "oltp_point_select",
            8,
            (4, 10_000),
            remedy='client = { tls = "disabled" }',
        ),
        Case(
            "sort buffer",
            "sort-buffer-cliff",
            _sorting,
            "oltp_read_only",
            16,
            (1, SORTED_ROWS),
            options=sorts | none,
            remedy=f'dynamic = {{ sort_buffer_size = "{SMALL}" }}',
        ),
    )


def _carry_out(case: Case, server: str, asked: Asked, folder: Path) -> Reading:
    """Start, load, drive, diagnose, prove; nothing but the readings is left."""
    with case.stand(server) as standing:
        program = _Program(standing, folder)
        tables, rows = case.tables
        loaded = ("--tables", str(tables), "--table-size", str(rows))
        program.announce("prepare", "--target", standing.sandbox.local.target.url, *loaded)
        before = _variables(standing.sandbox)
        driven = program.told(
            *("run", case.workload, "--target", standing.url, "--concurrency", str(case.users)),
            *(f"--set-option={name}={value}" for name, value in case.options.items()),
            *("--duration", f"{asked.seconds[1]:g}s", "--warmup", f"{asked.seconds[0]:g}s"),
        )
        (step,) = driven["steps"]
        took_effect = standing.took_effect(step)
        found = program.findings(driven["run"]["id"])
        proved = _proved(case, program, found, (driven["run"]["id"], asked))
        after = _variables(standing.sandbox)
    return Reading(
        case=case.name,
        server=server,
        took_effect=took_effect,
        first=next(iter(found)),
        confidence=found[case.cause]["confidence"] if case.cause in found else None,
        as_before=before == after,
        **proved,
    )


def _proved(
    case: Case, program: _Program, found: Mapping[str, Any], run_of: tuple[str, Asked]
) -> dict[str, Any]:
    """The proof's result, or that of an experiment if nothing was suspected."""
    name, asked = run_of
    if case.cause not in found:
        return program.experiment(case, asked)
    seconds = _QUICK_TRIAL_S if asked.quick else _TRIAL_S
    words = ("--prove", "--prove-only", case.cause, "--prove-time", f"{seconds:g}s")
    proof = program.findings(name, *words)[case.cause]["proof"]
    if proof is None:
        raise ProgramFailed(f"the proof of {case.cause} was not carried out")
    return {name: proof[name] for name in ("verdict", "cost", "sentence", "seconds")}


@dataclass(frozen=True)
class _Program:
    """`loadstone` as users have it, with its folder of runs."""

    standing: ReadyServer
    folder: Path

    def announce(self, *words: str) -> str:
        """Its output."""
        password = self.standing.sandbox.tcp.credentials.reveal()
        return run([LOADSTONE, *words], environment={"LOADSTONE_PASSWORD": password}).stdout

    def told(self, *words: str) -> dict[str, Any]:
        """Its output as a document."""
        return dict(json.loads(self.announce(*words, "--json", "--out", str(self.folder))))

    def findings(self, name: str, *words: str) -> dict[str, Any]:
        """The findings of a run of one ladder, by cause, the most significant first."""
        (ladder,) = self.told("diagnose", name, *words)["ladders"]
        return {each["cause"]: each for each in ladder["findings"]}

    def experiment(self, case: Case, asked: Asked) -> dict[str, Any]:
        """Try the remedy against the cause, although it is not suspected."""
        file = self.folder / "experiment.toml"
        file.write_text(experiment_text(case, self.standing.url, asked))
        driven = self.told("experiment", str(file))
        comparison = Run(self.folder / driven["run"]["id"]).comparison
        assert comparison is not None, "it was an experiment"
        ((compared,),) = (cell.compared for cell in comparison.cells)
        effect = compared.verdict.effect
        cost = 1 - 1 / (1 + effect.relative) if effect else None
        sentence = f"not suspected; an experiment with {case.remedy}: {compared.verdict}"
        return {"verdict": "not suspected", "cost": cost, "sentence": sentence, "seconds": None}


def experiment_text(case: Case, url: str, asked: Asked) -> str:
    """A file for `loadstone experiment`: the unchanged server against the remedy."""
    tables, rows = case.tables
    options = "".join(f"{name} = {value}\n" for name, value in case.options.items())
    return f"""\
duration = "{asked.seconds[0]:g}s"
warmup = "1s"
ladder = [{case.users}]
repeats = {4 if asked.quick else 12}

[target]
url = "{url}"

[[workload]]
name = "{case.workload}"
tables = {tables}
table_size = {rows}

[workload.options]
{options}
[factor.remedy.without]
[factor.remedy.with]
{case.remedy}
"""


@contextmanager
def _behind_a_line(server: str) -> Iterator[ReadyServer]:
    """A server in a namespace of its own, at the other end of a rate-limited line."""
    with namespace() as line, start_sandbox(SandboxSpec(server=server, namespace=line)) as sandbox:
        limit_line(line, NetworkLimit(bits_per_s=MBIT * 1_000_000))

        def took_effect(step: Mapping[str, Any]) -> str:
            seen = passed(line)
            return (
                f"a line of {MBIT} Mbit/s sent {seen.bytes_sent / 1e6:,.0f} MB, and held back "
                f"{seen.held_back:,} times"
            )

        yield ReadyServer(sandbox, _url(sandbox, "disabled"), took_effect)


@contextmanager
def _encrypted(server: str) -> Iterator[ReadyServer]:
    with start_sandbox(SandboxSpec(server=server)) as sandbox:

        def took_effect(step: Mapping[str, Any]) -> str:
            with sandbox.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")
                ((_, accepted),) = cursor.fetchall()
            return f"the server finished {int(accepted):,} TLS handshakes"

        yield ReadyServer(sandbox, _url(sandbox, "required"), took_effect)


@contextmanager
def _sorting(server: str) -> Iterator[ReadyServer]:
    """All tables fit into the buffer pool: only the sorts are measured."""
    settings = {"sort_buffer_size": SORT_BUFFER, "innodb_buffer_pool_size": "512M"}
    with start_sandbox(SandboxSpec(server=server, settings=settings)) as sandbox:
        yield ReadyServer(sandbox, _url(sandbox, "disabled"), _faults_a_sort)


def _faults_a_sort(step: Mapping[str, Any]) -> str:
    rates, faults = step["server"]["rates"], step["host"]["minor_faults_per_s"]
    sorts = rates.get("sort_range", 0.0) + rates.get("sort_scan", 0.0)
    each = (
        "no sorts" if not sorts or faults is None else f"{faults / sorts:,.1f} page faults a sort"
    )
    return f"sort_buffer_size={SORT_BUFFER}, {each}"


def _url(sandbox: Sandbox, tls: str) -> str:
    return f"{sandbox.tcp.target.url.partition('?')[0]}?tls={tls}"


def _variables(sandbox: Sandbox) -> dict[str, str]:
    """All variables that only people change."""
    with sandbox.connect() as connection:
        found = describe_server(connection, sandbox.local.target).variables
    return {name: value for name, value in found.items() if not name.startswith(_RESTLESS)}


def proofs_table(readings: Sequence[Reading]) -> str:
    """One row for each case and server."""
    rows = [
        [
            one.case,
            one.server,
            one.first,
            "no" if one.confidence is None else f"{100 * one.confidence:.0f} %",
            one.verdict,
            "" if one.cost is None else f"{100 * one.cost:.0f} %",
            "yes" if one.as_before else "NO",
        ]
        for one in readings
    ]
    heads = ["case", "server", "first", "suspected", "verdict", "costs", "variables as before"]
    return table(heads, rows)
