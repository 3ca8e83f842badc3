"""The network between generator and server is full."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import IDLE, is_full, outside, own_share, state_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules import packet_loss
from loadstone.diagnosis.rules.client_bound import HELD, held_share
from loadstone.diagnosis.trials import by_socket, client
from loadstone.diagnosis.unexplained import stalled
from loadstone.model.ceilings import Resource
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, size, users

USED = 0.8
"""[P] DIAGNOSIS 1, of the line's rate in one direction."""

FLAT = 0.08
"""[P] bytes a second of two levels that differ by less are the same."""

MORE_USERS = 1.4
"""[P] by this factor the users must grow for a rate that stays to be a limit."""

AWAY = 0.5
"""[P] most of the users' time is outside the server, or in sending to the client."""

BLOCKED = 0.25
"""[P] share of the users for which the server is stuck in a send."""

QUEUED = 5.0
"""[P] times its least time from which a statement's median is spent in a queue: a full line holds
up every answer, while lost packets and pauses hold up some of them for long."""

SLOW_MS = 1.0
"""[P] median time of a statement below which it is no queue's."""

MOSTLY = 0.7
"""[P] share of the users' time on the way, where one level alone must tell."""

DOUBTFUL = 0.4
"""How sure the name is on a host that others fill: a thread that waits for a core in order to read
its statement counts as a user on the way."""

LEAST_BYTES = 100_000.0
"""[P] below this a second no line of today is full."""

_SENDING = ("writing to net", "sending to client")
_DIRECTIONS: tuple[Resource, ...] = ("network from the server", "network to the server")


def judge(case: Case) -> Finding | None:
    """The line's known rate is reached, or the bytes stay while users grow and the server idles.

    Cores that others use do not make it busy.
    """
    busy = case.needed(own_share(case))
    if busy > IDLE:
        return None
    if _client_is_busy(case):
        return None
    known = _known_line(case, busy)
    return known or _plateau(case, busy)


def _known_line(case: Case, busy: float) -> Finding | None:
    for direction in _DIRECTIONS:
        ceiling = case.ceiling(direction)
        if ceiling and ceiling.used is not None and ceiling.used >= USED:
            return _finding(
                case,
                f"The {direction.replace('network', 'line')} is full: {pct(ceiling.used)} of "
                f"{ceiling.how}, with the server's cores at {pct(busy)}.",
                (case.seen(direction, ceiling.used, "of the line", USED),),
                (min(ceiling.used, 1.0), 0.95),
            )
    return None


def _plateau(case: Case, busy: float) -> Finding | None:
    """A cap may be anywhere on the way: bytes that stay with the server at rest are evidence."""
    bytes_now = _bytes(case)
    away, blocked = outside(case), state_share(case, *_SENDING)
    if bytes_now is None or bytes_now < LEAST_BYTES or away is None:
        return None
    waiting = min(away + (blocked or 0.0), 1.0)
    # A full line delays every answer: where a few take most of the time it is no queue's.
    if waiting < AWAY or stalled(case):
        return None
    evidence = [case.seen("bytes on the line", bytes_now, "B/s"), _away(case, waiting)]
    # On a host that others fill the rate stays, and threads stand in a send, for want of cores.
    full = is_full(case)
    flat = None if full else _flat_since(case, bytes_now)
    is_stuck = (blocked or 0.0) >= BLOCKED and not full
    queued = _queued(case, waiting, busy)
    if flat is None and (packet_loss.wait_share(case) or 0.0) >= packet_loss.SHARE:
        return None
    if flat is None and not is_stuck and queued is None:
        return None
    if queued is not None:
        evidence.append(case.seen("a statement's median time by its least", queued, "", QUEUED))
    if blocked:
        evidence.append(case.seen("state.writing to net", blocked, "of the users", BLOCKED))
    since = f", the same as with {users(flat)}" if flat is not None else ""
    sentence = (
        f"The network is full: {num(bytes_now * 8 / 1e6)} Mbit/s{since}, while the server's cores "
        f"are at {pct(busy)} and users spend {pct(waiting)} of their time on the way."
    )
    sure = 0.6 + (0.2 if flat is not None else 0.0) + (0.15 if is_stuck else 0.0)
    if full:
        sure = DOUBTFUL  # answers wait for cores as well, at either end, which others have
    return _finding(case, sentence, tuple(evidence), (waiting, sure))


