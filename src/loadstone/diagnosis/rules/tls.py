"""Encryption: what each record and byte costs on both ends."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import cpu_of, is_full, is_shared, server_cores
from loadstone.diagnosis.holds import CORES, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import counted, plain, say, say_in

SERVER_S = 10e-6
"""[P] The server's CPU for a statement's two records of a connection that others have pushed out of
the caches, as CPU per statement with and without TLS: measured 5 (oltp_read_write) to 14 µs (point
select) with MariaDB 10.11 on an EPYC; on a Xeon 9 with it and MySQL 9.7, and 13 to 23 with
PostgreSQL 15 (22 to 61 users on two cores).
"""

CLIENT_S = 3.5e-6
"""[P] The generator's CPU for them: measured 1.3 to 4.4 µs."""

WARM = 0.1
"""[P] Part of both that is left where each connection has a core and its caches for itself: with
four users on two cores 0.5 µs (MySQL 9.7) and 3.3 (PostgreSQL 15) of the server's were measured."""


BYTE_S = 0.3e-9
"""[P] CPU of one end per byte: AES-GCM with the processor's instructions."""

SPENT = 0.8
"""[P] Use of its control group's cores from which a server has none left."""

SHARE = 0.1
"""[P] Share of the load's CPU; below it encryption is not mentioned. Measured on two cores: 32 %
with point selects (estimate 26 %), 12 % with oltp_read_write (18 %). From a tenth on it is worth a
trial, and comes before the full CPU, like everything that makes events need more of it.
"""


def judge(case: Case) -> Finding | None:
    """The estimated CPU for records and bytes, divided by all CPU that the load takes."""
    case.reads.append(say("whether connections are encrypted"))
    encrypted = case.needed(case.step.encrypted_users)
    if not encrypted or not case.step.qps:
        return None
    cpu = cpu_of(case)
    used = case.needed(server_cores(case)) + (cpu.generator or 0.0) * cpu.cores
    traffic = (case.step.bytes_in + case.step.bytes_out) / case.step.seconds
    records = case.step.qps * _coldness(encrypted, cpu.cores)
    cost = records * SERVER_S + traffic * BYTE_S
    if is_shared(case):
        cost += records * CLIENT_S + traffic * BYTE_S
    share = min(cost / used, 0.9) if used else 0.0
    if share < SHARE:
        return None
    # Encryption takes CPU: it limits nothing while there is CPU left. Nor is it anybody's choice
    # where a connection within this machine is encrypted only because the server can.
    matters = is_full(case) or _has_spent_its_quota(case)
    matters = matters and not (case.is_on_loopback and case.prefers_tls)
    return Finding(
        cause="tls",
        group="setting" if matters else "note",
        sentence=counted(
            "The connection is encrypted ({version}): that takes about {share} of the CPU that the "
            "load uses, estimated from {statements} statements and {traffic} MB a second.",
            "All {number} connections are encrypted ({version}): that takes about {share} of the "
            "CPU that the load uses, estimated from {statements} statements and {traffic} MB a "
            "second.",
            encrypted,
            version=case.step.tls,
            share=Percent(share),
            statements=Number(case.step.qps),
            traffic=Number(traffic / 1e6),
        ),
        evidence=(
            case.seen(plain("encrypted_users"), encrypted, say_in("unit", "connections")),
            case.seen(say("encryption's part of the CPU (estimate)"), share, plain(""), SHARE),
        ),
        share=share,
        confidence=0.6,
        remedy=say(
            "Where the network is trusted, connect without it (tls=disabled in the target's URL) "
            "or over the unix socket; measure both before saying what it costs."
        ),
        trial=client("tls", "disabled", case.step.tls, say("TLS")),
        acts_on="server CPU",
    )


def _coldness(connections: int, cores: float) -> float:
    """How much of the price of a record is paid, as another connection was on the core before.

    It is so twice: for what its thread has in the caches, and for what the kernel has there.
    """
    return max((1.0 - min(cores / connections, 1.0)) ** 2, WARM)


def _has_spent_its_quota(case: Case) -> bool:
    limit, used = case.host_mean("cgroup.cpu_cores"), server_cores(case)
    return limit is not None and used is not None and used >= SPENT * limit


RULE = Rule("tls", say("encryption"), judge, holds=part_of(*CORES, is_priced=True))
