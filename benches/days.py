"""Runs of a day each, written by the program's own recorder at an accelerated clock.

What a second has is that of a real run of 0.1 (tests/compatibility): the record of the engine, its
latencies, and what was observed at the server and its host. The seconds repeat; only their times
differ. No server is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benches.place import ROOT
from loadstone.model.observed import Observation
from loadstone.model.plan import Step
from loadstone.model.records import Connected, End, Sample
from loadstone.runs import hlog, run_folder
from loadstone.runs.journal import EngineEntry, read_entries
from loadstone.runs.rebuild import JOURNAL, LATENCIES, read_log
from loadstone.runs.recorder import Asked, Recorder, read_asked
from loadstone.runs.steplog import StepLog

DAY_S = 86_400
FIRST_UNIX_S = 1_790_000_000.0
_RECORDED = ROOT / "tests/compatibility/folders/0.1/ladder-20261124T084358Z"
_CONNECT_S = 0.5
_WHOLE_S = 0.9
"""A sample that is shorter than this is the rest of a step."""


@dataclass(frozen=True)
class _Second:
    """What the real run recorded of a second."""

    sample: Sample
    latencies: tuple[tuple[str, str], ...]
    """Meaning and histogram of each line of the latency log."""
    seen: tuple[Observation, ...]


@dataclass(frozen=True)
class _Recorded:
    """The real run: what was asked, and what its last step recorded."""

    asked: Asked
    environment: dict[str, object]
    connected: Connected
    end: End
    facts: dict[str, dict[str, str]]
    seconds: tuple[_Second, ...]


@cache
def _recorded() -> _Recorded:
    step = read_log(_RECORDED).steps[-1]
    assert step.connected is not None, "the step of a run that ended has connected"
    (end,) = (
        entry.record
        for entry in read_entries(_RECORDED / JOURNAL, step.begin.journal_from)
        if isinstance(entry, EngineEntry) and isinstance(entry.record, End)
    )
    return _Recorded(
        read_asked(_RECORDED),
        run_folder.read_environment(_RECORDED),
        step.connected,
        end,
        step.source_facts,
        tuple(_seconds(step)),
    )


def _seconds(step: StepLog) -> Iterator[_Second]:
    seen = list(step.observations())
    for sample in step.samples():
        if sample.seconds < _WHOLE_S:
            continue
        at_s = step.load_began_s + sample.from_s
        own = tuple(
            (hlog.meaning_of(hlog.tag_of(line)), line.split(",", 3)[3])
            for line in hlog.lines_of(_RECORDED / LATENCIES, step.begin.hlog_from, step.step.tag)
            if abs(float(line.split(",", 2)[1]) - at_s) < 1e-3
        )
        by_distance = sorted(seen, key=lambda one: -abs(one.from_s - at_s))
        nearest = {str(one.source): one for one in by_distance}
        yield _Second(sample, own, tuple(nearest.values()))


class _Clocked(Recorder):
    """A recorder whose time is what the bench says it is."""

    at_s = 0.0

    def _now(self) -> float:
        return round(self.at_s, 6)


class Day:
    """A run that is written second by second, as fast as the caller asks for seconds."""

    def __init__(self, out: Path, began_unix_s: float, steps: int = 1) -> None:
        real = _recorded()
        users = real.asked.plan.ladder[-1]
        workload = real.asked.plan.workload.name
        self.steps = tuple(
            Step(number=number, workload=workload, concurrency=users)
            for number in range(1, steps + 1)
        )
        folder = run_folder.create(out, "day", began_unix_s)
        asked = real.asked.model_copy(update={"steps": self.steps})
        self._recorder = _Clocked(folder, asked, ["10.11.19-MariaDB"])
        self._recorder.environment(dict(real.environment))
        self._second = 0

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self._recorder.folder

    def begin(self, step: Step) -> None:
        """Begin a step, and connect its users."""
        real = _recorded()
        self._second = 0
        self._recorder.begin_step(step)
        self._recorder.source_facts(step, real.facts)
        self._recorder.at_s += _CONNECT_S
        self._recorder.record(step, real.connected)
        self._load_from_s = self._recorder.at_s

    def second(self, step: Step) -> None:
        """Record the step's next second."""
        real = _recorded().seconds[self._second % len(_recorded().seconds)]
        from_s, to_s = float(self._second), self._second + 1.0
        self._second += 1
        self._recorder.at_s = self._load_from_s + to_s
        lines = tuple(
            f"Tag={step.tag}/{meaning},{from_s:.6f},1.000000,{rest}"
            for meaning, rest in real.latencies
        )
        times = {"from_s": from_s, "to_s": to_s, "phase": "window", "hlog": lines}
        self._recorder.record(step, real.sample.model_copy(update=times))
        wall = {"from_s": self._load_from_s + from_s, "to_s": self._load_from_s + to_s}
        for seen in real.seen:
            self._recorder.observed(step, seen.model_copy(update=wall))

    def end(self, step: Step) -> None:
        """End the step; its row is computed."""
        self._recorder.record(step, _recorded().end)
        self._recorder.end_step(step, "finished")

    def end_run(self) -> None:
        """End the run: its result and tables are written."""
        self._recorder.end_run("finished")

    def close(self) -> None:
        """Close the run's files, as a killed process does."""
        self._recorder.close()


def a_day(
    out: Path, began_unix_s: float = FIRST_UNIX_S, seconds: int = DAY_S, steps: int = 1
) -> Path:
    """A finished run of that many seconds in all, in steps of the same length."""
    day = Day(out, began_unix_s, steps)
    for step in day.steps:
        day.begin(step)
        for _ in range(seconds // steps):
            day.second(step)
        day.end(step)
    day.end_run()
    return day.folder


def many(out: Path, runs: int, seconds: int = DAY_S, steps: int = 1) -> list[Path]:
    """Finished runs with a folder each; the files of the first are shared by hard links.

    So 200 runs of a day take the disk space of one. Each result is a file of its own.
    """
    first = a_day(out, FIRST_UNIX_S, seconds, steps)
    folders = [first]
    for number in range(1, runs):
        folder = run_folder.create(out, "day", FIRST_UNIX_S + number * seconds)
        for file in first.iterdir():
            if file.name == run_folder.RESULT:
                (folder / file.name).write_bytes(file.read_bytes())
            elif file.is_file():
                os.link(file, folder / file.name)
        folders.append(folder)
    return folders
