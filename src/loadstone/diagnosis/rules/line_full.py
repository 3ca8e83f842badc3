"""The network between generator and server is full."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import IDLE, is_full, outside, own_share, state_share
from loadstone.diagnosis.holds import WAY, rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules import packet_loss
from loadstone.diagnosis.rules.between_core import is_seen_at_its_limit
from loadstone.diagnosis.rules.client_bound import HELD, held_share
from loadstone.diagnosis.trials import by_socket, client
from loadstone.diagnosis.unexplained import stalled
from loadstone.model.ceilings import RESOURCES, Ceiling, Resource
from loadstone.model.error_codes import MYSQL
from loadstone.model.figure import Bytes, Count, Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences, user_count

USED = 0.8
"""[P] DIAGNOSIS 1: use of the line's rate in one direction."""

FLAT = 0.08
"""[P] Bytes per second of two levels that differ by less count as the same."""

NEARLY = 0.8
"""[P] Growth of the bytes by that of the users from which a line has room for more."""

MORE_USERS = 1.4
"""[P] Factor by which the users must grow for an unchanged rate to be a limit."""

AWAY = 0.5
"""[P] Share of the users' time outside the server, or in sending to the client."""

BLOCKED = 0.25
"""[P] Share of the users for which the server is stuck in a send."""

QUEUED = 5.0
"""[P] Median divided by shortest time, from which statements wait in a queue: a full line delays
every answer, while lost packets and pauses delay some of them for long.
"""

SLOW_MS = 1.0
"""[P] Median time of a statement below which there is no queue."""

MOSTLY = 0.7
"""[P] Share of the users' time in the network from which one level alone is evidence."""

DELAYED = 2.0
"""[P] Median divided by shortest time that each kind of statement then has."""

ON_THE_WAY = 0.25
"""[P] Share of the users' time that was seen on the way, from which one level alone is evidence."""

TRIPS = 5.0
"""[P] That time by the event's statements at their shortest, from which answers queue."""

TRAVELLING = 0.5
"""[P] The usual round trip must be at least this part of a statement's time on the way; else that
time is spent in somebody's hands."""

ACKNOWLEDGED_S = 0.045
"""A shorter round trip may be the time of a relay on the way: an acknowledgement rides on the
answer, unless there is none for 40 ms (TCP_DELACK_MIN in include/net/tcp.h)."""

DOUBTFUL = 0.4
"""Confidence on a host that others fill: a thread that waits for a core before it reads its
statement counts as a user in the network.
"""

LEAST_BYTES = 100_000.0
"""[P] Bytes per second below which no current line is full."""

_CLIENT_WRITE = "Client:ClientWrite"
"""PostgreSQL's wait event of a session whose client does not take what it sends."""

_SENDING = ("writing to net", "sending to client", _CLIENT_WRITE)
_DIRECTIONS: tuple[Resource, ...] = ("network from the server", "network to the server")


def judge(case: Case) -> Finding | None:
    """The line's known rate is reached, or bytes stay level while users grow and the server idles.

    Cores used by others do not make the server busy. A unix socket is no line. Without the host's
    figures only a known rate is evidence.
    """
    if case.step.targets and not case.is_by_tcp:
        return None
    busy = own_share(case)
    if busy is not None and busy > IDLE:
        return None
    if _client_is_busy(case) or is_seen_at_its_limit(case):
        return None
    known = _known_line(case, busy)
    return known or _plateau(case, case.needed(own_share(case)))


def _known_line(case: Case, busy: float | None) -> Finding | None:
    """The direction that is fuller, if its known rate is reached."""
    found = [one for direction in _DIRECTIONS if (one := case.ceiling(direction))]
    fuller = max(found, key=lambda one: one.used or 0.0, default=None)
    used = fuller.used if fuller else None
    if fuller is None or used is None or used < USED:
        return None
    return _finding(
        case,
        fuller.resource,
        _full(fuller, busy),
        (case.seen(RESOURCES[fuller.resource], used, say("of the line"), USED),),
        (min(used, 1.0), 0.95),
    )


def _full(ceiling: Ceiling, busy: float | None) -> Message:
    used, cores = Percent(ceiling.used), Percent(busy)
    if busy is None:
        return say(
            "The {resource} is full: {used} of {how}. The server's cores were not observed.",
            resource=RESOURCES[ceiling.resource],
            used=used,
            how=ceiling.how,
        )
    if ceiling.resource == "network from the server":
        return say(
            "The line from the server is full: {used} of {how}, with the server's cores at {busy}.",
            used=used,
            how=ceiling.how,
            busy=cores,
        )
    return say(
        "The line to the server is full: {used} of {how}, with the server's cores at {busy}.",
        used=used,
        how=ceiling.how,
        busy=cores,
    )


