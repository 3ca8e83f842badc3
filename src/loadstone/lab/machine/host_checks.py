"""Checks the generator's host for what would limit or disturb a load, and says what to change.

Case B of the field's studies tuned exactly these by hand: receive packet steering, ephemeral ports,
file descriptors. Each check reads what the kernel says; what cannot be read is not evaluated.
"""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from loadstone.model.calibration import HostCheck
from loadstone.model.figure import Count, General, Percent
from loadstone.model.message import Joined, Message, listed, plain, say

_SYS = Path("/sys")
_PROC = Path("/proc")
_WANTED_DESCRIPTORS = 16_384
_WANTED_PORTS = 20_000
_BUSY_SHARE = 0.1
_STEAL_SHARE = 0.02
_LOOK_S = 0.5


def host_checks(sys: Path = _SYS, proc: Path = _PROC) -> tuple[HostCheck, ...]:
    """Run all checks; the results are in order of importance."""
    checks: tuple[Callable[[], HostCheck], ...] = (
        lambda: _descriptors(proc),
        lambda: _ephemeral_ports(proc),
        lambda: _packet_steering(sys),
        lambda: _governor(sys),
        lambda: _quota(sys),
        lambda: _sharing(proc),
    )
    return tuple(check() for check in checks)


def _descriptors(proc: Path) -> HostCheck:
    name = say("file descriptors")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    whole = _number(proc / "sys/fs/file-max")
    # getrlimit(2) returns -1 for no limit.
    limits = [limit for limit in (hard, whole) if limit is not None and limit >= 0]
    most = min(limits, default=None)
    if most is None or most >= _WANTED_DESCRIPTORS:
        said = say("no limit") if most is None else say("up to {number}", number=Count(most))
        return HostCheck(name=name, state="good", found=said)
    return HostCheck(
        name=name,
        state="change",
        found=say("at most {number} connections from this process", number=Count(most)),
        advice=say(
            "ulimit -n {number} (root may), or LimitNOFILE= of the service",
            number=_WANTED_DESCRIPTORS,
        ),
    )


def _ephemeral_ports(proc: Path) -> HostCheck:
    name = say("ephemeral ports")
    words = _words(proc / "sys/net/ipv4/ip_local_port_range")
    if len(words) != 2:
        return _not_evaluated(name, say("ip_local_port_range cannot be read"))
    ports = int(words[1]) - int(words[0]) + 1
    found = say("{number} TCP connections to one address and port", number=Count(ports))
    if ports >= _WANTED_PORTS:
        return HostCheck(name=name, state="good", found=found)
    return HostCheck(
        name=name,
        state="change",
        found=found,
        advice=plain("sysctl net.ipv4.ip_local_port_range='1024 65000'"),
    )


def _packet_steering(sys: Path) -> HostCheck:
    """Check that cards with one queue are steered: else one core carries all their interrupts."""
    name = say("receive packet steering")
    # Only cards with a device behind them: loopback, bridges and the like have no interrupts.
    cards = [card for card in sorted((sys / "class/net").glob("*")) if (card / "device").exists()]
    if not cards:
        return _not_evaluated(name, say("no network card"))
    cores = os.cpu_count() or 1
    alone = [card.name for card in cards if _is_steered_to_one(card, cores)]
    if not alone:
        queues = (
            say("{card}: {number} queues", card=card.name, number=_queues(card)) for card in cards
        )
        return HostCheck(name=name, state="good", found=listed(*queues))
    mask = f"{(1 << cores) - 1:x}"
    return HostCheck(
        name=name,
        state="change",
        found=say(
            "{cards}: one receive queue, and no steering to the other cores", cards=Joined(alone)
        ),
        advice=say(
            "echo {mask} > /sys/class/net/{card}/queues/rx-0/rps_cpus (matters for remote servers "
            "only)",
            mask=mask,
            card=alone[0],
        ),
    )


def _is_steered_to_one(card: Path, cores: int) -> bool:
    masks = [_text(queue / "rps_cpus") for queue in (card / "queues").glob("rx-*")]
    if cores == 1 or len(masks) != 1:
        return False
    return masks[0] is not None and not masks[0].replace(",", "").strip("0")


def _queues(card: Path) -> int:
    return len(list((card / "queues").glob("rx-*")))


