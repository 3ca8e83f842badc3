"""Decides whether the engine's quantiles match the server's stamps, even on a busy machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import pytest

from null_server.driven import Driven
from null_server.running import Stamp, quantile

TRIES = 5
"""The most steps to run; the middle one is judged."""
TRIES_MIN = 3
"""With this many right results the median is right, whatever the others would be."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True)
class Try:
    """One quantile of one step: the truth, what the engine said, and whether that counts."""

    wanted: float
    truth_ns: int
    said_ns: int
    late_ns: int
    """How much later than its script the server itself answered, at the same quantile."""
    held_ns: int
    """How long the generator delayed answers and events itself, at its own 99th percentile."""
    waited: float
    """The share of the time in which the generator needed a core and had none."""
    owed: float
    """The same for the server, which stamps a request when it reads it."""
    held_up_ns: float = 0.0
    """The most that waits for a core can have added to an event: each delays all users' events."""

    @property
    def off_ns(self) -> int:
        """How much more the engine said than the server."""
        return self.said_ns - self.truth_ns

    @property
    def allowed_ns(self) -> float:
        """Two percent, or 50 µs if two percent are less than a machine can measure."""
        return max(0.02 * self.truth_ns, 50_000)

    @property
    def counts(self) -> bool:
        """Whether both ends had a core when they needed one.

        The generator cannot see an answer that arrives while it waits for a core. The share of
        answers that are wrong is about the share of time that it waits; a quantile moves only if
        that is more than what lies beyond the quantile.
        """
        starved = max(self.waited, self.owed) > (1 - self.wanted) / 2
        delays = self.late_ns, self.held_ns, self.held_up_ns
        return not starved and max(delays) <= self.allowed_ns


def verdict(tries: Sequence[Try]) -> bool | None:
    """Whether the median try is right; `None` if the machine was too busy to tell.

    A right result needs no excuse. For a wrong one most of the tries must count: what other
    processes do to a step only ever adds, and a wrong engine is wrong on an idle machine too.
    """
    if right(tries):
        return True
    judged = [each for each in tries if each.counts]
    return right(judged) if len(judged) >= TRIES_MIN else None


def right(tries: Sequence[Try]) -> bool:
    """Whether the median deviation is allowed."""
    off = median(each.off_ns for each in tries)
    return abs(off) <= median(each.allowed_ns for each in tries)


def settled(tries: Sequence[Try]) -> bool:
    """Whether more tries could not make it wrong any more."""
    return sum(abs(each.off_ns) <= each.allowed_ns for each in tries) >= TRIES_MIN


def tried(driven: Driven, stamps: Sequence[Stamp]) -> dict[str, Try]:
    """A try of each quantile, by the stamps and by the engine."""
    assert driven.connected is not None
    took = [stamp.took_ns for stamp in stamps]
    late = [stamp.sent_ns - stamp.due_ns for stamp in stamps]
    held = max(driven.latency(tag).p99 or 0 for tag in ("held", "dispatch"))
    waited, owed = part_without_a_core(driven), driven.server_waited
    return {
        name: Try(
            wanted=wanted,
            truth_ns=quantile(took, wanted),
            said_ns=getattr(driven.latency(), name),
            late_ns=quantile(late, wanted),
            held_ns=held,
            waited=waited,
            owed=owed,
            held_up_ns=1e9 * driven.connected.users * driven.held_up_s / len(stamps),
        )
        for name, wanted in QUANTILES.items()
    }


def part_without_a_core(driven: Driven) -> float:
    """The share of the step without a core; 1 if the kernel does not report it."""
    delays = [sample.generator.run_delay_us for sample in driven.samples]
    told = [delay for delay in delays if delay is not None]
    wall = sum(sample.generator.wall_us for sample in driven.samples)
    return sum(told) / wall if len(told) == len(delays) else 1.0


def judge(step: Callable[[int], tuple[Driven, Sequence[Stamp]]], *names: str) -> None:
    """Judge these quantiles by the median of some tries; skip the test if too few of them count.

    `step` runs the try of that number, and returns what the engine said and the truth.
    """
    tries: dict[str, list[Try]] = {name: [] for name in names}
    for number in range(TRIES):
        driven, stamps = step(number)
        one = tried(driven, stamps)
        for name, of_it in tries.items():
            of_it.append(one[name])
        if all(settled(of_it) for of_it in tries.values()):
            return
    verdicts = {name: verdict(of_it) for name, of_it in tries.items()}
    wrong = [name for name, right in verdicts.items() if right is False]
    assert not wrong, {name: tries[name] for name in wrong}
    open_ = [name for name, right in verdicts.items() if right is None]
    if open_:
        pytest.skip(f"not evaluated, this machine wakes too late: {', '.join(open_)}")


def seen_once(driven: Driven, stamps: Sequence[Stamp]) -> None:
    """Check that a stall delays one answer of each connection, and that the latency shows how long.

    The server's stamps are the truth: other delays are the machine's affair.
    """
    assert driven.connected is not None
    users = driven.connected.users
    took: dict[int, int] = {}
    for stamp in stamps:
        took[stamp.connection] = max(took.get(stamp.connection, 0), stamp.took_ns)
    assert sorted(took) == list(range(1, users + 1))
    longest = sorted((stamp.took_ns for stamp in stamps), reverse=True)
    assert sorted(took.values(), reverse=True) == longest[:users], "one answer of each"
    assert longest[users] < longest[users - 1] / 2
    seen = driven.latency().max
    assert seen is not None
    # The client sees an answer later than the server's stamp, and once it has a core.
    assert 0.98 * longest[0] <= seen <= 1.02 * longest[0] + driven.kept_ns