def _plateau(case: Case, busy: float) -> Finding | None:
    """Level bytes with an idle server are evidence: the limit may be anywhere on the path."""
    bytes_now = _bytes(case)
    away, blocked = outside(case), _sending(case)
    if bytes_now is None or away is None or _has_room(case, bytes_now):
        return None
    waiting = min(away + (blocked or 0.0), 1.0)
    # A full line delays every answer: if a few take most of the time there is no queue.
    if waiting < AWAY or stalled(case):
        return None
    evidence = [
        case.seen(say("bytes on the line"), bytes_now, say_in("unit", "B/s")),
        case.seen(say("users in the network"), waiting, say("of their time"), AWAY),
    ]
    # On a host that others fill, the rate stays level and threads hang in a send because cores are
    # missing.
    full = is_full(case)
    flat = None if full else _flat_since(case, bytes_now)
    is_stuck = (blocked or 0.0) >= BLOCKED and not full
    queued, trips = _queued(case, waiting, busy), _on_the_way(case)
    packets = None if full else packets_queue(case)
    if flat is None and (packet_loss.wait_share(case) or 0.0) >= packet_loss.SHARE:
        return None
    if flat is None and not is_stuck and queued is trips is packets is None:
        return None
    if packets is not None:
        counter = say("the usual round trip divided by the shortest")
        evidence.append(case.seen(counter, packets, plain(""), QUEUED))
    if queued is not None:
        counter = say("a statement's median time by its shortest")
        evidence.append(case.seen(counter, queued, plain(""), QUEUED))
    if trips is not None:
        counter = say("time on the way by that of the statements at their shortest")
        evidence.append(case.seen(counter, trips, plain(""), TRIPS))
    if blocked:
        state = "writing to net" if case.family == MYSQL else _CLIENT_WRITE
        evidence.append(case.seen(plain(f"state.{state}"), blocked, say("of the users"), BLOCKED))
    sure = 0.6 + (0.2 if flat is not None else 0.0) + (0.15 if is_stuck else 0.0)
    if full:
        sure = DOUBTFUL  # answers also wait, at either end, for cores that others use
    said = _level(bytes_now, flat, busy, waiting)
    return _finding(case, _direction(case), said, tuple(evidence), (waiting, sure))


def _has_room(case: Case, bytes_now: float) -> bool:
    """Whether more users move more, or so few bytes fill no line for which packets do not queue."""
    return _grows(case, bytes_now) or (bytes_now < LEAST_BYTES and packets_queue(case) is None)


def _sending(case: Case) -> float | None:
    """Share of the users for which the server is stuck in a send, by the account if there is one.

    The names of states alone are those of few moments, and of servers that are about to send.
    """
    return case.time_at("sending") if case.step.account else state_share(case, *_SENDING)


def _level(bytes_now: float, flat: int | None, busy: float, waiting: float) -> Message:
    values = {
        "mbit": Number(bytes_now * 8 / 1e6),
        "busy": Percent(busy),
        "waiting": Percent(waiting),
    }
    if flat is None:
        return say(
            "The network is full: {mbit} Mbit/s, while the server's cores are at {busy} and users "
            "spend {waiting} of their time in the network.",
            **values,
        )
    return say(
        "The network is full: {mbit} Mbit/s, the same as with {users}, while the server's cores "
        "are at {busy} and users spend {waiting} of their time in the network.",
        users=user_count(flat),
        **values,
    )


def _flat_since(case: Case, bytes_now: float) -> int | None:
    """The fewest users with which the same bytes flowed for the same events."""
    for step in case.ladder:
        if case.users < MORE_USERS * step.concurrency:
            break
        before, tps = _bytes(case.at(step)), step.tps or 0.0
        same_bytes = before is not None and abs(before - bytes_now) <= FLAT * bytes_now
        if same_bytes and abs(tps - case.tps) <= FLAT * case.tps:
            return step.concurrency
    return None


def _grows(case: Case, bytes_now: float) -> bool:
    """Whether more users move nearly as many times the bytes: a full line moves no more of them."""
    for step in case.ladder:
        before, times = _bytes(case.at(step)), case.users / step.concurrency
        if before and times >= MORE_USERS and bytes_now / before >= NEARLY * times:
            return True
    return False


def _queued(case: Case, waiting: float, busy: float) -> float | None:
    """A statement's median divided by its shortest time, if no other queue than the line's is left.

    Neither the server nor the generator has work for these users. A full line delays statements of
    each kind: the least delayed decides.
    """
    spreads = [one for one in case.step.statements.values() if one.min and one.p50]
    least = min(spreads, key=lambda one: (one.p50 or 0.0) / (one.min or math.inf), default=None)
    if least is None or not least.min or not least.p50 or waiting < MOSTLY:
        return None
    times = least.p50 / least.min
    client = max(_loops(case), held_share(case) or 0.0)
    alone = client < 0.5 and busy < 0.5
    return times if alone and times >= QUEUED and least.p50 >= SLOW_MS else None


