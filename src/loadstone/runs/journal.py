"""journal.jsonl: one JSON document per line, appended during the run.

Each line has the time since the start of the run at which it was written (`at_s`). Only the last
line can be cut short by a crash; it is ignored when the journal is read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from loadstone.model import figure
from loadstone.model.calibration import Ceilings
from loadstone.model.failover import LedgerVerdict
from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.hot_spots import HotSpots
from loadstone.model.message import Message, say
from loadstone.model.observed import SourceName, SourceState
from loadstone.model.outline import ToldPlan
from loadstone.model.plan import Step
from loadstone.model.records import Count, EngineFailure, Sample, StepRecord
from loadstone.model.result import Aborted, LevelChange, StepState
from loadstone.model.search import SearchOutcome, VariantSearch
from loadstone.model.with_messages import WithMessages
from loadstone.runs import atomic, safe_open
from loadstone.runs.errors import StoreError

At = Annotated[float, Field(ge=-3e10, le=3e10)]
"""Seconds since the start of the run, within a thousand years: others cannot become a date.
Negative if the clock was set back before the run was resumed.
"""

UnixTime = Annotated[float, Field(ge=0, le=1e11)]
"""Seconds since 1970, up to the year 5138."""

Elapsed = Annotated[float, Field(ge=0, le=3e10)]
"""Seconds that something took."""

MOST_HELD = 256 * safe_open.MEGABYTE
"""Bytes of a journal's lines without those of its seconds: only these stay in memory."""


class RunBegin(Frozen):
    """The first line."""

    kind: Literal["run_begin"] = "run_begin"
    at_s: At = 0.0
    unix_s: UnixTime
    id: str
    name: str
    loadstone: str
    plan: ToldPlan
    targets: tuple[str, ...]
    server_versions: tuple[str | None, ...]
    steps_planned: Count | None
    ceilings: Ceilings | None = None

    @model_validator(mode="after")
    def _has_a_version_of_each_target(self) -> Self:
        if len(self.targets) != len(self.server_versions):
            raise ValueError("there is not a version for each target")
        return self

    def under(self, conditions: Conditions | None) -> RunBegin:
        """The first line with the conditions of one step."""
        if conditions is None:
            return self
        return self.model_copy(update=dict(conditions))


class Conditions(Frozen):
    """A step's own conditions, for experiments that measure variants in different places."""

    targets: tuple[str, ...]
    server_versions: tuple[str | None, ...]
    ceilings: Ceilings | None = None

    @model_validator(mode="after")
    def _has_a_version_of_each_target(self) -> Self:
        if len(self.targets) != len(self.server_versions):
            raise ValueError("there is not a version for each target")
        return self


class StepBegin(Frozen):
    """A step's first line; says at which bytes its part of journal and latency log begins."""

    kind: Literal["step_begin"] = "step_begin"
    at_s: At
    step: Step
    journal_from: Count
    hlog_from: Count
    conditions: Conditions | None = None
    """`None`: those of the run's first line."""
    prepared_s: Elapsed | None = None
    """Since the command, or since the step before was evaluated; `None`: an earlier version."""
    evaluated_s: Elapsed = 0.0
    """Time of computing the figures of the step before."""


class EngineEntry(Frozen):
    """A record of the engine, without what is in other files and without rows per user or event.

    Its hlog lines are in latency.hlog, its ledger in ledger.jsonl.
    """

    kind: Literal["engine"] = "engine"
    at_s: At
    step: int
    record: StepRecord


class ObservedNames(Frozen):
    """The names for the numbers in the observations that follow, for one source in one step."""

    kind: Literal["observed_names"] = "observed_names"
    at_s: At
    step: int
    names: int
    """The number by which those lines refer to this one."""
    source: SourceName
    deltas: tuple[str, ...]
    gauges: tuple[str, ...]


class Observed(Frozen):
    """What happened at one source between two readings; times count from the start of the run."""

    kind: Literal["observed"] = "observed"
    at_s: At
    step: int
    names: int
    from_s: float
    to_s: float
    deltas: tuple[float, ...]
    gauges: tuple[float, ...]
    states: dict[str, float] = {}
    cost_s: float
    asked_s: float


class SourceEntry(Frozen):
    """A source was lost, or answers again."""

    kind: Literal["source"] = "source"
    at_s: At
    step: int
    state: SourceState


class SourceFacts(Frozen):
    """The facts of each source that hardly ever change, by the source's name."""

    kind: Literal["source_facts"] = "source_facts"
    at_s: At
    step: int
    facts: dict[str, dict[str, str]]


