"""More connections are active than the cores can serve."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loadstone.diagnosis import crowds
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import (
    FULL,
    PLUGIN,
    POOLS,
    busy_share,
    has_pool,
    is_full,
    server_cores,
)
from loadstone.diagnosis.holds import COMMIT, CORES, PAGE_READS, part_of, time_at
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import at_start, dynamic, mysql_release, pool_plugin
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Message, counted, plain, say, say_in, user_count

MANY = 512
"""[S] MySQLTuner: connections from which a pool is worth a look, without a ladder that falls."""

CROWD = 16.0
"""[P] Active connections per core from which their number is a cost of its own."""

CROWDED = 0.15
"""[P] Share of the rate where no ladder shows it: measured 24 % from 4 to 1,024 users with point
selects on two cores, with more than 400 threads in one convoy of the table cache."""

PLUGIN_SINCE = (9, 7, 0)
"""[M] The first MySQL whose community edition has a thread pool; before it only Enterprise has."""

QUEUED = 0.2
"""[P] Share of the users whose statement waits in the pool's queue, if that is known."""

BUSY_GROUP = 0.7
"""[P] Share of a core that each group uses: a group runs one statement at a time."""

ALL_THREADS = 0.9
"""[P] Share of thread_pool_max_threads that are in use."""

OWN_PLACE = 1.0
"""Statements at work that no look sees: it is a statement of the pool itself, and where there is a
queue it has the place of one. Those that wait have left theirs to others, so it sees them all."""

MARIADB_GROUPS, MARIADB_GROUPS_AT_START = 128, 100_000
"""[M] The largest thread_pool_size of MariaDB while it runs, and as an option (MDEV-5205)."""

PERCONA_GROUPS = 1024
"""[M] The same of Percona Server (MAX_THREAD_GROUPS)."""

PLUGIN_GROUPS, OLD_PLUGIN_GROUPS, MORE_GROUPS_SINCE = 512, 64, (8, 0, 19)
"""[M] The same of MySQL's plugin, which only reads it when it starts; before 8.0.19 fewer."""


def judge(case: Case) -> Finding | None:
    """One thread per connection, and beyond the peak events cost more CPU, so the rate falls."""
    handling = case.needed(case.variable("thread_handling"))
    running = case.needed(crowds.running(case))
    cores = case.needed(case.host("cores"))
    if has_pool(case):
        return None
    crowd = crowds.crowd_of(case, running, cores)
    if not crowd.is_one or (lock_share(case) or 0.0) >= crowds.LOCKS:
        return None
    peak = crowds.peak_of(case)
    if not case.tps:
        return None
    lost = crowds.lost(case, peak)
    crowded = case.users >= MANY and running >= CROWD * cores and is_full(case)
    dearer = crowds.dearer(case, peak)
    if lost >= crowds.FALL and not crowded:
        case.needed(dearer)
    falls = lost >= crowds.FALL and dearer is not None and dearer >= crowds.DEARER
    if not falls and not crowded:
        return None
    figures = {
        "users": user_count(case.users),
        "cores": Number(cores),
        "handling": handling,
    }
    return Finding(
        cause="no-thread-pool",
        group="setting",
        sentence=say(
            "With {users} the rate is {lost} below that of {peak}, and an event takes {times} "
            "times the server's CPU: {sessions} connections take turns on {cores} cores, since "
            "each has a thread (thread_handling={handling}).",
            **figures,
            sessions=Number(crowd.sessions),
            lost=Percent(lost),
            peak=user_count(peak.users),
            times=Number(dearer or 0.0),
        )
        if falls
        else say(
            "{users} have a thread each: {running} connections are active at once on {cores} cores "
            "(thread_handling={handling}).",
            **figures,
            running=Number(running),
        ),
        evidence=tuple(crowds.evidence(case, crowd, lost, dearer)),
        share=min(max(lost if falls else CROWDED, crowds.switching(case, cores)), 1.0),
        confidence=0.8 if falls else 0.6,
        remedy=say(
            "Use a thread pool (MariaDB: thread_handling=pool-of-threads with thread_pool_size at "
            "1 to 1.5 times the cores; MySQL: the thread_pool plugin), or fewer connections."
        ),
        trial=_pool(case, int(cores)),
        acts_on="server CPU",
    )


