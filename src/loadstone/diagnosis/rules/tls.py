"""Encryption: what each record and byte costs both ends."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import cpu_of, is_full, is_shared, server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SERVER_S = 10e-6
"""[P] the server's CPU for a statement's two records: measured 5 (oltp_read_write) to 14 µs (point
select) with MariaDB 10.11 on an EPYC, by CPU a statement with and without."""

CLIENT_S = 3.5e-6
"""[P] the generator's: measured 3 to 4.4 µs."""

BYTE_S = 0.3e-9
"""[P] CPU of one end for a byte: AES-GCM with the processor's instructions."""

SPENT = 0.8
"""[P] of its control group's cores from which a server has none left."""

SHARE = 0.1
"""[P] of the CPU that the load takes; below it encryption is a note. Measured on two cores: 32 % of
it with point selects (estimate 26 %), 12 % with oltp_read_write (18 %). From a tenth on it is worth
a trial, and stands before the full CPU as whatever else makes events need more of it."""


def judge(case: Case) -> Finding | None:
    """The estimate of records and bytes by what CPU the load takes where it is measured."""
    case.reads.append("whether connections are encrypted")
    encrypted = case.needed(case.step.encrypted_users)
    if not encrypted or not case.step.qps:
        return None
    cpu = cpu_of(case)
    used = case.needed(server_cores(case)) + (cpu.generator or 0.0) * cpu.cores
    traffic = (case.step.bytes_in + case.step.bytes_out) / case.step.seconds
    cost = case.step.qps * SERVER_S + traffic * BYTE_S
    if is_shared(case):
        cost += case.step.qps * CLIENT_S + traffic * BYTE_S
    share = min(cost / used, 0.9) if used else 0.0
    # What encryption takes is CPU: it holds nothing back where there is more of it.
    matters = share >= SHARE and (is_full(case) or _has_spent_its_quota(case))
    return Finding(
        cause="tls",
        group="setting" if matters else "note",
        sentence=(
            f"All {encrypted:,} connections are encrypted ({case.step.tls}): that takes about "
            f"{pct(share)} of the CPU that the load uses, reckoned from {num(case.step.qps)} "
            f"statements and {num(traffic / 1e6)} MB a second."
        ),
        evidence=(
            case.seen("encrypted_users", encrypted, "connections"),
            case.seen("encryption's part of the CPU (estimate)", share, "", SHARE),
        ),
        share=share,
        confidence=0.6,
        remedy=(
            "Where the network is trusted, connect without (tls=disabled in the target's URL) or "
            "by the unix socket; measure both before saying what it costs."
        ),
        trial=client("tls", "disabled", case.step.tls, "TLS"),
        acts_on="server CPU",
    )


def _has_spent_its_quota(case: Case) -> bool:
    limit, used = case.host_mean("cgroup.cpu_cores"), server_cores(case)
    return limit is not None and used is not None and used >= SPENT * limit


RULE = Rule("tls", say("encryption"), judge)