class HotSpotsEntry(Frozen):
    """Where the first target's server spent the step."""

    kind: Literal["hot_spots"] = "hot_spots"
    at_s: At
    step: int
    hot_spots: HotSpots


class LedgerEntry(Frozen):
    """What the servers contain of the entries that a step wrote."""

    kind: Literal["ledger"] = "ledger"
    at_s: float
    step: int
    verdicts: tuple[LedgerVerdict, ...]


class Changed(Frozen):
    """A user changed the step's load by hand."""

    kind: Literal["changed"] = "changed"
    at_s: At
    step: int
    change: LevelChange


class HoldBegin(Frozen):
    """No event starts from here on: a condition of `--max-load` is met."""

    kind: Literal["hold_begin"] = "hold_begin"
    at_s: At
    step: int
    from_s: float
    """Seconds since the start of the load."""
    condition: str
    value: float


class HoldEnd(Frozen):
    """Events start again."""

    kind: Literal["hold_end"] = "hold_end"
    at_s: At
    step: int
    to_s: float


def held_back(from_s: float, condition: str) -> Message:
    """The message when events no longer start."""
    return say(
        "held back from {at} s on by --max-load '{condition}'",
        at=round(from_s),
        condition=condition,
    )


def let_go_on(to_s: float) -> Message:
    """The message when events start again."""
    return say("let go on at {at} s", at=round(to_s))


class AbortedEntry(Frozen):
    """The run is aborted before it does harm."""

    kind: Literal["aborted"] = "aborted"
    at_s: At
    step: int
    aborted: Aborted


class Settled(Frozen):
    """What `--warmup auto` found: the window, and whether the series settled at all."""

    from_s: float
    to_s: float
    steady: bool | None
    method: str


class StepEnd(Frozen):
    """A step's last line."""

    kind: Literal["step_end"] = "step_end"
    at_s: At
    step: int
    state: StepState
    error: EngineFailure | None = None
    settled: Settled | None = None


class Note(WithMessages):
    """A message for readers of the run; about one step if `step` is given."""

    kind: Literal["note"] = "note"
    at_s: At
    step: int | None = None
    text: Message


class RunEnd(Frozen):
    """The last line of a run that was not killed."""

    kind: Literal["run_end"] = "run_end"
    at_s: At
    state: StepState
    search: SearchOutcome | None = None
    searches: tuple[VariantSearch, ...] | None = None
    evaluated_s: Elapsed = 0.0
    """Time since the last step's end."""


StepEntry = (
    EngineEntry
    | ObservedNames
    | Observed
    | SourceEntry
    | SourceFacts
    | HotSpotsEntry
    | LedgerEntry
    | Changed
    | HoldBegin
    | HoldEnd
    | AbortedEntry
    | StepEnd
    | Note
)
"""Entries that may stand between a step's first line and the next step's."""

Entry = RunBegin | StepBegin | StepEntry | RunEnd
_ENTRY: TypeAdapter[Entry] = TypeAdapter(
    Annotated[Entry, Field(discriminator="kind")], config=DEFERRED
)


def get_ready() -> None:
    """Build the validator of lines, which takes some 0.1 s, before the first line is waited for."""
    _ENTRY.rebuild()


