"""Replays a log: each session on a connection of its own, each statement at its time.

The engine runs a script, `replay.lua`, whose virtual users read the lanes of `replay_lanes`.
Each statement is an event. Users wait between events for the time of the next one, so that no wait
is part of a latency. The script counts how late statements were sent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from loadstone.lab.step.loop import Measured
from loadstone.lab.step.order import steps_of
from loadstone.lab.step.runner import Lab, drive_step
from loadstone.model.error_codes import LOST
from loadstone.model.figure import Count, Rate, Seconds
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, counted, say
from loadstone.model.plan import REPLAY, Drive, Plan, ScriptSpec, Step, WarmupSeconds, WorkloadSpec
from loadstone.model.quantity import LONGEST_S
from loadstone.model.result import StepResult
from loadstone.model.target import Target
from loadstone.traffic.replay_lanes import Dealt, told_by

NAME = REPLAY
LEAD_S = 1.0
"""Seconds between the start of the load, with all connections open, and the first statement."""

_A_DOUBLING = 8
"""Lateness buckets for each doubling of the microseconds, as in replay.lua."""

# Measured with `loadstone run`: fewer users than that share one event loop best.
_USERS_A_SHARD = 16


class ReplayOptions(Frozen):
    """Options for replaying a log."""

    speed: float = 1.0
    """Factor on the log's pace; 0: each session sends as soon as it has its last answer."""

    loop: bool = False
    writes: bool = False
    duration_s: float | None = None
    """Seconds after which the replay is ended; `None`: at the end of the log."""

    warmup_s: float = 0.0
    """Seconds of the replay, from its first statement, that are not measured."""


@dataclass(frozen=True)
class Lateness:
    """How late statements were sent, by the users' own count."""

    sent: int
    refused: int
    late: Counter[int]
    """Statements by bucket, for those whose session was free when they were due."""

    late_max_us: int
    held: int
    """Statements that were due before the session's last answer had come."""

    held_max_us: int
    cycles: int
    silent: int
    """Users that were ended before they could report."""

    def quantile_us(self, share: float) -> float | None:
        """The upper end of the quantile's bucket; `None` where nothing was counted."""
        total = self.late.total()
        if not total:
            return None
        wanted = math.ceil(share * total)
        seen = 0
        for bucket in sorted(self.late):
            seen += self.late[bucket]
            if seen >= wanted:
                return min(2 ** (bucket / _A_DOUBLING), float(self.late_max_us))
        return float(self.late_max_us)


def plan_of(
    dealt: Dealt, folder: Path, targets: Sequence[Target], asked: ReplayOptions, shards: int
) -> Plan:
    """The plan of the replay for the engine."""
    options = {
        "lanes": str(folder),
        "lead_s": repr(LEAD_S),
        "speed": repr(asked.speed),
        # The first statement of a pass must not be due together with the previous pass's last one.
        "length_s": repr(dealt.length_s + _mean_gap_s(dealt)),
        "duration_s": repr(asked.warmup_s + (asked.duration_s or LONGEST_S)),
        "loop": "yes" if asked.loop else "no",
        "use_schemas": "yes" if len(dealt.schemas) > 1 else "no",
    }
    script = ScriptSpec(
        path=str(files("loadstone.traffic").joinpath("replay.lua")),
        options=options,
        # After these the engine opens the connection again. What the server refuses is not sent
        # again, so it is no restart: replay.lua lets the event fail.
        ignore_errors=LOST[targets[0].family],
        # A text with a second statement was none that the server took when it was logged.
        several_statements=False,
    )
    drive = Drive(
        protocol="text",
        shards=shards,
        users_a_shard=_USERS_A_SHARD,
    )
    if not asked.writes:
        drive = drive.reading(targets[0].family)
    is_local = any(target.is_local for target in targets)
    return Plan(
        name=NAME,
        targets=tuple(targets),
        workload=WorkloadSpec(name=NAME, tables=1, table_size=1, script=script),
        ladder=(max(dealt.lanes, 1),),
        duration_s=asked.duration_s or LONGEST_S,
        warmup=WarmupSeconds(warmup_s=LEAD_S + asked.warmup_s),
        drive=drive.beside_the_server(targets[0].family) if is_local else drive,
    )


def _mean_gap_s(dealt: Dealt) -> float:
    return dealt.length_s / max(dealt.statements - 1, 1)


class OfReplay:
    """A `StepSource` that replays a log as the only step of a run and notes its lateness."""

    def __init__(self, plan: Plan, lab: Lab, folder: Path, length_s: float) -> None:
        """`folder` holds the lanes of the log, which is `length_s` long."""
        self._plan = plan
        self._lab = lab
        self._folder = folder
        self._length_s = length_s

    def following(self, done: Sequence[StepResult]) -> Step | None:
        """The only step, unless it is done."""
        return None if done else steps_of(self._plan)[0]

    def measure(self, planned: Step) -> Measured:
        """Replay the log."""
        ended = drive_step(self._plan, planned, self._lab)
        found = lateness_of(self._folder, planned.concurrency)
        for sentence in (*sentences(found), *self._times(found, ended)):
            # The result that follows at once shows it.
            self._lab.recorder.note(sentence)
        return Measured(ended, self._plan.targets)

    def _times(self, found: Lateness, ended: StepResult) -> Iterator[Message]:
        """How long the replay took, if all sessions sent the whole log once."""
        script = self._plan.workload.script
        once = script is not None and script.options["loop"] == "no"
        if once and found.cycles == self._plan.ladder[0] and ended.window:
            yield took(ended.window.to_s - LEAD_S, self._length_s)

    def outcome(self, done: Sequence[StepResult]) -> None:
        """Nothing to report: a replay searches for nothing."""


def lateness_of(folder: Path, lanes: int) -> Lateness:
    """The lateness that the users reported."""
    figures, late, silent = told_by(folder, lanes)
    return Lateness(
        sent=figures["sent"],
        refused=figures["refused"],
        late=late,
        late_max_us=figures["late_max_us"],
        held=figures["held"],
        held_max_us=figures["held_max_us"],
        cycles=figures["cycles"],
        silent=silent,
    )


def sentences(found: Lateness) -> list[Message]:
    """What a reader of the run should know about the lateness."""
    said = [
        say(
            "replay: {sent} statements were sent, and {refused} were refused",
            sent=Count(found.sent),
            refused=Count(found.refused),
        )
    ]
    p50, p99 = found.quantile_us(0.5), found.quantile_us(0.99)
    if p50 is not None and p99 is not None:
        said.append(
            say(
                "replay: statements were sent {median} ms late at the median, {p99} ms at the 99th"
                " percentile, and {most} ms at most",
                median=f"{p50 / 1e3:.2f}",
                p99=f"{p99 / 1e3:.2f}",
                most=f"{found.late_max_us / 1e3:.2f}",
            )
        )
    if found.held:
        said.append(
            say(
                "replay: {number} statements waited for the answer to their session's last one,"
                " {most} ms at most: the server was late",
                number=Count(found.held),
                most=Rate(found.held_max_us / 1e3),
            )
        )
    if found.silent:
        said.append(
            counted(
                "replay: 1 session was ended before it had sent everything",
                "replay: {number} sessions were ended before they had sent everything",
                found.silent,
            )
        )
    return said


def took(replay_s: float, length_s: float) -> Message:
    """How long the replay took, next to the time from the log's first statement to its last."""
    return say(
        "replayed in {took} what took {length} in the log",
        took=Seconds(replay_s),
        length=Seconds(length_s),
    )
