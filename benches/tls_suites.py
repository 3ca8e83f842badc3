"""What TLS costs by suite: CPU of generator and server a statement, for short and long answers.

Both ends' CPU beyond that of a connection without TLS is the suite's cost: a part for each record,
which short answers show, and a part for each byte, which long ones show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from benches import contest, loadstone
from benches.figures import spread
from benches.place import Asked, Place, open_place, other_server
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.workload import Step
from loadstone.sandbox.certificates import make_certificates

NONE = "none"
SUITES = {
    NONE: NONE,
    "TLS_AES_256_GCM_SHA384": "TLS_AES_256_GCM_SHA384",
    "TLS_AES_128_GCM_SHA256": "TLS_AES_128_GCM_SHA256",
    "TLS_CHACHA20_POLY1305_SHA256": "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "DHE-RSA-AES256-GCM-SHA384": "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384",
    "AES256-SHA": "TLS_RSA_WITH_AES_256_CBC_SHA",
}
"""OpenSSL's names, which are asked for, and the standard's, which are reported: those that a new
server and ours agree on first, then older ones. The last two are OpenSSL's, as rustls has neither.
"""

_USERS = 8
_RANGE_ROWS = 1000
"""Rows of a long answer: of 120 bytes each."""

_CONNECTIONS = 100
_ANSWERS: Mapping[str, Mapping[str, int]] = {
    "short": {},
    "long": {
        "range_size": _RANGE_ROWS,
        "point_selects": 0,
        "simple_ranges": 1,
        "sum_ranges": 0,
        "order_ranges": 0,
        "distinct_ranges": 0,
        "skip_trx": True,
    },
}
_WORKLOADS = {"short": "oltp_point_select", "long": "oltp_read_only"}


@dataclass(frozen=True)
class Driven:
    """A short run followed by a long one: their difference is what a statement takes."""

    suite: str
    answers: str
    pair: int
    client_us: float
    server_us: float
    bytes_a_statement: float


@dataclass(frozen=True)
class _Sums:
    statements: int
    bytes_in: int
    client_s: float
    server_s: float


def measure(asked: Asked, folder: Path) -> Report:
    """Measure each suite in turn, there and back in each pair."""
    files = make_certificates(folder / "rsa", "rsa")
    settings = {
        "ssl_ca": str(files.ca),
        "ssl_cert": str(files.cert("server")),
        "ssl_key": str(files.key("server")),
    }
    with open_place(asked, folder) as place, other_server(place, settings, _CONNECTIONS) as inner:
        contest.prepare(inner)
        driven = [
            _read(inner, suite, answers, pair)
            for answers in _ANSWERS
            for pair in range(asked.pairs)
            for suite in [*SUITES, *reversed(SUITES)]
        ]
    return Report(
        title="CPU of a statement by TLS suite: MariaDB, loopback TCP, a key of RSA",
        tables=tuple(
            f"{answers.capitalize()} answers, of {_bytes(driven, answers):,.0f} bytes:\n\n"
            + suites_table([one for one in driven if one.answers == answers])
            for answers in _ANSWERS
        ),
        readings=[asdict(one) for one in driven],
        notes=(
            f"{_USERS} users, {counted(asked.pairs, 'pair')} in the order A B … B A; median"
            " (least–greatest) of CPU µs a statement, user and system, of both processes: a run of"
            f" {asked.seconds[1]:g} s less one of {asked.seconds[0]:g} s. What a suite"
            " adds is taken within each pair.",
        ),
    )


def _read(place: Place, suite: str, answers: str, pair: int) -> Driven:
    announce(f"tls-suites: {answers} answers, pair {pair + 1} of {place.asked.pairs}, {suite}")
    short, long = (_drive(place, suite, answers, seconds) for seconds in place.asked.seconds)
    statements = long.statements - short.statements
    if statements <= 0:
        raise ProgramFailed(f"{suite}: the long run had no more statements than the short one")
    return Driven(
        suite,
        answers,
        pair,
        (long.client_s - short.client_s) / statements * 1e6,
        (long.server_s - short.server_s) / statements * 1e6,
        (long.bytes_in - short.bytes_in) / statements,
    )


def _drive(place: Place, suite: str, answers: str, seconds: float) -> _Sums:
    place.wait_until_alone()
    before = _cpu_s(place)
    ran = run([place.engine], stdin=json.dumps(_plan(place, suite, answers, seconds)))
    server_s = _cpu_s(place) - before
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    _check(suite, records)
    samples = [record["counts"] for record in records if record["kind"] == "sample"]
    return _Sums(
        statements=sum(one["reads"] + one["writes"] + one["other"] for one in samples),
        bytes_in=sum(one["bytes_in"] for one in samples),
        client_s=ran.cpu_s,
        server_s=server_s,
    )


def _cpu_s(place: Place) -> float:
    used = psutil.Process(place.sandbox.pid).cpu_times()
    return used.user + used.system


def _plan(place: Place, suite: str, answers: str, seconds: float) -> dict[str, Any]:
    step = Step(_USERS, seconds, workload=_WORKLOADS[answers], shards=1)
    plan = loadstone.plan(place, replace(step, tls=suite != NONE))
    plan["workload"]["options"] = dict(_ANSWERS[answers])
    if suite != NONE:
        plan["targets"][0]["tls"]["ciphers"] = [suite]
    return plan


def _check(suite: str, records: list[dict[str, Any]]) -> None:
    """The suite must be the one that was asked for: a server may have others in common with us."""
    (used,) = {record["tls"] for record in records if record["kind"] == "connected"}
    found = (used or NONE).rpartition(" ")[2]
    if found != SUITES[suite]:
        raise ProgramFailed(f"{suite} was asked for, and {used} came")


def _bytes(driven: list[Driven], answers: str) -> float:
    return spread([one.bytes_a_statement for one in driven if one.answers == answers]).median


def suites_table(driven: list[Driven]) -> str:
    """One row for each suite: each end's cost, what it adds to that without TLS, and for a byte."""
    rows = []
    for suite in SUITES:
        mine = [one for one in driven if one.suite == suite]
        pairs = sorted({one.pair for one in mine})
        added = [_cost_us(mine, pair) - _cost_us(driven, pair, NONE) for pair in pairs]
        rows.append(
            [
                suite,
                with_spread(spread([one.client_us for one in mine])),
                with_spread(spread([one.server_us for one in mine])),
                with_spread(spread(added)),
                with_spread(spread([_a_byte_ns(more, mine) for more in added]), 2),
            ]
        )
    return table(["", "client, µs", "server, µs", "added by TLS, µs", "added, ns a byte"], rows)


def _a_byte_ns(more_us: float, driven: list[Driven]) -> float:
    return 1000 * more_us / driven[0].bytes_a_statement


def _cost_us(driven: list[Driven], pair: int, suite: str | None = None) -> float:
    """Both ends' mean cost of a statement in a pair, in microseconds."""
    alike = [one for one in driven if one.pair == pair and suite in (None, one.suite)]
    return sum(one.client_us + one.server_us for one in alike) / len(alike)
