"""Waits for locks of the server's own memory, which its sessions take for moments, by their names.

Looks at random moments say how many wait for any of them; the names of the waits divide that.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-LWLOCK-TABLE
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import Holds, parts_of
from loadstone.diagnosis.rule import HoldsIn
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

SHARE = 0.05
"""[P] Share of the users' time. Sessions that wait for a core while they hold such a lock make
others wait: on two full cores less than that was seen."""

_LATCHES = ("LWLock:", "Lock:extend", "BufferPin:", "Buffer:", "Timeout:SpinDelay")
"""Beginnings of the states that the account has as latches."""

_GROUPS = ("IPC:ProcArrayGroupUpdate", "IPC:XactGroupUpdate")

_OF_COMMITS = "LWLock:WALWrite"
"""Who waits for it commits: that has a place of its own."""


@dataclass(frozen=True)
class Contended:
    """Waits for some of these locks."""

    share: float
    """Of the users' time."""
    part: float
    """Of all waits for such locks."""
    state: str
    """The most frequent of their states."""

    def waiting(self, case: Case) -> float:
        """Mean number of users that wait."""
        return self.share * case.users

    @property
    def holds(self) -> Holds:
        """Its part of the waits for latches."""
        return parts_of({"latch": self.part})


def contended(case: Case, parts: Mapping[str, float]) -> Contended | None:
    """The waits in states with these names, of each so large a part, 0 to 1; `None`: there is none.

    Raises:
        Missing: the states of the connections were not observed.
    """
    states = case.needed(case.states())
    waits = {state: seen for state, seen in states.items() if _is_latch(state)}
    own = {
        state: part * seen for state, seen in waits.items() if (part := parts.get(state)) and seen
    }
    if not own:
        return None
    part = sum(own.values()) / sum(waits.values())
    seen = case.time_at("latch")
    share = min(sum(own.values()) / case.users, 1.0) if seen is None else part * seen
    return Contended(share, part, max(own, key=lambda state: own[state]))


@dataclass(frozen=True)
class Lock:
    """A lock, or some that protect the same thing: its states, and what to say about it."""

    cause: str
    names: tuple[str, ...]
    what: Message
    """What it protects, and so what its users do."""
    remedy: Message
    shared: Callable[[Case], Mapping[str, float]] = lambda _case: {}
    """Of the waits with those names that it shares with another cause, the part that is for it, 0
    to 1."""

    def judge(self, case: Case, *evidence: Evidence) -> Finding | None:
        """Users that wait for it, if they do so for a noticeable part of their time.

        Where causes share waits that are noticeable together, that with most of them is named.
        """
        found, both = self._contended(case), contended(case, self._whole)
        if found is None or both is None or both.share < SHARE:
            return None
        if found.share < min(SHARE, both.share / 2):
            return None
        return Finding(
            cause=self.cause,
            group="wait",
            sentence=sentences(
                say(
                    "Users spend {share} of their time waiting for locks of the server's memory, "
                    "mostly {state}: at any moment {waiting} wait.",
                    share=Percent(found.share),
                    state=found.state,
                    waiting=Number(found.waiting(case)),
                ),
                self.what,
            ),
            evidence=(
                case.seen(
                    say("users that wait for such locks"),
                    both.share,
                    say("of their time"),
                    SHARE,
                ),
                case.seen(
                    plain(f"state.{found.state}"),
                    (case.states() or {})[found.state],
                    say_in("unit", "connections"),
                ),
                *evidence,
            ),
            share=found.share,
            confidence=0.8,
            remedy=self.remedy,
        )

    @property
    def holds_in(self) -> HoldsIn:
        """Its part of the waits for latches."""
        return self._holds

    def _holds(self, case: Case) -> Holds | None:
        found = self._contended(case) if case.states() else None
        return found.holds if found else None

    def _contended(self, case: Case) -> Contended | None:
        return contended(case, {**self._whole, **self.shared(case)})

    @property
    def _whole(self) -> Mapping[str, float]:
        return dict.fromkeys(self.names, 1.0)


def named(*names: str) -> tuple[str, ...]:
    """States of waits for these lightweight locks."""
    return tuple(f"LWLock:{name}" for name in names)


def _is_latch(state: str) -> bool:
    return (state.startswith(_LATCHES) or state in _GROUPS) and state != _OF_COMMITS
