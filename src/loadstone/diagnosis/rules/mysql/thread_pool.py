"""More connections are active than the cores can serve."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, POOLS, busy_share, cpu_of, has_pool, is_full, server_cores
from loadstone.diagnosis.holds import CORES, part_of, time_at
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.neighbour import OTHERS
from loadstone.diagnosis.trials import at_start, dynamic, mysql_release, pool_plugin
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import Message, counted, plain, say, say_in, user_count

FALL = 0.1
"""[P] Share of the peak's rate that is lost (DIAGNOSIS 6)."""

DEARER = 1.1
"""[P] Growth of an event's CPU by switching and cold caches; a rate that falls for another reason
does not cost the server more."""

RUNNING = 4.0
"""[P] Active connections per core (DIAGNOSIS 6)."""

MANY = 512
"""[S] MySQLTuner: connections from which a pool is worth a look, without a ladder that falls."""

CROWD = 16.0
"""[P] Active connections per core from which their number is a cost of its own."""

CROWDED = 0.15
"""[P] Share of the rate where no ladder shows it: measured 24 % from 4 to 1,024 users with point
selects on two cores, with more than 400 threads in one convoy of the table cache."""

PLUGIN_SINCE = (9, 7, 0)
"""[M] The first MySQL whose community edition has a thread pool; before it only Enterprise has."""

SWITCH_S = 5e-6
"""[P] Core time of a thread switch, caches included (measured costs are 1 to 10 µs)."""

LOCKS = 0.3
"""[P] Share of the users that wait for rows, from which the rate falls for that reason."""

QUEUED = 0.2
"""[P] Share of the users whose statement waits in the pool's queue, if that is known."""

BUSY_GROUP = 0.7
"""[P] Share of a core that each group uses: a group runs one statement at a time."""

ALL_THREADS = 0.9
"""[P] Share of thread_pool_max_threads that are in use."""


def judge(case: Case) -> Finding | None:
    """One thread per connection, and beyond the peak events cost more CPU, so the rate falls."""
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
    figures = {
        "users": user_count(case.users),
        "running": Number(running),
        "cores": Number(cores),
        "handling": handling,
    }
    return Finding(
        cause="no-thread-pool",
        group="setting",
        sentence=say(
            "With {users} the rate is {lost} below that of {peak}, and an event takes {times} "
            "times the server's CPU: {running} connections are active at once on {cores} cores, "
            "since each has a thread (thread_handling={handling}).",
            **figures,
            lost=Percent(lost),
            peak=user_count(peak.users),
            times=Number(dearer),
        )
        if falls
        else say(
            "{users} have a thread each: {running} connections are active at once on {cores} cores "
            "(thread_handling={handling}).",
            **figures,
        ),
        evidence=(
            case.seen(plain("threads_running"), running, plain(""), RUNNING * cores),
            case.seen(say("rate below the peak"), lost, plain(""), FALL),
            case.seen(
                say("CPU per event compared with the peak"),
                dearer,
                say_in("unit", "times"),
                DEARER,
            ),
            case.seen(say("context switches per core"), switching, say("of its time")),
        ),
        share=min(max(lost if falls else CROWDED, switching), 1.0),
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


def _lost(case: Case, peak: Case) -> float:
    """Share of the peak's rate that is lost; zero where neighbours make the two incomparable.

    They take cores and caches from the server, so its events cost more because of them.
    """
    others = [cpu_of(one).others or 0.0 for one in (case, peak)]
    if not peak.tps or max(others) >= OTHERS:
        return 0.0
    return max(1 - case.tps / peak.tps, 0.0)


def _dearer(case: Case, peak: Case) -> float:
    """The server's CPU per event, as a multiple of that at the peak."""
    now, then = case.needed(server_cores(case)), case.needed(server_cores(peak))
    if not then or not case.tps:
        return 0.0
    return (now / case.tps) / (then / peak.tps)


def judge_small(case: Case) -> Finding | None:
    """A pool with too few groups or threads: statements queue while cores are free.

    A statement in the pool's queue counts neither as running nor as being in any state.
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
    return Finding(
        cause="thread-pool-small",
        group="setting",
        sentence=_limited(case, few, (groups, cores), (used, 1 - busy)),
        evidence=(
            case.seen(plain("thread_pool_size"), groups, say_in("unit", "groups"), cores),
            case.seen(
                plain("pool_threads"),
                case.mean("pool_threads") or 0.0,
                say_in("unit", "threads"),
                few,
            ),
            case.seen(say("CPU busy"), busy, say("of the cores"), FULL),
            case.seen(plain("pool_queued"), queued, say_in("unit", "statements")),
        ),
        share=1 - few / case.users if few else max(1 - groups / cores, 1 - busy),
        confidence=0.75,
        remedy=say("Set thread_pool_max_threads to 500 or more.")
        if few
        else say("Set thread_pool_size to 1 to 1.5 times the cores."),
        trial=dynamic(
            case,
            {"thread_pool_max_threads": "500"} if few else {"thread_pool_size": str(int(cores))},
            say("the small thread pool"),
        ),
    )


def _limited(
    case: Case, few: float | None, size: tuple[float, float], use: tuple[float, float]
) -> Message:
    """`size`: groups and cores; `use`: cores that the server uses, and the idle share."""
    (groups, cores), (used, idle) = size, use
    figures = {"used": Number(used), "idle": Percent(idle)}
    if few:
        return say(
            "The thread pool may have {threads} threads (thread_pool_max_threads) for {users} "
            "users: the server uses {used} cores while {idle} of all cores are idle.",
            threads=Number(few),
            users=Count(case.users),
            **figures,
        )
    return counted(
        "The thread pool has 1 group for {cores} cores: the server uses {used} cores while {idle} "
        "of all cores are idle.",
        "The thread pool has {number} groups for {cores} cores: the server uses {used} cores while "
        "{idle} of all cores are idle.",
        int(groups),
        cores=Number(cores),
        **figures,
    )


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