def _on_the_way(case: Case) -> float | None:
    """An event's time on the way by that of its statements at their shortest, if it is long.

    Where the sessions' threads are looked at, the server has sent an answer that has not arrived.
    """
    account = case.step.account
    kinds = [one for one in case.step.statements.values() if one.count and one.min]
    shortest_s = sum(one.count * (one.min or 0.0) for one in kinds) / 1000
    if account is None or account.view != "threads" or not shortest_s:
        return None
    if any((one.p50 or 0.0) < DELAYED * (one.min or 0.0) for one in kinds):
        return None
    way = account.share_of("way")
    times = way * account.users * case.step.seconds / shortest_s
    return times if way >= ON_THE_WAY and times >= TRIPS else None


def packets_queue(case: Case) -> float | None:
    """The usual round trip by the least one, if packets queue for most of a statement's way.

    Of a server that is far away both are long. Where a relay on this machine holds data back, the
    usual one may be as long as it takes for an acknowledgement to ride on the answer.
    """
    account, qps = case.step.account, case.step.qps
    if account is None or account.view != "threads" or account.trips is None or not qps:
        return None
    usual, least = account.trips.usual, account.trips.least
    way = account.share_of("way")
    is_there = way >= ON_THE_WAY and usual >= TRAVELLING * way * account.users / qps
    shortest = ACKNOWLEDGED_S if case.is_on_loopback else SLOW_MS / 1000
    is_long = least > 0 and usual >= QUEUED * least and usual >= shortest
    return usual / least if is_there and is_long else None


def _bytes(case: Case) -> float | None:
    """Bytes per second in the larger direction."""
    return max(_both_ways(case).values()) or None


def _direction(case: Case) -> Resource:
    """The direction that carries more bytes: a line carries as many in either."""
    carried = _both_ways(case)
    return max(_DIRECTIONS, key=lambda direction: carried[direction])


def _both_ways(case: Case) -> Mapping[Resource, float]:
    """Bytes per second by direction, by the server's interface; otherwise by the protocol."""
    if case.nic:
        to_it, from_it = case.host("net_bytes_in_per_s"), case.host("net_bytes_out_per_s")
        return dict(zip(_DIRECTIONS, (from_it or 0.0, to_it or 0.0), strict=True))
    step = case.step
    seconds = step.seconds or math.inf
    return dict(zip(_DIRECTIONS, (step.bytes_in / seconds, step.bytes_out / seconds), strict=True))


def _client_is_busy(case: Case) -> bool:
    """Working, waiting for a core, or stopped: then the server hangs in sending to it."""
    return _loops(case) >= USED or (held_share(case) or 0.0) >= HELD


def _loops(case: Case) -> float:
    """Share of the time that our event loops work or wait for a core."""
    share, delay = case.generator("cpu_share"), case.generator("run_delay_share")
    return (share or 0.0) + (delay or 0.0)


def _finding(
    case: Case,
    direction: Resource,
    sentence: Message,
    evidence: tuple[Evidence, ...],
    weight: tuple[float, float],
) -> Finding:
    faster = list(_faster(case))
    if faster:
        there = say("The host has a faster interface: {interfaces}.", interfaces=Joined(faster))
        sentence = sentences(sentence, there)
    return Finding(
        cause="line-full",
        group="ceiling",
        sentence=sentence,
        evidence=evidence,
        share=weight[0],
        confidence=min(weight[1], 0.95),
        remedy=_remedy(case),
        trial=_narrower(case),
        acts_on=direction,
    )


def _remedy(case: Case) -> Message:
    if _may_compress(case):
        return say(
            "A faster line or interface, the unix socket where both are on one host, compression, "
            "or rows of fewer bytes."
        )
    return say(
        "A faster line or interface, the unix socket where both are on one host, or rows of fewer "
        "bytes."
    )


def _may_compress(case: Case) -> bool:
    """Whether the family's protocol has compression: PostgreSQL's has none."""
    return case.family == MYSQL


def _narrower(case: Case) -> Trial | None:
    """A way around the line, or fewer bytes on it; if the bytes do not shrink, it stays full."""
    around = by_socket(case, say("the line"))
    if around or case.step.compressed_users or not _may_compress(case):
        return around
    return client("compression", "zlib", "off", say("sending so many bytes"), refutes=False)


def _faster(case: Case) -> Iterator[Message]:
    """Interfaces of the server's host that are up and faster than the used one."""
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
            yield _interface(case, other, int(speed))


def _interface(case: Case, nic: str, mbit: int) -> Message:
    """An interface's name and speed, and how many events of the same size it would carry."""
    moved = _bytes(case)
    if moved is None or not case.step.tps:
        return say("{nic} ({mbit} Mbit/s)", nic=nic, mbit=Count(mbit))
    size = moved / case.step.tps
    return say(
        "{nic} ({mbit} Mbit/s, which would carry {events} events a second of {size})",
        nic=nic,
        mbit=Count(mbit),
        events=Number(mbit * 1e6 / 8 / size),
        size=Bytes(size),
    )


RULE = Rule("line-full", say("the network is full"), judge, holds=rest_of(*WAY))
