"""Commits wait for a replica, or no longer do."""

from __future__ import annotations

from loadstone.analyse.derived_figures import COMMIT_STATES
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import state_share
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

SHARE = 0.3
"""[P] Share of the users' time (DIAGNOSIS 15)."""

_VARIABLES = ("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled")


def judge(case: Case) -> Finding | None:
    """The seconds waited for acknowledgements each second are the number of users that wait."""
    share = wait_share(case)
    if not is_waited_for(case):
        return None
    commits = case.commits()
    each = 1000 * share * case.users / commits if commits else None
    return Finding(
        cause="semi-sync-wait",
        group="wait",
        sentence=say(
            "Commits wait for a replica's acknowledgement for {share} of the users' time, {each} "
            "ms each.",
            share=Percent(share),
            each=Number(each),
        )
        if each
        else say(
            "Commits wait for a replica's acknowledgement for {share} of the users' time.",
            share=Percent(share),
        ),
        evidence=(case.seen(plain("semi_sync_wait_s"), share, say("of the users' time"), SHARE),),
        share=share,
        confidence=0.95,
        remedy=say(
            "Use a nearer or faster replica, more users at once, or asynchronous replication."
        ),
        trial=dynamic(
            case,
            {_name(case): "OFF"},
            say("waiting for a replica"),
            costs=say("an acknowledged commit may be on the source alone, and be lost with it"),
        ),
    )


def is_waited_for(case: Case) -> bool:
    """Whether users wait for it most of the time, or for rows that stay locked until it answers."""
    share = wait_share(case)
    return share > 0 and share + due_to(case, "replica") >= SHARE


def wait_share(case: Case) -> float:
    """Share of the users that wait for a replica at any moment; zero where none is asked for."""
    if not _is_on(case):
        return 0.0
    waited = case.rate("semi_sync_wait_s") or 0.0
    state = state_share(case, "semi-sync ack", "semi sync ack") or 0.0
    by_looks = case.time_at("replica") or 0.0
    by_counter = max(waited / case.users, state + min(waited, 1.0) * _behind(case))
    return min(max(state, by_counter, by_looks), 1.0)


def _behind(case: Case) -> float:
    """Share of the users in their commit, behind the one of their group that waits.

    MySQL's leader of a group waits for all of it (seen with 9.7: one of ten users, all the time).
    """
    states = case.states() or {}
    return min(sum(states.get(name, 0.0) for name in COMMIT_STATES) / case.users, 1.0)


def judge_fallback(case: Case) -> Finding | None:
    """Transactions that were committed without a replica although it is asked for."""
    if case.variables is not None and not _is_on(case):
        return None
    alone = case.needed(case.total("semi_sync_no"))
    if alone <= 0:
        return None
    together = case.total("semi_sync_yes") or 0.0
    part = alone / (alone + together)
    timeout = case.number(_name(case).replace("enabled", "timeout"))
    return Finding(
        cause="semi-sync-fallback",
        group="validity",
        sentence=say(
            "Semi-synchronous replication fell back to asynchronous: {part} of the transactions "
            "were committed without a replica's acknowledgement, after waiting {timeout} s for it.",
            part=Percent(part),
            timeout=Number(timeout / 1000),
        )
        if timeout
        else say(
            "Semi-synchronous replication fell back to asynchronous: {part} of the transactions "
            "were committed without a replica's acknowledgement.",
            part=Percent(part),
        ),
        evidence=(
            case.seen(plain("semi_sync_no"), alone, say_in("unit", "transactions"), 0.0),
            case.seen(
                plain("semi_sync_clients"),
                case.mean("semi_sync_clients") or 0.0,
                say_in("unit", "replicas"),
            ),
        ),
        share=part,
        confidence=0.95,
        remedy=say(
            "Bring the replica back (SHOW REPLICA STATUS): these figures show neither mode."
        ),
    )


def _is_on(case: Case) -> bool:
    return any(case.is_on(name) for name in _VARIABLES)


def _name(case: Case) -> str:
    return next((name for name in _VARIABLES if case.variable(name) is not None), _VARIABLES[0])


RULE = Rule(
    "semi-sync-wait",
    say("waiting for the replica (semi-synchronous)"),
    judge,
    holds=rest_of("replica", "commit", is_timed=True),
)
FALLBACK_RULE = Rule(
    "semi-sync-fallback",
    say("semi-synchronous replication fell back to asynchronous"),
    judge_fallback,
)
