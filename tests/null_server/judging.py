"""Whether the engine's quantiles are those of the server's stamps, on a machine maybe busy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import pytest

from null_server.driven import Driven
from null_server.running import Stamp, quantile

TRIES = 5
"""Steps of which the middle is judged, at most."""
TRIES_MIN = 3
"""So many that are right are the middle of them all, whatever the others would be."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True)
class Try:
    """One quantile of one step: what it was, what the engine said, and whether that counts."""

    wanted: float
    truth_ns: int
    said_ns: int
    late_ns: int
    """By how much the server itself left later than its script wanted, at the same quantile."""
    held_ns: int
    """How long the generator kept answers and events to itself, at its own 99th percentile."""
    waited: float
    """The part of the time in which the generator wanted a core and had none."""
    owed: float
    """The same of the server, which stamps a request when it reads it."""
    held_up_ns: float = 0.0
    """How long both waited for a core, by event: every event is off by that if all wait alike."""

    @property
    def off_ns(self) -> int:
        """By how much the engine said more than the server."""
        return self.said_ns - self.truth_ns

    @property
    def allowed_ns(self) -> float:
        """Two percent, or 50 µs where that is less than a machine can hold."""
        return max(0.02 * self.truth_ns, 50_000)

    @property
    def counts(self) -> bool:
        """Whether both ends had the processor when they wanted it.

        The generator cannot see an answer that comes while it waits for a core. About so many
        answers are off as it waits of the time; to move a quantile takes those that lie beyond it.
        """
        starved = max(self.waited, self.owed) > (1 - self.wanted) / 2
        delays = self.late_ns, self.held_ns, self.held_up_ns
        return not starved and max(delays) <= self.allowed_ns


def verdict(tries: Sequence[Try]) -> bool | None:
    """Whether the engine is right in the middle of the tries; `None`: the machine hides it.

    To be right needs no excuse. To be wrong, most of the tries must count: what other processes do
    to a step only ever adds, and an engine that is off is so on an idle machine too.
    """
    if right(tries):
        return True
    judged = [each for each in tries if each.counts]
    return right(judged) if len(judged) >= TRIES_MIN else None


def right(tries: Sequence[Try]) -> bool:
    """Whether the median of what they are off is allowed."""
    off = median(each.off_ns for each in tries)
    return abs(off) <= median(each.allowed_ns for each in tries)


def settled(tries: Sequence[Try]) -> bool:
    """Whether further tries could not make it wrong any more."""
    return sum(abs(each.off_ns) <= each.allowed_ns for each in tries) >= TRIES_MIN


def tried(driven: Driven, stamps: Sequence[Stamp]) -> dict[str, Try]:
    """Each quantile by the stamps, and by the engine."""
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
            held_up_ns=1e9 * driven.held_up_s / len(stamps),
        )
        for name, wanted in QUANTILES.items()
    }


def part_without_a_core(driven: Driven) -> float:
    """Of the step; all of it where the kernel does not say."""
    delays = [sample.generator.run_delay_us for sample in driven.samples]
    told = [delay for delay in delays if delay is not None]
    wall = sum(sample.generator.wall_us for sample in driven.samples)
    return sum(told) / wall if len(told) == len(delays) else 1.0


def judge(step: Callable[[int], tuple[Driven, Sequence[Stamp]]], *names: str) -> None:
    """Judge these quantiles in the middle of some tries; skip the test where too few of them count.

    `step` carries out the try of that number, and gives what the engine said and the truth.
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
    """A stall holds one answer of each connection up, and the latency says for how long.

    By the server's stamps: how long else a machine keeps answers waiting is its own matter.
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
    # The client sees an answer behind the server's stamp, and when it has a core.
    assert 0.98 * longest[0] <= seen <= 1.02 * longest[0] + driven.kept_ns