def _pool(case: Case, cores: int) -> Trial | None:
    """The built-in pool, as MariaDB has it, or the plugin that MySQL has from 9.7 on."""
    if case.variable("thread_pool_size") is None:
        has_plugin = mysql_release(case.variable("version") or "") >= PLUGIN_SINCE
        return pool_plugin(cores) if has_plugin else None
    settings = {"thread_handling": POOLS[0], "thread_pool_size": str(cores)}
    return at_start(case, settings, say("a thread for each connection"))


def judge_small(case: Case) -> Finding | None:
    """A pool with too few groups or threads: statements queue though more could be done at once.

    A statement in the pool's queue counts neither as running nor as being in any state. More of
    them at once do more if cores are free, and if those that run share their wait, as commits
    share a sync: that says an account by SQL alone.
    """
    case.needed(case.variable("thread_handling"))
    if not has_pool(case):
        return None
    groups = case.needed(case.number("thread_pool_size"))
    few, queued, inside = _few_threads(case), _queued(case), _inside(case)
    queue = queued >= QUEUED and not few
    if not (few or queue or _few_groups(case, groups)):
        return None
    if inside.are_locked or not (inside.share_waits or case.needed(busy_share(case)) <= FULL):
        return None
    busy, cores = busy_share(case), case.host("cores")
    is_by_size = not few and cores is not None and groups < cores and not inside.share_waits
    by_size = max(1 - groups / (cores or 1), 0.0 if busy is None else 1 - busy)
    return Finding(
        cause="thread-pool-small",
        group="setting",
        sentence=say(
            "{limit}: {why}.", limit=_limit(case, few, queued, groups), why=_why(case, inside)
        ),
        evidence=_of_pool(case, few, queued, busy),
        share=_share(case, few, queued if queue else None, by_size),
        confidence=0.75 if busy is not None and busy <= FULL else 0.6,
        remedy=_larger(few, is_by_size=is_by_size),
        trial=_larger_trial(case, few, groups, is_by_size=is_by_size),
    )


def _of_pool(
    case: Case, few: float | None, queued: float, busy: float | None
) -> tuple[Evidence, ...]:
    groups, threads = say_in("unit", "groups"), say_in("unit", "threads")
    size, most = case.number("thread_pool_size") or 0.0, QUEUED * case.users
    of_cores = (
        () if busy is None else (case.seen(say("CPU busy"), busy, say("of the cores"), FULL),)
    )
    return (
        case.seen(plain("thread_pool_size"), size, groups, case.host("cores")),
        case.seen(plain("pool_threads"), case.mean("pool_threads") or 0.0, threads, few),
        *of_cores,
        case.seen(plain("pool_queued"), queued * case.users, say_in("unit", "statements"), most),
    )


def _share(case: Case, few: float | None, queued: float | None, by_size: float) -> float:
    """Of the users' time. `queued`: what waits in the queue, if that is the evidence."""
    if few:
        return 1 - few / case.users
    return by_size if queued is None else queued


def _queued(case: Case) -> float:
    """The share of the users whose statement waits in the pool's queue, as far as it is known.

    The account knows the users' own; the server counts those of others as well.
    """
    told = (case.mean("pool_queued") or 0.0) / case.users
    return min(case.time_at("admission") or told, 1.0)


def _few_groups(case: Case, groups: float) -> bool:
    """Whether there are fewer groups than cores, and each uses one.

    Raises:
        Missing: the host or the server's process was not observed.
    """
    cores, used = case.needed(case.host("cores")), case.needed(server_cores(case))
    return groups < cores and used >= BUSY_GROUP * groups


@dataclass(frozen=True)
class _Inside:
    """What the statements do that the pool runs, as shares of the users' time."""

    work: float
    """At work, or at a wait without a name."""
    shared: float
    """At a commit or asleep: the more statements, the more have that wait together."""
    locks: float
    """Behind a row or a table, where only one gets on, however many there are."""

    @property
    def share_waits(self) -> bool:
        """Whether most of their time is one that others would share."""
        return self.shared > self.work + self.locks

    @property
    def are_locked(self) -> bool:
        """Whether most of their time is one that more statements would only prolong."""
        return self.locks > self.work + self.shared


