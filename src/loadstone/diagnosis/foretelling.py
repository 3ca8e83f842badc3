"""The rate that a finding's remedy is predicted to bring, from what the finding claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

from loadstone.analyse.closed_loops import closed_loop
from loadstone.analyse.cores import load_cores
from loadstone.analyse.foretelling import Remedy, foretell
from loadstone.diagnosis.context import Case
from loadstone.model.account import Place
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.finding import Finding, Trial

PRICE_ERROR = 1.5
"""[P] Factor either way within which four of five constants of the CPU for a piece of work are, as
they depend on processor, rows and caches. Of six removals on PostgreSQL 15 the CPU that went was
0.85, 1.04, 1.19, 1.19, 1.48 and 1.73 times what the constants said (docs/decisions/0044).
"""

PARTLY = frozenset(
    {
        # Cheaper statements, a larger pool or log, another order of locks: how much of the claimed
        # time that removes is what a trial is for.
        "cpu-bound",
        "deadlocks",
        "working-set",
        "shared-buffers-small",
        "full-page-images",
        "reads-one-by-one",
        "redo-log-small",
        "io-capacity-low",
        "temporary-tables-on-disk",
        "sort-buffer-small",
        "connection-storm",
        "connections-refused",
        "no-thread-pool",
        "parallel-workers",
        "stored-programs",
        "thread-pool-small",
    }
)
"""Causes whose trial removes only a part of what they claim."""

ENDED = frozenset(
    {
        "missing-index",
        "noisy-neighbour",
        "packet-loss",
        # With a hundredth of the visits nobody meets another one.
        "sequences",
        "server-paused",
        "steal",
        "swapping",
        "table-locks",
        "tables-flushed",
    }
)
"""Causes without a trial whose remedy ends what they claim."""

_ENDED_ON_POSTGRESQL = frozenset(
    {
        "autovacuum-behind",
        "connection-storm",
        "dead-rows",
        "hot-updates-lost",
        "long-transaction",
    }
)
"""The same of causes whose share is counted on PostgreSQL alone."""

_TAKE_CORES = frozenset({"noisy-neighbour", "steal"})
"""Of these, those after whose end the load has all cores of the host."""


def with_foretold(
    finding: Finding, case: Case, follows: Collection[Place] = (), *, is_priced: bool = False
) -> Finding:
    """The finding with the predicted rate of its step, if its remedy says what it removes.

    `follows`: claimed places whose time becomes shorter because that of the others does.
    `is_priced`: the claimed work on a core is a count times a constant.
    """
    remedy = _remedy(finding, case, follows)
    if remedy is None:
        return finding
    if is_priced:
        remedy = replace(remedy, work_error=PRICE_ERROR)
    changed = (finding.acts_on,) if finding.acts_on else ()
    loop = closed_loop(case.step, case.ceilings.get(case.step.step), changed)
    if loop is None:
        return finding
    return finding.model_copy(update={"foretold": foretell(loop, remedy)})


def _remedy(finding: Finding, case: Case, follows: Collection[Place]) -> Remedy | None:
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
    removes: defaultdict[Place, float] = defaultdict(float)
    for claim in finding.claims:
        if claim.place in follows:
            continue
        removes[claim.place] += claim.share
    if finding.cause == "table-locks":
        removes["waiting for a core"] += _because_of_others(case)
    cores = load_cores(case.step) if finding.cause in _TAKE_CORES else None
    return Remedy(
        removes, cores=cores.total if cores else None, frees_s=_processes_s(finding, case)
    )


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
    return finding.cause in PARTLY and not storm


def _is_ended(finding: Finding, case: Case) -> bool:
    """Whether the remedy ends what a finding without a trial claims.

    Of the values that sessions take at a time, those that end lose as many as they have left.
    """
    if finding.cause == "sequences" and case.step.connects:
        return False
    on_postgresql = case.family == POSTGRESQL and finding.cause in _ENDED_ON_POSTGRESQL
    return on_postgresql or finding.cause in ENDED


def _sends_less(trial: Trial | None) -> bool:
    """Whether fewer bytes are sent: how many fewer depends on what is in them."""
    return trial is not None and trial.settings[0].name == "compression"