class AppendOnly:
    """A file that only grows; each piece is written to the system immediately."""

    def __init__(self, path: Path, *, again: bool = False) -> None:
        """Open a new file; with `again`, continue an existing one."""
        self._path = path
        try:
            self.file: BinaryIO = _again(path) if again else _fresh(path)
        except OSError as error:
            raise StoreError.from_os("write", path, error) from error
        self.size = 0

    def take_up(self) -> None:
        """Continue after the last complete line; a line that was cut short is removed."""
        try:
            size = self.file.seek(0, os.SEEK_END)
            while size and not self._line_ends_at(size):
                size -= 1
            self.file.truncate(size)
            self.file.seek(size)
        except OSError as error:
            raise StoreError.from_os("write", self._path, error) from error
        self.size = size

    def _line_ends_at(self, place: int) -> bool:
        self.file.seek(place - 1)
        return self.file.read(1) == b"\n"

    def append(self, content: bytes) -> None:
        """Append all of `content`; a short write is continued.

        Raises:
            StoreError: the write failed. Nothing of it remains, so the next line starts cleanly.
        """
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self.file.write(rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self.file.truncate(self.size)
                self.file.seek(self.size)
            raise StoreError.from_os("write", self._path, error) from error
        self.size += len(content)

    def check_in_place(self) -> None:
        """Check that the file is still there, as otherwise nobody would ever read what is written.

        Raises:
            StoreError: the file was removed or moved.
        """
        try:
            there = os.path.samestat(os.stat(self._path), os.fstat(self.file.fileno()))
        except (FileNotFoundError, NotADirectoryError):
            there = False
        except OSError as error:
            raise StoreError.from_os("write", self._path, error) from error
        if not there:
            raise StoreError(
                say("{path} was removed or moved during the run", path=self._path),
                say("run it again, and leave its folder where it is until it has ended"),
            )

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        try:
            os.fsync(self.file.fileno())
        except OSError as error:
            raise StoreError.from_os("write", self._path, error) from error

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def _fresh(path: Path) -> BinaryIO:
    """Create a file for its owner alone: a run names servers, users and statements."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, atomic.PRIVATE), "wb", buffering=0)


def _again(path: Path) -> BinaryIO:
    return safe_open.opened(path, flags=os.O_RDWR)


def to_line(entry: Entry) -> bytes:
    """The entry as a line of the journal."""
    apart = {"hlog", "per_user", "ledger", "event_log"}
    text = entry.model_dump_json(exclude={"record": apart})
    return text.encode() + b"\n"


OBSERVED = b'{"kind":"observed'
"""How lines of `Observed` and `ObservedNames` begin."""

ENGINE = b'{"kind":"engine"'
"""How lines of the engine begin."""


def read_entries(path: Path, from_byte: int = 0, skip: bytes = OBSERVED) -> Iterator[Entry]:
    """All complete lines from `from_byte` on, except those that begin with `skip`.

    Skipped lines are most of a journal, so they are not even parsed.

    Raises:
        StoreError: a line other than the last is not an entry, there is more than can be held, or
            the file cannot be read.
    """
    try:
        with safe_open.opened(path) as file:
            file.seek(from_byte)
            yield from _parse(path, file, skip)
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error


def _parse(path: Path, file: BinaryIO, skip: bytes) -> Iterator[Entry]:
    at_byte, number, held = file.tell(), 1, Held(path)
    while (line := file.readline(safe_open.LONGEST_LINE)).endswith(b"\n"):
        if not line.startswith(skip):
            entry = parse(line, f"{path}:{number}", at_byte)
            held.add(entry, len(line))
            yield entry
        at_byte += len(line)
        number += 1
    check_rest(line, f"{path}:{number}")


@dataclass
class Held:
    """How much a reader of a journal holds: everything except the seconds."""

    journal: Path
    _bytes: int = 0

    def add(self, entry: Entry, size: int) -> None:
        """Count another line.

        Raises:
            StoreError: there is more than a reader may hold.
        """
        is_sample = isinstance(entry, EngineEntry) and isinstance(entry.record, Sample)
        if is_sample or isinstance(entry, Observed):
            return
        self._bytes += size
        if self._bytes > MOST_HELD:
            said = say(
                "{journal} has more than {most} MB besides its seconds",
                journal=self.journal,
                most=MOST_HELD // safe_open.MEGABYTE,
            )
            raise StoreError(said, _NOT_OURS)


def check_rest(line: bytes, place: str) -> None:
    """Check a line without an end, which may be the last one, cut short by a crash.

    Raises:
        StoreError: it is longer than any line.
    """
    if len(line) >= safe_open.LONGEST_LINE:
        most = safe_open.LONGEST_LINE // safe_open.MEGABYTE
        raise StoreError(say("{place} is longer than {most} MB", place=place, most=most), _NOT_OURS)


def parse(line: bytes, place: str, at_byte: int) -> Entry:
    """Parse the line that begins at a byte of a journal; `place` names it in messages.

    Raises:
        StoreError: it is not an entry of a journal, or not one that belongs there.
    """
    try:
        safe_open.check_numbers(line)
        entry = _ENTRY.validate_json(safe_open.shown(line))
    except ValueError as error:
        raise StoreError(
            say("{place} is not an entry of a journal", place=place), _NOT_OURS
        ) from error
    # Readers of the step's samples start at the byte that it names.
    if isinstance(entry, StepBegin) and entry.journal_from != at_byte:
        said = say(
            "{place} says that it starts at byte {claimed}, but it starts at byte {found}",
            place=place,
            claimed=figure.Count(entry.journal_from),
            found=figure.Count(at_byte),
        )
        raise StoreError(said, _NOT_OURS)
    return entry


_NOT_OURS = say("the file was changed after it was written, or is from a newer Loadstone")
