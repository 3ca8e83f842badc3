"""More connections are at work than the cores can serve."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, POOLS, busy_share, cpu_of, has_pool, is_full, server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.row_locks import lock_share
from loadstone.diagnosis.rules.neighbour import OTHERS
from loadstone.diagnosis.trials import at_start, dynamic, mysql_release, pool_plugin
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, users

FALL = 0.1
"""[P] DIAGNOSIS 6: below the peak."""

DEARER = 1.1
"""[P] growth of an event's CPU by switching and cold caches; a rate that falls for another reason
does not cost the server more."""

RUNNING = 4.0
"""[P] DIAGNOSIS 6: connections at work by core."""

MANY = 512
"""[S] MySQLTuner: connections from which a pool is worth a look, without a ladder that falls."""

CROWD = 16.0
"""[P] connections at work by core from which that many are a cost of their own."""

CROWDED = 0.15
"""[P] of the rate, where no ladder tells: measured 24 % from 4 to 1,024 users with point selects on
two cores, with more than 400 threads in one convoy of the table cache."""

PLUGIN_SINCE = (9, 7, 0)
"""[M] the first MySQL whose community edition has a thread pool; before it the Enterprise's has."""

SWITCH_S = 5e-6
"""[P] of a core that a change of thread takes, caches included (measured costs are 1 to 10 µs)."""

LOCKS = 0.3
"""[P] where so many wait for rows, the rate falls for that reason."""

QUEUED = 0.2
"""[P] of the users whose statement waits in the pool's queue, where it tells."""

BUSY_GROUP = 0.7
"""[P] of a core that each group uses: a group runs one statement at a time."""

ALL_THREADS = 0.9
"""[P] of thread_pool_max_threads that the pool has."""


def judge(case: Case) -> Finding | None:
    """One thread a connection, and beyond the peak events cost more CPU, so that the rate falls."""
    handling = case.needed(case.variable("thread_handling"))
    running = case.needed(case.mean("threads_running"))
    cores = case.needed(case.host("cores"))
    if has_pool(case):
        return None
    if running < RUNNING * cores or (lock_share(case) or 0.0) >= LOCKS or not case.tps:
        return None
    peak = case.at(max(case.ladder, key=lambda step: step.tps or 0.0))
    lost, dearer = _lost(case, peak), _dearer(case, peak)
    falls = lost >= FALL and dearer >= DEARER
    switching = (case.host("context_switches_per_s") or 0.0) * SWITCH_S / cores
    crowded = case.users >= MANY and running >= CROWD * cores and is_full(case)
    if not falls and not crowded:
        return None
    beyond = (
        f"With {users(case.users)} the rate is {pct(lost)} below that of {users(peak.users)}, and "
        f"an event takes {num(dearer)} times the server's CPU"
        if falls
        else f"{users(case.users)} have a thread each"
    )
    return Finding(
        cause="no-thread-pool",
        group="setting",
        sentence=(
            f"{beyond}: {num(running)} connections are at work at once on {num(cores)} cores, "
            f"since each has a thread (thread_handling={handling})."
        ),
        evidence=(
            case.seen("threads_running", running, "", RUNNING * cores),
            case.seen("rate below the peak", lost, "", FALL),
            case.seen("CPU by event against the peak's", dearer, "times", DEARER),
            case.seen("context switches by core", switching, "of its time"),
        ),
        share=min(max(lost if falls else CROWDED, switching), 1.0),
        confidence=0.8 if falls else 0.6,
        remedy=(
            "A thread pool: MariaDB thread_handling=pool-of-threads with thread_pool_size of "
            "1 to 1.5 times the cores, MySQL's thread_pool plugin; or fewer connections."
        ),
        trial=_pool(case, int(cores)),
        acts_on="server CPU",
    )


def _pool(case: Case, cores: int) -> Trial | None:
    """The one that is built in, as MariaDB's, or the plugin that MySQL has from 9.7 on."""
    if case.variable("thread_pool_size") is None:
        has_plugin = mysql_release(case.variable("version") or "") >= PLUGIN_SINCE
        return pool_plugin(cores) if has_plugin else None
    settings = {"thread_handling": POOLS[0], "thread_pool_size": str(cores)}
    return at_start(case, settings, "a thread for each connection")


def _lost(case: Case, peak: Case) -> float:
    """Part of the peak's rate that is lost; nought where neighbours make the two no pair.

    They take cores and caches from the server: its events cost more then for their sake.
    """
    others = [cpu_of(one).others or 0.0 for one in (case, peak)]
    if not peak.tps or max(others) >= OTHERS:
        return 0.0
    return max(1 - case.tps / peak.tps, 0.0)


def _dearer(case: Case, peak: Case) -> float:
    """The server's CPU by event against that at the peak."""
    now, then = case.needed(server_cores(case)), case.needed(server_cores(peak))
    if not then or not case.tps:
        return 0.0
    return (now / case.tps) / (then / peak.tps)


def judge_small(case: Case) -> Finding | None:
    """A pool with fewer groups than cores, or too few threads: statements queue beside free cores.

    Who waits in the pool's queue counts neither as running nor as being in any state.
    """
    case.needed(case.variable("thread_handling"))
    if not has_pool(case):
        return None
    groups = case.needed(case.number("thread_pool_size"))
    cores, busy = case.needed(case.host("cores")), case.needed(busy_share(case))
    used = case.needed(server_cores(case))
    queued = case.mean("pool_queued") or 0.0
    few = _few_threads(case)
    small = groups < cores and used >= BUSY_GROUP * groups
    if busy > FULL or not (small or few or queued >= QUEUED * case.users):
        return None
    limit = (
        f"may have {num(few)} threads (thread_pool_max_threads) for {case.users:,} users"
        if few
        else f"has {num(groups)} groups for {num(cores)} cores"
    )
    return Finding(
        cause="thread-pool-small",
        group="setting",
        sentence=(
            f"The thread pool {limit}: the server uses {num(used)} cores while {pct(1 - busy)} of "
            "all are idle."
        ),
        evidence=(
            case.seen("thread_pool_size", groups, "groups", cores),
            case.seen("pool_threads", case.mean("pool_threads") or 0.0, "threads", few),
            case.seen("CPU busy", busy, "of the cores", FULL),
            case.seen("pool_queued", queued, "statements"),
        ),
        share=1 - few / case.users if few else max(1 - groups / cores, 1 - busy),
        confidence=0.75,
        remedy=(
            "Set thread_pool_max_threads to 500 or more."
            if few
            else "Set thread_pool_size to 1 to 1.5 times the cores."
        ),
        trial=dynamic(
            case,
            {"thread_pool_max_threads": "500"} if few else {"thread_pool_size": str(int(cores))},
            "so small a thread pool",
        ),
    )


def _few_threads(case: Case) -> float | None:
    """The greatest number of its threads, where that is reached and below the users."""
    most, threads = case.number("thread_pool_max_threads"), case.mean("pool_threads")
    if most is None or threads is None or most >= case.users or threads < ALL_THREADS * most:
        return None
    return most


RULE = Rule("no-thread-pool", say("many connections without a thread pool"), judge)
SMALL_RULE = Rule("thread-pool-small", say("the thread pool is too small"), judge_small)