def _flat_since(case: Case, bytes_now: float) -> int | None:
    """The fewest users with which as many bytes flowed for as many events."""
    for step in case.ladder:
        if case.users < MORE_USERS * step.concurrency:
            break
        before, tps = _bytes(case.at(step)), step.tps or 0.0
        same_bytes = before is not None and abs(before - bytes_now) <= FLAT * bytes_now
        if same_bytes and abs(tps - case.tps) <= FLAT * case.tps:
            return step.concurrency
    return None


def _queued(case: Case, waiting: float, busy: float) -> float | None:
    """How many times its least time a statement takes, where no queue but the line's is left.

    Neither the server has work for these users nor the generator.
    """
    reads = case.step.statements.get("read")
    if reads is None or not reads.min or not reads.p50 or waiting < MOSTLY:
        return None
    times = reads.p50 / reads.min
    client = max(_loops(case), held_share(case) or 0.0)
    alone = client < 0.5 and busy < 0.5
    return times if alone and times >= QUEUED and reads.p50 >= SLOW_MS else None


def _bytes(case: Case) -> float | None:
    """The larger direction's, as the interface counted; else the protocol's."""
    if case.nic:
        into, out = case.host("net_bytes_in_per_s"), case.host("net_bytes_out_per_s")
        return max(into or 0.0, out or 0.0) or None
    if not case.step.seconds:
        return None
    return max(case.step.bytes_in, case.step.bytes_out) / case.step.seconds


def _client_is_busy(case: Case) -> bool:
    """Working, waiting for a core, or stopped: then the server is stuck in sending to it."""
    return _loops(case) >= USED or (held_share(case) or 0.0) >= HELD


def _loops(case: Case) -> float:
    """Share of their time that our event loops work or wait for a core."""
    share, delay = case.generator("cpu_share"), case.generator("run_delay_share")
    return (share or 0.0) + (delay or 0.0)


def _away(case: Case, waiting: float) -> Evidence:
    return case.seen("users on the way", waiting, "of their time", AWAY)


def _finding(
    case: Case, sentence: str, evidence: tuple[Evidence, ...], weight: tuple[float, float]
) -> Finding:
    faster = list(_faster(case))
    advice = f" The host has a faster interface: {', '.join(faster)}." if faster else ""
    return Finding(
        cause="line-full",
        group="ceiling",
        sentence=sentence + advice,
        evidence=evidence,
        share=weight[0],
        confidence=min(weight[1], 0.95),
        remedy=(
            "A faster line or interface, the unix socket where both are on one host, compression, "
            "or rows of fewer bytes."
        ),
        trial=_narrower(case),
        acts_on="network from the server",
    )


def _narrower(case: Case) -> Trial | None:
    """A way around the line, else fewer bytes on it; that they do not shrink leaves it as full."""
    around = by_socket(case, "the line")
    if around or case.step.compressed_users:
        return around
    return client("compression", "zlib", "off", "sending so many bytes", refutes=False)


def _faster(case: Case) -> Iterator[str]:
    """Interfaces of the server's host that are up and faster than the one that is used."""
    host = case.step.host
    if host is None or host.nic is None:
        return
    own = host.facts.get(f"nic.{host.nic}.speed_mbit", "")
    for name, speed in sorted(host.facts.items()):
        other = name.removeprefix("nic.").removesuffix(".speed_mbit")
        if not name.endswith(".speed_mbit") or other == host.nic or not speed.isdigit():
            continue
        if (
            host.facts.get(f"nic.{other}.virtual") != "yes"
            and own.isdigit()
            and int(speed) > int(own)
        ):
            yield f"{other} ({int(speed):,} Mbit/s{_carries(case, int(speed))})"


def _carries(case: Case, mbit: int) -> str:
    """How many events of as many bytes a line of that speed would carry."""
    moved = _bytes(case)
    if moved is None or not case.step.tps:
        return ""
    events = mbit * 1e6 / 8 / (moved / case.step.tps)
    return f", which would carry {num(events)} events a second of {size(moved / case.step.tps)}"


RULE = Rule("line-full", say("the network is full"), judge)
