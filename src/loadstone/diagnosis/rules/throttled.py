"""A control group limits the server's CPU."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of_waits, parts_of
from loadstone.diagnosis.rule import Rule
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in

OFTEN = 0.2
"""[P] Share of its periods in which the group was throttled; a few bursts are no limit."""

PINNED = 0.85
"""[P] Use of the cores that the process may run on."""

MOSTLY = 0.65
"""[P] The same if those cores have no time left: network interrupts, which count for no process,
take up to a fifth of a core that answers small statements (measured: 0.14 next to 0.84).
"""

WAITS = 0.1
"""[P] Share of the users' time without a core, while others are idle, from which the few cores are
what they wait for, also if others are on them."""

NONE_LEFT = 0.95
"""[P] Use of the busiest cores, as many as it may run on."""

USED = 0.8
"""[P] Use of the group's cores."""

_FOR_THREADS: tuple[Place, ...] = ("admission", "row lock", "latch", "commit")
"""Waits that end when another session's thread, or one of the server's own, has run."""


def judge(case: Case) -> Finding | None:
    """Throttled periods, or all of the group's cores used."""
    limit = case.host_mean("cgroup.cpu_cores")
    if limit is None and case.fact("process.pid") is not None:
        return None  # its groups were read, and none has a limit
    periods = case.needed(case.host_rate("cgroup.periods"))
    throttled = case.needed(case.host_rate("cgroup.throttled_periods"))
    often = throttled / periods if periods else 0.0
    if limit is None or often < OFTEN:
        return None
    used = server_cores(case)
    share = used / limit if used is not None else often
    if share < USED and often < 2 * OFTEN:
        return None
    return Finding(
        cause="cpu-throttled",
        group="ceiling",
        sentence=_throttled(limit, used, often),
        evidence=(
            case.seen(plain("cgroup.throttled_periods"), often, say("of the periods"), OFTEN),
            case.seen(plain("cgroup.cpu_cores"), limit, say_in("unit", "cores")),
        ),
        share=min(max(share, often), 1.0),
        confidence=0.95,
        remedy=say("Raise the group's CPU limit (cpu.max, cpu.cfs_quota_us, docker --cpus)."),
    )


def _throttled(limit: float, used: float | None, often: float) -> Message:
    if used is None:
        return say(
            "The server's control group allows {limit} cores and throttled it in {often} of its "
            "periods.",
            limit=Number(limit),
            often=Percent(often),
        )
    return say(
        "The server's control group allows {limit} cores, of which it uses {used}, and throttled "
        "it in {often} of its periods.",
        limit=Number(limit),
        used=Number(used),
        often=Percent(often),
    )


def _holds(case: Case) -> Holds | None:
    """The time for which the group was stopped, in which everybody in the server waits.

    Threads that the scheduler could not let run are counted as waiting for a core. The group's part
    of that wait is the time in which it was stopped, of all the time in which they were ready. Who
    waits for another thread of the group meanwhile waits for that as well.
    """
    account, stopped = case.step.account, _stopped(case)
    if account is None or stopped is None:
        return None
    parts: dict[Place, float] = dict.fromkeys(("in the server", *_FOR_THREADS), stopped)
    waits = account.share_of("waiting for a core")
    if waits:
        ready = waits + account.share_of("on core")
        parts["waiting for a core"] = min(stopped * ready / waits, 1.0)
    return parts_of(parts, outer=True)


def _stopped(case: Case) -> float | None:
    """Share of the time in which the group was stopped: 0 to 1; `None`: not counted.

    The kernel adds up the time for each core on which threads of the group had to stop, which are
    as many as it has threads at work, up to all. Without that sum: in a period that was throttled
    the group ran on that many cores until it had used up what it may.
    """
    cores, limit = case.host("cores"), case.host_mean("cgroup.cpu_cores")
    periods, throttled = (
        case.host_rate(f"cgroup.{what}") for what in ("periods", "throttled_periods")
    )
    if not cores or limit is None or not periods or throttled is None:
        return None
    often = min(throttled / periods, 1.0)
    at_once = min(cores, max(case.users * (case.time_at(*CORES) or 0.0), 1.0))
    stopped_s = case.host_rate("cgroup.throttled_s")
    if stopped_s is None:
        return often * max(1.0 - limit / at_once, 0.0)
    return min(stopped_s / at_once, often)


def judge_pinned(case: Case) -> Finding | None:
    """The process may run on only some of the cores, and uses those up."""
    allowed = case.needed(case.host_mean("process.cpus_allowed"))
    cores, used = case.needed(case.host("cores")), case.needed(server_cores(case))
    is_full = _use_of_the_busiest(case, int(allowed)) >= NONE_LEFT
    waits = is_full and (case.time_at("waiting for a core") or 0.0) >= WAITS
    if allowed >= cores or (used < (MOSTLY if is_full else PINNED) * allowed and not waits):
        return None
    return Finding(
        cause="cpu-pinned",
        group="ceiling",
        sentence=say(
            "The server may run on {allowed} of the host's {cores} cores and uses {used} of them.",
            allowed=Number(allowed),
            cores=Number(cores),
            used=Number(used),
        ),
        evidence=(
            case.seen(plain("process.cpus_allowed"), allowed, say_in("unit", "cores"), cores),
        ),
        share=1.0 if waits else min(used / allowed, 1.0),
        confidence=0.9,
        remedy=say("Let it run on more cores (taskset, cpuset, CPUAffinity of its unit)."),
    )


def _use_of_the_busiest(case: Case, number: int) -> float:
    """Mean use of that many cores, the busiest; zero if single cores are not known."""
    uses = []
    for core in range(int(case.host("cores") or 0)):
        idle = case.host_rate(f"cpu.{core}.idle_s")
        if idle is not None:
            uses.append(1.0 - idle - (case.host_rate(f"cpu.{core}.iowait_s") or 0.0))
    busiest = sorted(uses, reverse=True)[:number]
    return sum(busiest) / number if number and len(busiest) == number else 0.0


RULE = Rule(
    "cpu-throttled",
    say("a control group throttles the CPU"),
    judge,
    holds=part_of_waits(),
    holds_in=_holds,
)
PINNED_RULE = Rule(
    "cpu-pinned", say("the process may use only a few cores"), judge_pinned, holds=part_of_waits()
)
