"""The rate that a finding's remedy is predicted to bring, from what the finding claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from loadstone.analyse.closed_loops import closed_loop, usable_cores
from loadstone.analyse.closed_systems import Remedy
from loadstone.analyse.cores import client_cores, load_cores
from loadstone.analyse.foretelling import foretell
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import SYNC_WAITS
from loadstone.model.account import Place
from loadstone.model.ceilings import DISK, Resource
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.finding import Claim, Finding, Trial

PRICE_ERROR = 1.5
"""[P] Factor either way within which four of five constants of the CPU for a piece of work are, as
they depend on processor, rows and caches. Of six removals on PostgreSQL 15 the CPU that went was
0.85, 1.04, 1.19, 1.19, 1.48 and 1.73 times what the constants said (docs/decisions/0044).
"""

STATEMENT_S = 20e-6
"""[P] The server's CPU for the cheapest statement, a lookup by its key: measured 20 to 33 µs."""

PARTLY = frozenset(
    {
        # Cheaper statements, a larger pool, another order of locks: how much of the claimed
        # time that removes is what a trial is for.
        "cpu-bound",
        "deadlocks",
        "working-set",
        "shared-buffers-small",
        "full-page-images",
        "reads-one-by-one",
        "connection-storm",
        "connections-refused",
        "no-thread-pool",
        "parallel-workers",
        "snapshots",
        "stored-programs",
        "thread-pool-small",
        "too-many-sessions",
    }
)
"""Causes whose trial removes only a part of what they claim."""

_QUICKER = frozenset({"wal_sync_method"})
"""Settings of trials that make what is claimed quicker, and leave some of it."""

ENDED = frozenset(
    {
        "cpu-pinned",
        "cpu-throttled",
        "missing-index",
        "noisy-neighbour",
        "other-clients",
        "packet-loss",
        # With a hundredth of the visits nobody meets another one.
        "sequences",
        "server-paused",
        "steal",
        "compressed-tables",
        "swapping",
        "table-locks",
        "tables-flushed",
        "unused-indexes",
    }
)
"""Causes without a trial whose remedy ends what they claim."""

_STOP = frozenset({"server-paused"})
"""Causes that keep the server from work, and not from cores."""

_UNLIMITED = frozenset({"cpu-throttled", "cpu-pinned"})
"""Causes after whose end the server has all cores of its host."""

_ENDED_ON_POSTGRESQL = frozenset(
    {
        "autovacuum-behind",
        "bloated-tables",
        "checkpoint-spikes",
        "checkpoints-asked-for",
        "connection-storm",
        "dead-rows",
        "hot-updates-lost",
        "long-transaction",
        "pooler-small",
        "recovery-conflicts",
    }
)
"""The same of causes whose share is counted on PostgreSQL alone."""

_TAKE_CORES = frozenset({"noisy-neighbour", "other-clients", "steal"})
"""Of these, those after whose end the load has more of the host's cores."""


def with_foretold(
    finding: Finding,
    case: Case,
    follows: Collection[Place] = (),
    symptoms: Iterable[Claim] = (),
    *,
    is_priced: bool = False,
) -> Finding:
    """The finding with the predicted rate of its step, if its remedy says what it removes.

    Args:
        finding: what was found.
        case: at the step.
        follows: claimed places whose time becomes shorter because that of the others does.
        symptoms: what findings claim that end with it.
        is_priced: the claimed work on a core is a count times a constant.
    """
    remedy = _remedy(finding, case, follows, symptoms)
    if remedy is None:
        return finding
    if is_priced:
        least_s = STATEMENT_S * (case.step.qps or 0.0) / case.tps if case.tps else 0.0
        remedy = replace(remedy, work_error=PRICE_ERROR, least_work_s=least_s)
    changed: tuple[Resource, ...] = (finding.acts_on,) if finding.acts_on else ()
    if finding.cause == "disk-cap":
        changed = DISK
    elif finding.cause == "other-clients" and any(
        claim.place in SYNC_WAITS for claim in finding.claims
    ):
        changed = (*changed, *DISK)  # whom commits wait for uses the disk as well
    is_limited = finding.cause not in _UNLIMITED
    ceilings = case.ceilings.get(case.step.step)
    loop = closed_loop(case.step, ceilings, changed, is_limited=is_limited)
    if loop is None:
        return finding
    return finding.model_copy(update={"foretold": foretell(loop, remedy)})


