"""Where a server's sessions are at a moment: what the server says of each, and its thread does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, NamedTuple, Protocol

from loadstone.model.account import PLACES, Place
from loadstone.observe.threads import Doing, Threads

Says = Literal[
    "waits for the client", "works", "sends", "admission", "row lock", "table lock", "disk read",
    "disk write", "log sync", "commit", "commit delay", "replica", "latch", "paused", "other",
]  # fmt: skip
"""What the server's list says of a session. `works` may be any wait that has no name there."""

Seat = Literal["client", "running", "unread"] | Place
"""Where a session is. `client`: it waits for the client's next statement; `running`: it runs or is
ready to, which the kernel counts exactly; `unread`: its answer waits at the client to be read."""

SEATS: tuple[str, ...] = ("client", "running", "unread", *PLACES)
"""All of them."""

Whose = Literal["ours", "other", "administration"]
"""Whose a session is. `administration`: ours, but not of the load."""

NAMED: Mapping[Says, Place] = {
    "admission": "admission",
    "row lock": "row lock",
    "table lock": "table lock",
    "disk read": "disk read",
    "disk write": "disk write",
    "log sync": "log sync",
    "commit": "commit",
    "commit delay": "commit delay",
    "replica": "replica",
    "latch": "latch",
    "paused": "paused",
    "other": "other",
    "sends": "sending",
}
"""The places that the list names."""


@dataclass(frozen=True)
class Session:
    """A session in the server's list."""

    number: int
    thread: int | None
    """Its thread in the server's process, or its own process; `None`: it has none of its own."""
    whose: Whose
    says: Says
    since_s: float = 0.0
    """Time since its statement began or ended, as far as the list says; else zero."""


LISTED_S = 30.0
"""How long a list may take: among thousands of threads that want a core, seconds."""

OWN = "own_"
"""Before the name of a counter of the server: the part of it that our own questions caused."""


class Sleeps(NamedTuple):
    """Where sessions are that sleep, which the list may say, or not."""

    unnamed: Place = "paused"
    """Where the list does not say why."""
    in_commit: Place = "commit delay"
    """Where it says that they commit: a delay on purpose, or a sync that something slows down."""

    def of(self, says: Says) -> Place:
        """Where a session is that sleeps, and of which the list says so."""
        return self.in_commit if says == "commit" else NAMED.get(says, self.unnamed)


class SessionList(Protocol):
    """Lists a server's sessions over a connection of its own."""

    def look(self) -> tuple[Session, ...]:
        """All sessions but the one that asks.

        Raises:
            SourceError: the server does not answer, or refuses.
        """

    def connections(self) -> Collection[int]:
        """Numbers of the load's connections now; none, if they are not known.

        Those that were closed within the last second count as well.
        """

    def row_waiters(self) -> Collection[int] | None:
        """Numbers of the sessions that wait for a row's lock; `None`: not known.

        Raises:
            SourceError: the server does not answer.
        """

    @property
    def made(self) -> Mapping[str, float]:
        """Counters of what the questions so far made the server do, named with `OWN`."""

    def round_trip_s(self) -> float:
        """How long an answer takes for which the server has nothing to do; raises as `look`."""

    @property
    def thread(self) -> int | None:
        """The thread of the session that asks."""

    def workers(self, pid: int) -> Threads:
        """What looks at the sessions' threads, or processes, of the server with that process."""

    @property
    def why_no_threads(self) -> str | None:
        """Why sessions have no threads of their own, for a person; `None`: they have."""

    @property
    def rows_kept_s(self) -> float:
        """How long after `row_waiters` it is `None`, because the server would repeat itself."""

    @property
    def sees_others(self) -> bool:
        """Whether other accounts' sessions are in the list."""

    @property
    def sleeps(self) -> Sleeps:
        """Where sessions are that sleep."""

    def file_kind(self, name: str) -> Literal["log", "binlog", "data"]:
        """What the server keeps in a file with that name."""

    def queued_s(self) -> float | None:
        """Seconds that users have waited before a pooler so far; `None`: nobody counts."""

    def close(self) -> None:
        """Close the connection."""


def seat_of(
    doing: Doing | None,
    says: Says,
    *,
    waits_for_row: bool | None,
    file_kind: str,
    sleeps: Sleeps | None = None,
) -> Seat | None:
    """Where a session is; `None` if that is not known.

    Args:
        doing: what its thread did just before the list was read; `None`: not seen.
        says: what the list says of it.
        waits_for_row: whether it waits for a row's lock; `None`: not known.
        file_kind: the kind of the file that its thread reads, writes or syncs.
        sleeps: what sleeps of sessions are; `None`: as of a server with a delay of commits.
    """
    if doing is None:
        return _said(says, waits_for_row=waits_for_row)
    match doing.kind:
        case "running":
            return "running"
        case "receiving" | "polling":
            return "sending" if says == "sends" else "client"
        case "sending":
            return "sending"
        case "reading" | "writing" if doing.file.startswith("socket:"):
            return "client" if doing.kind == "reading" else "sending"
        case "reading":
            return "disk read"
        case "writing" | "syncing":
            return _WRITTEN.get(file_kind, "disk write")
        case "sleeping":
            return (sleeps or Sleeps()).of(says)
        case "futex":
            return _blocked(says, waits_for_row=waits_for_row)
        case _:
            return "other"


_WRITTEN: Mapping[str, Place] = {"log": "log sync", "binlog": "binlog sync"}


def _said(says: Says, *, waits_for_row: bool | None) -> Seat:
    if says == "waits for the client":
        return "client"
    return "row lock" if waits_for_row else NAMED.get(says, "in the server")


def _blocked(says: Says, *, waits_for_row: bool | None) -> Seat | None:
    """Where a session is whose thread waits for another one."""
    if says in NAMED:
        return NAMED[says]
    if waits_for_row:
        return "row lock"
    # The wait was over before the list was read; or it may be one for a row as well.
    return None if says == "waits for the client" or waits_for_row is None else "latch"


def base_name(file: str) -> str:
    """The name of an open file without its folder, also if it was deleted."""
    return PurePath(file.removesuffix(" (deleted)")).name
