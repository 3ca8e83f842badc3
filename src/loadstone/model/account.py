"""The account of a step: where its users' time goes.

The time of all users over the window is split into places that exclude each other. Each place is
measured by itself; what no place holds is the unnamed rest. By Little's law (P. J. Denning, J. P.
Buzen, ACM Computing Surveys 10(3), 1978) the mean number of users at a place, divided by the number
of users, is the share of their time that they spend there.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say

Place = Literal[
    "idle",
    "generator",
    "answer unread",
    "connecting",
    "way",
    "on core",
    "waiting for a core",
    "in the server",
    "disk read",
    "disk write",
    "row lock",
    "table lock",
    "log sync",
    "binlog sync",
    "commit",
    "commit delay",
    "replica",
    "admission",
    "latch",
    "sending",
    "paused",
    "other",
]
"""Where a user can be, in the order in which they are shown."""

PLACES: tuple[Place, ...] = get_args(Place)

PLACE_NAMES: dict[Place, Message] = {
    "idle": say("no event is due (think time)"),
    "generator": say("load generator"),
    "answer unread": say("answer not read yet by the generator"),
    "connecting": say("opening a connection"),
    "way": say("on the way (network, proxy, TLS)"),
    "on core": say("on a core of the server"),
    "waiting for a core": say("ready to run, without a core"),
    "in the server": say("in the server, at work or waiting"),
    "disk read": say("disk read"),
    "disk write": say("disk write"),
    "row lock": say("row lock"),
    "table lock": say("table, metadata or global lock"),
    "log sync": say("commit: sync of the redo log or WAL"),
    "binlog sync": say("commit: sync of the binary log"),
    "commit": say("commit: waiting for the group"),
    "commit delay": say("commit: configured delay"),
    "replica": say("commit: answer of a replica"),
    "admission": say("admission (thread pool, pooler, concurrency)"),
    "latch": say("latch, mutex or another thread"),
    "sending": say("sending to a client that does not read"),
    "paused": say("asleep (SLEEP, a configured delay)"),
    "other": say("another wait"),
}
"""The names of the places, for people."""

VIEW, WHY = "view", "why_no_threads"
"""The facts of a source that looks at sessions: its view, and why it sees no threads."""

THREADS_SEEN = 64
"""How many threads of a kind a look reads; of more, a random sample. Reading one takes some µs."""

Known = Literal["counted", "sampled"]
"""Whether a share comes from clocks and counters that miss nothing, or from looks at random
moments."""

View = Literal["threads", "sessions"]
"""How the servers were looked at: by their sessions and the sessions' threads, or by their lists of
sessions alone."""


def _said(text: str) -> Any:
    return Field(description=text)


class AccountEntry(Frozen):
    """The users' time at one place."""

    place: Place = _said("where they are")
    users: float = _said("mean number of users there")
    share: float = _said("share of all users' time, 0 to 1")
    known: Known = _said("counted: by clocks and counters; sampled: by looks at random moments")
    low: float | None = _said(
        "lower bound of the 95 % interval of `share`; null: counted, or too few looks for one"
    )
    high: float | None = _said("upper bound of it")


class Cores(Frozen):
    """Cores that the servers used, by whom they worked for."""

    users: float = _said("for the users' sessions")
    others: float = _said("for other clients' sessions")
    own: float | None = _said(
        "in the servers' own threads and for what watches them; null: the process was not observed"
    )


class DiskBytes(Frozen):
    """Bytes a second from and to disks; what is left in the page cache counts as written."""

    read: float = _said("bytes a second read")
    written: float = _said("bytes a second written")

    @property
    def both(self) -> float:
        """Bytes a second read and written."""
        return self.read + self.written


class Disks(Frozen):
    """What the servers moved from and to disks, by whom they worked for."""

    users: DiskBytes = _said("for the users' sessions")
    others: DiskBytes = _said("for other clients' sessions")
    own: DiskBytes | None = _said(
        "in the servers' own threads and for what watches them; null: the process was not observed"
    )


class MemoryOf(Frozen):
    """Memory that the processes of sessions have for themselves, mean over moments."""

    sessions: float = _said("mean number of sessions")
    each: float = _said("bytes of each, page tables included")
    page_tables: float = _said("bytes of page tables among them")

    @property
    def total(self) -> float:
        """Bytes of all of them."""
        return self.sessions * self.each


class Memory(Frozen):
    """What sessions have for themselves, where each is a process, by whom they work for."""

    users: MemoryOf = _said("the users' sessions")
    others: MemoryOf | None = _said("other clients' sessions; null: there were none")


class Trips(Frozen):
    """Round trips on the users' connections, as the generator's kernel measures them."""

    usual: float = _said("seconds, mean of the smoothed round trips")
    least: float = _said(
        "seconds, the least one since the server is looked at: that of a connection's first "
        "packets, where later ones queue"
    )


