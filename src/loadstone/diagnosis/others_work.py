"""The work of other clients on the measured server, for any family: their CPU, a long statement."""

from __future__ import annotations

from loadstone.analyse.cores import NEIGHBOURS, busy_cores, client_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import SYNC_WAITS, Holds, part_of_waits
from loadstone.diagnosis.rule import Judge, Rule
from loadstone.diagnosis.waits_for_threads import with_waits_for
from loadstone.model.account import Account, Place
from loadstone.model.error_codes import MYSQL
from loadstone.model.figure import Number
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in

LONG_S = 2.0
"""[P] Shortest running time with which a statement counts as a load of its own."""

TIMES_LONGEST = 2.0
"""[P] The same as a multiple of the longest statement of ours that has ended."""

RESTING = 0.005
"""The largest share of the busy cores that is written as 0 %: what sleeps is no load."""

HELPED = 0.1
"""[P] Part of the busy cores from which the server's own threads may work for a long statement."""

CHANGING = 0.01
"""[P] Transactions for each event that may change something where the load only reads."""

COMING = 1.0
"""[P] New connections a second: of sessions that end between two looks no CPU is known."""


def by_cpu(case: Case, remedy: Message) -> Finding | None:
    """What the kernel counts of the threads of sessions that are none of the load's."""
    others, cores = client_cores(case.step), case.host("cores")
    if not cores or others < NEIGHBOURS * cores:
        return None
    part = others / cores
    return finding(
        say(
            "Others use the server: other clients' sessions take {others} of its host's {cores} "
            "cores. Do not compare these figures.",
            others=Number(others),
            cores=Number(cores),
        ),
        (case.seen(say("CPU for other clients"), part, say("of the cores"), NEIGHBOURS),),
        part_of_the_cores(case),
        remedy,
    )


def by_length(case: Case, longest_s: float, remedy: Message) -> Finding | None:
    """A report, a backup or a change of a table's schema is one long statement."""
    counted, helped = part_of_the_cores(case), _part_of_helpers(case)
    if counted is not None and counted < RESTING and helped < HELPED:
        return None
    cores = case.host("cores")
    return finding(
        say(
            "Others use the server: a statement has been running for {seconds} s, longer than any "
            "of this load. Do not compare these figures.",
            seconds=Number(longest_s),
        ),
        (case.seen(plain("longest_statement_s"), longest_s, say_in("unit", "s"), LONG_S),),
        max(counted or 0.0, helped) or counted_or(case, 1 / cores if cores else None),
        remedy,
    )


def _part_of_helpers(case: Case) -> float:
    """The part of the busy cores that the server's own threads use.

    Of a long statement InnoDB reads a whole table in threads that belong to no session, while the
    session waits for them. Where nothing is changed, its threads have nothing else to do.
    """
    account, host = case.step.account, case.step.host
    busy = busy_cores(host) if host else None
    if account is None or account.cores is None or not account.cores.own or not busy:
        return 0.0
    if case.family != MYSQL or (case.commits() or 0.0) > CHANGING * case.tps:
        return 0.0
    return min(account.cores.own / busy, 1.0)


def not_of_ours(case: Case) -> float | None:
    """How long a statement has been running that is longer than ours; `None`: there is none."""
    longest = case.highest("longest_statement_s")
    own_s = TIMES_LONGEST * (case.step.latency.service.max or 0.0) / 1000
    return None if longest is None or longest < max(LONG_S, own_s) else longest


def part_of_the_cores(case: Case) -> float | None:
    """The part of the busy cores that work for other clients: who waits for a core waits for them.

    `None`: nobody counted it.
    """
    account, host = case.step.account, case.step.host
    busy = busy_cores(host) if host else None
    if account is None or account.cores is None or not busy:
        return None
    return min(account.cores.others / busy, 1.0)


def counted_or(case: Case, guessed: float | None) -> float | None:
    """Statements and bytes cost different amounts. Sessions that come and go are hardly counted."""
    counted = part_of_the_cores(case)
    if counted is None:
        return guessed
    stays = (case.rate("connections") or 0.0) < COMING
    return counted if stays else max(counted, guessed or 0.0)


def finding(
    sentence: Message, evidence: tuple[Evidence, ...], share: float | None, remedy: Message
) -> Finding:
    """That other clients use the server."""
    return Finding(
        cause="other-clients",
        group="validity",
        sentence=sentence,
        evidence=evidence,
        share=share,
        confidence=0.85,
        remedy=remedy,
        acts_on="server CPU",
    )


def rule_of(judge: Judge) -> Rule:
    """The rule that finds other clients as `judge` does."""
    title = say("other clients of the server")
    return Rule("other-clients", title, judge, holds=part_of_waits(), holds_in=held)


def held(case: Case) -> Holds | None:
    """The time in which users wait for cores that others have, and for what others write.

    Commits wait for what others have written into the same log, and onto the same disk. Nobody
    counts whose the bytes in the log are: others' part is taken to be that of what all sessions
    write, or of what the server's own threads do, if that is more. Users also wait for threads of
    theirs that wait for a core. `None`: there is no account.
    """
    account, part = case.step.account, part_of_the_cores(case)
    if account is None:
        return None
    parts: dict[Place, float] = dict.fromkeys(SYNC_WAITS, _part_of_bytes(account))
    return part_of_waits(with_waits_for(account, parts, {"waiting for a core": part or 0.0}))


def _part_of_bytes(account: Account) -> float:
    """Of the bytes that sessions write, or the server's own threads do, the part for others."""
    disks = account.disks
    if disks is None:
        return 0.0
    own = disks.own.written if disks.own else 0.0
    written = max(disks.users.written + disks.others.written, own)
    return disks.others.written / written if written else 0.0