def _inside(case: Case) -> _Inside:
    """What the looks saw, and what they have displaced; all zero without an account."""
    seen = case.time_at(*CORES, *PAGE_READS, "disk write", "latch", "other", "sending")
    return _Inside(
        work=0.0 if seen is None else seen + OWN_PLACE / case.users,
        shared=case.time_at(*COMMIT, "paused") or 0.0,
        locks=case.time_at("row lock", "table lock") or 0.0,
    )


def _limit(case: Case, few: float | None, queued: float, groups: float) -> Message:
    """What is small, in words."""
    if few:
        return say(
            "The thread pool may have {threads} threads (thread_pool_max_threads) for {users} "
            "users",
            threads=Number(few),
            users=Count(case.users),
        )
    if queued >= QUEUED:
        return counted(
            "{queued} of {users} users wait in the queue of the thread pool, which has 1 group",
            "{queued} of {users} users wait in the queue of the thread pool, which has {number} "
            "groups",
            int(groups),
            queued=Number(queued * case.users),
            users=Count(case.users),
        )
    return counted(
        "The thread pool has 1 group for {cores} cores",
        "The thread pool has {number} groups for {cores} cores",
        int(groups),
        cores=Number(case.needed(case.host("cores"))),
    )


def _why(case: Case, inside: _Inside) -> Message:
    """Why more statements at once would do more."""
    if inside.share_waits:
        return say(
            "the statements that it runs spend {waiting} of their time at waits that more of them "
            "would share, as a commit's, and need no core there",
            waiting=Percent(inside.shared / (inside.work + inside.shared + inside.locks)),
        )
    idle, used = Percent(1 - case.needed(busy_share(case))), server_cores(case)
    if used is None:
        return say("{idle} of all cores are idle", idle=idle)
    return say(
        "the server uses {used} cores while {idle} of all cores are idle",
        used=Number(used),
        idle=idle,
    )


def _larger(few: float | None, *, is_by_size: bool) -> Message:
    if few:
        return say("Set thread_pool_max_threads to 500 or more.")
    if is_by_size:
        return say("Set thread_pool_size to 1 to 1.5 times the cores.")
    return say(
        "Set thread_pool_size to several times the cores, or let each group run more at once "
        "(MariaDB: thread_pool_oversubscribe)."
    )


def _larger_trial(
    case: Case, few: float | None, groups: float, *, is_by_size: bool
) -> Trial | None:
    subject = say("the small thread pool")
    if few:
        return dynamic(case, {"thread_pool_max_threads": "500"}, subject)
    wanted = int(case.host("cores") or 1) if is_by_size else _filling(case, groups)
    while_running, at_start_too = _most_groups(case)
    size = min(wanted, at_start_too)
    if size <= groups:
        return None
    trial = dynamic if size <= while_running else at_start
    return trial(case, {"thread_pool_size": str(size)}, subject)


def _most_groups(case: Case) -> tuple[int, int]:
    """The most groups that the server takes while it runs, and when it starts."""
    release = mysql_release(case.variable("version") or "")
    if not release:
        return MARIADB_GROUPS, MARIADB_GROUPS_AT_START
    if case.variable("thread_handling") == PLUGIN:
        return 0, PLUGIN_GROUPS if release >= MORE_GROUPS_SINCE else OLD_PLUGIN_GROUPS
    return PERCONA_GROUPS, PERCONA_GROUPS


def _filling(case: Case, groups: float) -> int:
    """So many groups that their statements would use all cores, by what those of now use.

    Twice as many where that, or the number of cores, is not known; never more than users, each of
    whom has one statement at a time.
    """
    cores, used = case.host("cores"), server_cores(case)
    if used is None:
        used = _inside(case).work * case.users
    wanted = groups * cores / used if cores and used else 2 * groups
    return int(min(max(math.ceil(wanted), groups + 1), case.users))


def _few_threads(case: Case) -> float | None:
    """The pool's limit of threads, if it is reached and lower than the number of users."""
    most, threads = case.number("thread_pool_max_threads"), case.mean("pool_threads")
    if most is None or threads is None or most >= case.users or threads < ALL_THREADS * most:
        return None
    return most


RULE = Rule(
    "no-thread-pool",
    say("many connections without a thread pool"),
    judge,
    holds=part_of(*CORES, "latch"),
)
SMALL_RULE = Rule(
    "thread-pool-small",
    say("the thread pool is too small"),
    judge_small,
    holds=time_at("admission", "way", *CORES),
)