class PlaceGain(Frozen):
    """How much more of the users' time a place holds in the slow seconds."""

    place: Place = _said("where they are")
    slow: float = _said("share of all users' time in the slow seconds, 0 to 1")
    others: float = _said("share in the other seconds")
    known: Known = _said("as in `entries`")
    low: float | None = _said(
        "lower bound of the 95 % interval of `slow` less `others`; null: counted, or too few looks"
    )
    high: float | None = _said("upper bound of it")

    @property
    def gain(self) -> float:
        """By how much its share is larger in the slow seconds."""
        return self.slow - self.others


class CounterGain(Frozen):
    """A figure of the first target or its host that differs in the slow seconds."""

    role: Literal["server", "server-host"] = _said("where it was read")
    counter: str = _said("its name in `rates` or `means`, or that of a disk's mean time in ms")
    is_rate: bool = _said("whether the values are per second")
    slow: float = _said("mean in the slow seconds")
    others: float = _said("mean in the others")
    spreads: float | None = _said(
        "the difference in standard deviations of the other seconds; null: they all have the same "
        "value"
    )


class SlowSeconds(Frozen):
    """Seconds in which fewer events finished than chance explains, compared with the others.

    In an open loop no second has more events than became due in it: what is caught up is late.
    """

    count: int = _said("number of slow seconds")
    of: int = _said("number of all seconds")
    spans: tuple[tuple[float, float], ...] = _said(
        "start and end of each run of slow seconds, in seconds since the load's start"
    )
    tps: float = _said("events a second in them")
    tps_others: float = _said("events a second in the others")
    lost: float = _said(
        "share of the events that were lost to them, or in an open loop were late: 1 less the rate "
        "of all seconds divided by that of the others"
    )
    looks: float = _said("looks at the server in them")
    places: tuple[PlaceGain, ...] = _said("the places, those that gain most first")
    counters: tuple[CounterGain, ...] = _said(
        "the figures of server and host that differ most from their spread over the others"
    )


class Stretch(Frozen):
    """The account of some seconds."""

    from_s: float = _said("start, seconds since the load's start")
    to_s: float = _said("end")
    slow: bool = _said("whether these are slow seconds")
    shares: tuple[float, ...] = _said("of the users' time, in the order of `places`")


class Course(Frozen):
    """The account over the seconds of the window."""

    places: tuple[Place, ...] = _said("the places that hold anybody")
    stretches: tuple[Stretch, ...] = _said(
        "neighbouring seconds, as many as have enough looks; slow ones have stretches of their own"
    )


class Account(Frozen):
    """Where the time of a step's users went; places that hold nobody are left out."""

    users: int = _said("virtual users")
    seconds: float = _said("seconds of the window that were observed")
    view: View = _said(
        "threads: the servers' sessions and their threads were looked at; sessions: only the lists "
        "of sessions"
    )
    looks: float = _said("looks at the server at random moments")
    entries: tuple[AccountEntry, ...] = _said("in the order of the places in docs/account.md")
    unnamed: float = _said("share that no place holds, 0 to 1")
    beyond: float = _said(
        "by how much the entries, which are measured apart, come to more than all time: the error "
        "of the account; 0 if they do not"
    )
    others: float | None = Field(
        default=None, description="mean number of other clients' sessions at work; null: not seen"
    )
    cores: Cores | None = Field(
        default=None, description="whose sessions used the servers' cores; null: not counted"
    )
    disks: Disks | None = Field(
        default=None,
        description="whose sessions moved bytes from and to disks; null: not counted",
    )
    memory: Memory | None = Field(
        default=None,
        description="memory that sessions have for themselves; null: they are no processes, or "
        "were not read",
    )
    trips: Trips | None = Field(
        default=None,
        description="round trips to the servers or what is before them; null: not by TCP, or not "
        "from this machine",
    )
    seen_running: float | None = Field(
        default=None,
        description="share on a core or without one as the looks saw it: their error is its "
        "difference from the two entries, which are counted; null: no threads were looked at",
    )
    looking: float | None = Field(
        default=None,
        description="share of one core that the looks took, here and in the server; null: unknown",
    )
    why: str | None = Field(
        default=None, description="why the server was not looked at more closely; null: it was"
    )

    slow: SlowSeconds | None = Field(
        default=None, description="seconds that chance does not explain; null: there are none"
    )
    course: Course | None = Field(
        default=None, description="the account over the seconds; null: too few looks for two parts"
    )

    def share_of(self, *places: Place) -> float:
        """The users' share at any of these places together."""
        return sum(entry.share for entry in self.entries if entry.place in places)