def _governor(sys: Path) -> HostCheck:
    name = say("frequency governor")
    files = sorted((sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    governors = {text for file in files if (text := _text(file))}
    if not governors:
        return _not_evaluated(name, say("the kernel shows none, as in most virtual machines"))
    if governors == {"performance"}:
        return HostCheck(name=name, state="good", found=plain("performance"))
    return HostCheck(
        name=name,
        state="change",
        found=plain(", ".join(sorted(governors))),
        advice=say(
            "cpupower frequency-set -g performance: clocks that follow the load blur the figures"
        ),
    )


def _quota(sys: Path) -> HostCheck:
    """Check for a CPU quota: a throttled process stands still for whole periods of 100 ms."""
    name = say("CPU quota")
    root = sys / "fs/cgroup"
    two, one = _words(root / "cpu.max"), _number(root / "cpu/cpu.cfs_quota_us")
    if two and two[0] != "max":
        quota, period = int(two[0]), int(two[1])
    elif one is not None and one > 0:
        quota, period = one, _number(root / "cpu/cpu.cfs_period_us") or 100_000
    else:
        return HostCheck(name=name, state="good", found=say("none"))
    return HostCheck(
        name=name,
        state="change",
        found=say(
            "{cores} cores per period of {period} ms",
            cores=General(quota / period),
            period=General(period / 1000),
        ),
        advice=say("lift it for the generator: while it is throttled, no answer is read"),
    )


def _sharing(proc: Path) -> HostCheck:
    """Check what else uses the cores while we do nothing."""
    name = say("others on its cores")
    before = _jiffies(proc)
    if before is None:
        return _not_evaluated(name, say("/proc/stat cannot be read"))
    programs = dict(_programs(proc))
    time.sleep(_LOOK_S)
    after = _jiffies(proc)
    assert after is not None, "it was there before"
    total = max(sum(after) - sum(before), 1)
    idle = after[3] + after[4] - before[3] - before[4]
    steal = (after[7] - before[7]) / total if len(after) > 7 else 0.0
    busy = 1 - idle / total - steal
    if steal > _STEAL_SHARE:
        return HostCheck(
            name=name,
            state="change",
            found=say(
                "the hypervisor gave {share} of the time to others (steal)", share=Percent(steal)
            ),
            advice=say(
                "take an instance with cores of its own, or at least compare medians of "
                "interleaved runs"
            ),
        )
    if busy <= _BUSY_SHARE:
        return HostCheck(
            name=name, state="good", found=say("{share} busy before the load", share=Percent(busy))
        )
    return HostCheck(
        name=name,
        state="change",
        found=say(
            "{share} busy before any load: {programs}",
            share=Percent(busy),
            programs=_busiest(proc, programs),
        ),
        advice=say("stop it, or measure from another machine"),
    )


def _busiest(proc: Path, before: dict[int, tuple[str, int]]) -> Message | Joined:
    spent = [
        (ticks - before[pid][1], program)
        for pid, (program, ticks) in _programs(proc)
        if pid in before and pid != os.getpid()
    ]
    spent = sorted((one for one in spent if one[0] > 0), reverse=True)
    if not spent:
        return say("many short-lived programs")
    return Joined(program for _, program in spent[:3])


def _programs(proc: Path) -> Iterator[tuple[int, tuple[str, int]]]:
    for file in proc.glob("[0-9]*/stat"):
        # The name is in parentheses and may hold anything, spaces and parentheses too.
        found = re.fullmatch(r"(\d+) \((.*)\) (.*)", _text(file) or "", re.DOTALL)
        if found:
            fields = found[3].split()
            yield int(found[1]), (found[2], int(fields[11]) + int(fields[12]))


def _jiffies(proc: Path) -> list[int] | None:
    words = _words(proc / "stat")
    return [int(word) for word in words[1:9]] if words[:1] == ["cpu"] else None


def _not_evaluated(name: Message, why: Message) -> HostCheck:
    return HostCheck(name=name, state="not evaluated", found=why)


def _text(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _words(file: Path) -> list[str]:
    lines = (_text(file) or "").splitlines()
    return lines[0].split() if lines else []


def _number(file: Path) -> int | None:
    words = _words(file)
    return int(words[0]) if words and re.fullmatch(r"-?\d+", words[0]) else None