def _remedy(
    finding: Finding, case: Case, follows: Collection[Place], symptoms: Iterable[Claim]
) -> Remedy | None:
    """What the finding's remedy does; `None` if it does not follow from the finding."""
    trial = finding.trial
    if trial and trial.kind == "users":
        return Remedy(users=int(trial.settings[0].value))
    if trial and trial.settings[0].name == "shards":
        return Remedy(loops=float(trial.settings[0].value))
    if not finding.claims or _is_in_part(finding, case) or _sends_less(trial):
        return None
    if trial is None and not _is_ended(finding, case):
        return None
    places = {entry.place for entry in case.step.account.entries} if case.step.account else set()
    removes: defaultdict[Place, float] = defaultdict(float)
    for claim in (*finding.claims, *symptoms):
        if claim.place not in places:
            return None  # it is somewhere else, and nobody saw how much of it is there
        if claim.place not in follows:
            removes[claim.place] += claim.share
    if finding.cause == "table-locks":
        removes["waiting for a core"] += _because_of_others(case)
    return Remedy(
        removes,
        cores=_cores_without(finding.cause, case),
        leaves_work=finding.cause in _STOP | _TAKE_CORES | _UNLIMITED,
        is_unlimited=finding.cause in _UNLIMITED,
        frees_s=_processes_s(finding, case),
    )


def _cores_without(cause: str, case: Case) -> float | None:
    """The cores that the load may use without who takes some; `None`: as many as before."""
    cores, account = load_cores(case.step), case.step.account
    if cause not in _TAKE_CORES or cores is None:
        return None
    if cause == "other-clients" and account is not None:
        return usable_cores(cores, account, client_cores(case.step))
    return cores.total


def _because_of_others(case: Case) -> float:
    """The share of the users' time in which they wait for a core that other clients' work has.

    Who holds tables does something with them: that ends as well.
    """
    account = case.step.account
    cores = account.cores if account else None
    if account is None or cores is None or not cores.others:
        return 0.0
    everything = cores.users + cores.others + (cores.own or 0.0)
    return account.share_of("waiting for a core") * cores.others / everything


def _processes_s(finding: Finding, case: Case) -> float:
    """Seconds of a core for an event that a server spends outside of its sessions on their logins.

    They are in no user's time on a core: the user is still connecting, or it is another client.
    """
    account = case.step.account
    if finding.cause != "connection-storm" or case.family != POSTGRESQL or not account:
        return 0.0
    own = account.cores.own if account.cores else None
    return (own or 0.0) / case.tps if case.tps else 0.0


def _is_in_part(finding: Finding, case: Case) -> bool:
    """Whether the remedy removes only a part of what it claims.

    Without a process for each connection nothing is left of a storm.
    """
    storm = case.family == POSTGRESQL and finding.cause == "connection-storm"
    quicker = finding.trial is not None and finding.trial.settings[0].name in _QUICKER
    return quicker or (finding.cause in PARTLY and not storm)


def _is_ended(finding: Finding, case: Case) -> bool:
    """Whether the remedy ends what a finding without a trial claims.

    Of the values that sessions take at a time, those that end lose as many as they have left.
    """
    if finding.cause == "sequences" and case.step.connects:
        return False
    if finding.cause == "disk-cap":
        # Without a limit of the server's group what is left is the disk's own time. What a quicker
        # disk takes is unknown.
        return finding.acts_on is None and case.host("disk_queue") is not None
    if finding.cause in _UNLIMITED and _has_both_limits(case):
        return False
    on_postgresql = case.family == POSTGRESQL and finding.cause in _ENDED_ON_POSTGRESQL
    return on_postgresql or finding.cause in ENDED


def _has_both_limits(case: Case) -> bool:
    """Whether both a quota and an affinity keep the server from cores: either does by itself."""
    cores = case.host("cores") or 0.0
    found = [case.host_mean(name) for name in ("cgroup.cpu_cores", "process.cpus_allowed")]
    return all(limit is not None and limit < cores for limit in found)


def _sends_less(trial: Trial | None) -> bool:
    """Whether fewer bytes are sent: how many fewer depends on what is in them."""
    return trial is not None and trial.settings[0].name == "compression"
