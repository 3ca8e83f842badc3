"""Commits wait for synchronous standbys.

Source: https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import state_share
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

SHARE = 0.1
"""[P] Share of the users' time; without such standbys nobody waits so at all."""

_STATE = "IPC:SyncRep"

_FLUSHED = say("have it on disk")
_UNTIL: Mapping[str, tuple[Message, str]] = {
    "remote_write": (say("have written it"), "write_lag"),
    "remote_apply": (say("have applied it"), "replay_lag"),
}
"""By synchronous_commit: what standbys do before a commit is over, and the lag that says how long
it takes them; others than these wait for the flush."""


def judge(case: Case) -> Finding | None:
    """Users whose commit waits for a standby's answer, at any moment."""
    if case.variables is not None and not case.variable("synchronous_standby_names"):
        return None
    share = case.needed(_wait_share(case))
    if share + due_to(case, "replica") < SHARE:
        return None
    until, lag = _UNTIL.get(case.variable("synchronous_commit") or "", (_FLUSHED, "flush_lag"))
    return Finding(
        cause="synchronous-standby",
        group="wait",
        sentence=sentences(*_said(case, share, until)),
        evidence=tuple(_evidence(case, share, lag)),
        share=share,
        confidence=0.95,
        remedy=say(
            "Use nearer or faster standbys, more users at once, or synchronous_commit=local for "
            "transactions that may be lost with the primary."
        ),
        trial=dynamic(
            case,
            {"synchronous_commit": "local"},
            say("waiting for a standby"),
            costs=say("an acknowledged commit may be on the primary alone, and be lost with it"),
        ),
    )


def _wait_share(case: Case) -> float | None:
    seen = case.time_at("replica")
    return state_share(case, _STATE) if seen is None else seen


def _said(case: Case, share: float, until: Message) -> Iterator[Message]:
    commits = case.commits()
    if commits:
        yield say(
            "Commits wait until the standbys that synchronous_standby_names asks for {until}: "
            "{share} of the users' time, {each} ms per commit.",
            until=until,
            share=Percent(share),
            each=Number(1000 * share * case.users / commits),
        )
    else:
        yield say(
            "Commits wait until the standbys that synchronous_standby_names asks for {until}: "
            "{share} of the users' time, and no commit ends.",
            until=until,
            share=Percent(share),
        )
    if case.highest("pg_stat_replication.synchronous") == 0.0:
        yield say("No such standby is connected.")


def _evidence(case: Case, share: float, lag: str) -> Iterator[Evidence]:
    counter = say("users that wait for a standby")
    yield case.seen(counter, share, say("of the users' time"), SHARE)
    standbys = "pg_stat_replication.synchronous"
    if (counted := case.mean(standbys)) is not None:
        yield case.seen(plain(standbys), counted, say_in("unit", "standbys"))
    name = f"pg_stat_replication.{lag}_s"
    if (behind_s := case.mean(name)) is not None:
        yield case.seen(plain(name), 1000 * behind_s, say_in("unit", "ms"))


RULE = Rule(
    "synchronous-standby",
    say("waiting for synchronous standbys"),
    judge,
    holds=rest_of("replica", is_timed=True),
)
