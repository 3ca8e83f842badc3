"""The cost of measuring during the load: journal and live table, in CPU and in rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benches import loadstone
from benches.contest import prepare
from benches.figures import mirrored, spread
from benches.place import Place
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.terminal import terminal
from benches.threads import Threads
from benches.workload import Outcome, Step

USERS = 64
TARGET_PERCENT = 1.0
EVENT_LOOPS = "shard"
_WITH, _WITHOUT = "loadstone run, live table", "engine alone"
# Share of the long run: connecting is over by then, and modules are loaded.
_SETTLE_SHARE = 0.2


@dataclass(frozen=True)
class Reading:
    """One run."""

    pair: int
    contestant: str
    outcome: Outcome
    shares: dict[str, float]
    """Shares of a core, by thread name."""

    @property
    def beside(self) -> float:
        """The share of a core of all threads other than event loops."""
        return sum(share for name, share in self.shares.items() if name != EVENT_LOOPS)


def measure(place: Place) -> Report:
    """Long runs at full rate, in the order A B B A."""
    prepare(place)
    announce("measuring: warming up")
    shards = loadstone.drive(place, Step(USERS, 1.0)).shards
    step = Step(USERS, place.asked.seconds[1], shards=shards)
    readings = []
    for pair, order in enumerate(mirrored([_WITH, _WITHOUT], place.asked.pairs)):
        for contestant in order:
            announce(f"measuring: pair {pair + 1} of {place.asked.pairs}, {contestant}")
            readings.append(_read(place, step, pair, contestant))
    return Report(
        title=f"The cost of measuring: oltp_point_select at full rate, {USERS} users",
        tables=(threads_table(readings), rate_table(readings)),
        readings=[as_json(reading) for reading in readings],
        notes=(
            f"{counted(place.asked.pairs, 'pair')} in the order A B B A, runs of {step.seconds:g}"
            " s; median (least–greatest). CPU of threads by the kernel's count, from a fifth of the"
            " run on. loadstone run writes its journal and draws its live table on a terminal; the"
            " engine alone does neither.",
        ),
    )


def _read(place: Place, step: Step, pair: int, contestant: str) -> Reading:
    if contestant == _WITHOUT:
        return Reading(pair, contestant, loadstone.drive_engine(place, step), {})
    threads = Threads(EVENT_LOOPS, step.seconds * _SETTLE_SHARE)
    with terminal() as screen:
        outcome = loadstone.drive(place, step, look=threads.look, terminal=screen, observe=False)
    return Reading(pair, contestant, outcome, threads.shares)


def threads_table(readings: Sequence[Reading]) -> str:
    """Each thread's share; the sum without the event loops is the cost of measuring."""
    measured = [reading for reading in readings if reading.shares]
    names = sorted({name for reading in measured for name in reading.shares})
    rows = [
        [name, _percent([reading.shares.get(name, 0.0) for reading in measured]), ""]
        for name in names
    ]
    beside = _percent([reading.beside for reading in measured])
    rows.append(["all but the event loops", beside, f"≤ {TARGET_PERCENT:g}"])
    return table(["threads", "% of a core", "wanted"], rows)


def rate_table(readings: Sequence[Reading]) -> str:
    """The rates with and without measuring, and their ratio within each pair."""
    by_contestant = {
        name: sorted((one for one in readings if one.contestant == name), key=lambda one: one.pair)
        for name in (_WITH, _WITHOUT)
    }
    rows = []
    for name, mine in by_contestant.items():
        rates = [one.outcome.queries_per_s for one in mine]
        others = [one.outcome.queries_per_s for one in by_contestant[_WITHOUT]]
        ratios = [a / b for a, b in zip(rates, others, strict=True)]
        shown = "" if name == _WITHOUT else with_spread(spread(ratios), 3)
        wanted = "" if name == _WITHOUT else "1 within the spread"
        rows.append([name, with_spread(spread(rates), 0), shown, wanted])
    return table(["", "queries/s", "of the engine's alone", "wanted"], rows)


def as_json(reading: Reading) -> dict[str, Any]:
    """The reading as saved to the file."""
    return {**asdict(reading), "beside": reading.beside}


def _percent(shares: Sequence[float]) -> str:
    return with_spread(spread([share * 100 for share in shares]), 2)
