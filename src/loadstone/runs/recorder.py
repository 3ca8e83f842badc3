"""Writes a run while it goes on: each record is written before the next is requested."""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loadstone import engine
from loadstone.model.calibration import Ceilings
from loadstone.model.cluster_nodes import NodeFacts
from loadstone.model.engine_plan import book_of
from loadstone.model.experiment import Experiment
from loadstone.model.failover import LedgerVerdict
from loadstone.model.frozen import Frozen
from loadstone.model.hot_spots import HotSpots
from loadstone.model.limits import Limits, values_of
from loadstone.model.message import Message, say
from loadstone.model.observed import Observation, SourceState
from loadstone.model.plan import Plan, Step
from loadstone.model.recipe import RecipeAsked
from loadstone.model.records import (
    Connected,
    End,
    EngineFailure,
    GeneratorState,
    Sample,
    StepRecord,
)
from loadstone.model.result import Aborted, LevelChange, Result, StepResult, StepState
from loadstone.model.search import Found, SearchOutcome
from loadstone.runs import atomic, control_requests, hlog, run_folder, safe_open, signature
from loadstone.runs.disk_reserve import Reserve
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import (
    AbortedEntry,
    AppendOnly,
    Changed,
    Conditions,
    EngineEntry,
    Entry,
    HoldBegin,
    HoldEnd,
    HotSpotsEntry,
    LedgerEntry,
    Note,
    RunBegin,
    RunEnd,
    Settled,
    SourceEntry,
    SourceFacts,
    StepBegin,
    StepEnd,
    to_line,
)
from loadstone.runs.ledger import LedgerFile
from loadstone.runs.observations import ObservationLines
from loadstone.runs.rebuild import JOURNAL, LATENCIES, read_log, step_result


class Asked(Frozen):
    """run.json: what the user asked for."""

    version: int = 1
    loadstone: str
    engine: dict[str, str]
    command_line: tuple[str, ...]
    plan: Plan
    steps: tuple[Step, ...] | None
    """`None` for a search."""
    experiment: Experiment | None = None
    """Set if more varies than users and rates; the plan is then that of its first step."""
    recipe: RecipeAsked | None = None
    """Set if the experiment is that of a recipe."""
    mark: str | None = None
    """The mark on the tables that the experiment makes, by which `resume` recognises them."""
    ceilings: Ceilings | None = None
    """The generator's maximum performance; `None` if it was not calibrated."""

    @property
    def is_without_names(self) -> bool:
        """Whether this is a copy to pass on, which lacks all that was typed."""
        return self.command_line == ("loadstone",)


class Recorder:
    """Writes one run's folder.

    A sample's latencies are written before the sample itself, so the journal never refers to
    missing latencies. The journal is locked until it is closed: a run whose journal is not locked
    and has no end was killed.
    """

    def __init__(
        self,
        path: Path,
        asked: Asked,
        server_versions: Sequence[str | None],
        before: RunBegin | None = None,
        environment: dict[str, Any] | None = None,
    ) -> None:
        """Start a run, or resume it if its first line is given as `before`.

        `environment`: the current content of its environment.json. It is written and sealed again
        when something is added, so the caller must know who wrote it.

        Raises:
            StoreError: it cannot be written, or another process still works on it.
        """
        self.folder = path
        began_unix_s = before.unix_s if before else time.time()
        self._began = self._idle_from = time.monotonic()
        self._evaluated_s = 0.0
        self.ended: float | None = None
        """When the run ended, on the monotonic clock; `None`: not yet."""
        self._load_began_s = 0.0
        self._agreed = before is not None
        self._begin = before or RunBegin(
            unix_s=began_unix_s,
            id=path.name,
            name=asked.plan.name,
            loadstone=asked.loadstone,
            plan=asked.plan.model_dump(mode="json"),
            targets=tuple(target.url for target in asked.plan.targets),
            server_versions=tuple(server_versions),
            ceilings=asked.ceilings,
            steps_planned=None if asked.steps is None else len(asked.steps),
        )
        self._step_from = 0
        self._lines = ObservationLines(0)
        self._plan = asked.plan
        self._environment = environment or {}
        self._ledger = LedgerFile(path)
        self._all_told = True
        self._reserve = Reserve(path)
        try:
            if before:
                self._take_up()
                self._began -= self._went_on_s(began_unix_s)
            else:
                self._set_out(asked, began_unix_s)
        except BaseException:
            self._reserve.close()
            raise
        control_requests.take(path)  # those of viewers from before the run was killed

    def _set_out(self, asked: Asked, began_unix_s: float) -> None:
        self._write_sealed(run_folder.RUN, asked.model_dump(mode="json"))
        self._latencies = AppendOnly(self.folder / LATENCIES)
        self._latencies.append(engine.hlog_header(began_unix_s).rstrip("\n").encode() + b"\n")
        self._journal = AppendOnly(self.folder / JOURNAL)
        fcntl.flock(self._journal.file, fcntl.LOCK_EX)
        self._append(self._begin)

    def _take_up(self) -> None:
        self._journal = AppendOnly(self.folder / JOURNAL, again=True)
        try:
            fcntl.flock(self._journal.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._journal.close()
            raise StoreError(
                say("{folder} is still being written", folder=self.folder),
                say("wait until it has ended, or end it"),
            ) from None
        try:
            self._latencies = AppendOnly(self.folder / LATENCIES, again=True)
        except StoreError:
            self._journal.close()
            raise
        self._journal.take_up()
        self._latencies.take_up()
        atomic.clear_half_written(self.folder)
        # Files made from the journal at an earlier end are no longer complete.
        for name in (run_folder.RESULT, run_folder.LOAD, run_folder.SERVER, run_folder.HOST):
            (self.folder / name).unlink(missing_ok=True)

    def _went_on_s(self, began_unix_s: float) -> float:
        """Seconds since the start of the run: never before the last recorded time.

        Only the wall clock knows how long the run was interrupted, and it may have been set back.
        """
        return max(time.time() - began_unix_s, read_log(self.folder).last_at_s)

    def environment(self, found: dict[str, Any]) -> None:
        """Write environment.json; what the connections negotiate is added when it is known."""
        self._environment = {}
        self._add_to_environment(found | {"agreed": None, "generators": [], "variants": {}})

    def generators(self, nodes: Sequence[NodeFacts]) -> None:
        """Store what a cluster's machines report about themselves; empty if this machine drives."""
        if nodes:
            self._add_to_environment(
                {"generators": [each.model_dump(mode="json") for each in nodes]}
            )

    def limits(self, stated: Limits) -> None:
        """Store limits that the user states when the run is resumed; they replace earlier ones."""
        if values := values_of(stated):
            before = self._environment.get("limits") or {}
            self._add_to_environment({"limits": before | values})

    def variant(self, name: str, targets: list[dict[str, Any]]) -> None:
        """Store a variant's environment at its first step, in the shape of `targets`."""
        before = self._environment.get("variants") or {}
        self._add_to_environment({"variants": {name: targets} | before})

    def prepared_since(self, commanded: float) -> None:
        """Count the time since the command, on the monotonic clock, as preparing the first step."""
        self._idle_from = commanded

    def begin_step(self, step: Step, conditions: Conditions | None = None) -> None:
        """Record that a step is about to connect."""
        self._step_from = self._journal.size
        self._lines = ObservationLines(step.number)
        self._append(
            StepBegin(
                at_s=self._now(),
                step=step,
                journal_from=self._step_from,
                hlog_from=self._latencies.size,
                conditions=conditions,
                prepared_s=self._idle_s(),
                evaluated_s=self._evaluated_s,
            )
        )
        self._evaluated_s = 0.0
        self._all_told = True
        if book := book_of(self._plan, step):
            self._ledger.open_book(step.number, book, self._plan.workload.tables)

    def record(self, step: Step, record: StepRecord) -> None:
        """Record what the engine reported."""
        at_s = self._now()
        if isinstance(record, Sample):
            self._journal.check_in_place()
        if isinstance(record, Connected):
            self._load_began_s = at_s
            self._add_agreed(record)
        if isinstance(record, Sample) and record.hlog:
            lines = (hlog.restamp(line, self._load_began_s) for line in record.hlog)
            self._latencies.append("".join(f"{line}\n" for line in lines).encode("ascii"))
        if isinstance(record, Sample):
            self._ledger.tell(step.number, record.ledger)
        if isinstance(record, GeneratorState) and record.state == "lost":
            self._all_told = False
        if isinstance(record, End) and self._all_told and book_of(self._plan, step):
            self._ledger.close_book(step.number)
        self._append(EngineEntry(at_s=at_s, step=step.number, record=record))

    @property
    def began(self) -> float:
        """The start of the run on the monotonic clock, from which all its times count."""
        return self._began

    def observed(self, step: Step, seen: Observation | SourceState) -> None:
        """Record what a source of counters reported."""
        at_s = self._now()
        if isinstance(seen, SourceState):
            self._append(SourceEntry(at_s=at_s, step=step.number, state=seen))
            return
        for line in self._lines.lines(seen, at_s):
            self._append(line)

    def hot_spots(self, step: Step, found: HotSpots) -> None:
        """Record where the server spent the step."""
        self._append(HotSpotsEntry(at_s=self._now(), step=step.number, hot_spots=found))

    def ledger(self, step: Step, verdicts: Sequence[LedgerVerdict]) -> None:
        """Record what the servers contain of the step's entries."""
        at_s = self._now()
        self._append(LedgerEntry(at_s=at_s, step=step.number, verdicts=tuple(verdicts)))

    def source_facts(self, step: Step, facts: dict[str, dict[str, str]]) -> None:
        """Record the facts of the sources that hardly ever change."""
        if facts:
            self._append(SourceFacts(at_s=self._now(), step=step.number, facts=facts))

    def changed(self, step: Step, change: LevelChange) -> None:
        """Record that a user changed the step's load by hand."""
        self._append(Changed(at_s=self._now(), step=step.number, change=change))

    def hold_begins(self, step: Step, from_s: float, condition: str, value: float) -> None:
        """Record that, and why, no event starts from this second of the load on."""
        entry = HoldBegin(
            at_s=self._now(), step=step.number, from_s=from_s, condition=condition, value=value
        )
        self._append(entry)

    def hold_ends(self, step: Step, to_s: float) -> None:
        """Record that events start again."""
        self._append(HoldEnd(at_s=self._now(), step=step.number, to_s=to_s))

    def aborted(self, step: Step, aborted: Aborted) -> None:
        """Record why the run is aborted before it does harm."""
        self._append(AbortedEntry(at_s=self._now(), step=step.number, aborted=aborted))

    def _add_agreed(self, connected: Connected) -> None:
        """The first step's connections represent all: every step asks for the same."""
        if self._agreed:
            return
        self._agreed = True
        if not self._environment:
            return
        names = {"users", "encrypted_users", "tls", "compressed_users", "compression"}
        self._add_to_environment({"agreed": connected.model_dump(include=names)})

    def note(self, text: Message, step: Step | None = None) -> None:
        """Record a message for readers of the run."""
        self._append(Note(at_s=self._now(), step=step.number if step else None, text=text))

    def end_step(
        self,
        step: Step,
        state: StepState,
        error: EngineFailure | None = None,
        settled: Settled | None = None,
    ) -> StepResult:
        """Finish the step: all of it is on disk, and its row is computed from there."""
        self._idle_from = time.monotonic()
        end = StepEnd(at_s=self._now(), step=step.number, state=state, error=error, settled=settled)
        self._append(end)
        self._latencies.sync()
        self._journal.sync()
        log = read_log(self.folder, self._step_from)
        result = step_result(self.folder, log.steps[-1], self._begin)
        self._evaluated_s = self._idle_s()
        self._idle_from = time.monotonic()
        return result

    def end_run(self, state: StepState, found: Found = None) -> Result:
        """Finish the run: write the files made from the journal."""
        search = found if isinstance(found, SearchOutcome) else None
        searches = found if isinstance(found, tuple) else None
        evaluated_s = self._evaluated_s + self._idle_s()
        self._append(
            RunEnd(
                at_s=self._now(),
                state=state,
                search=search,
                searches=searches,
                evaluated_s=evaluated_s,
            )
        )
        self.ended = time.monotonic()
        self._journal.sync()
        result = run_folder.finish(self.folder)
        self.close()
        return result

    def give_up(self, why: str) -> None:
        """Record in the journal why the run cannot go on, if it can be written to at all.

        result.json is made from the journal when it is needed.
        """
        self._reserve.close()
        if self.ended is not None:
            return
        with contextlib.suppress(StoreError):
            self._append(Note(at_s=self._now(), text=say("ended early: {why}", why=why)))
            self._append(RunEnd(at_s=self._now(), state="failed"))
            self._journal.sync()

    def close(self) -> None:
        """Close the files, whether or not the run has ended."""
        self._reserve.close()
        self._latencies.close()
        self._ledger.close()
        self._journal.close()

    def _add_to_environment(self, found: dict[str, Any]) -> None:
        # Do not start from the file's content: somebody else may have written it in the meantime.
        self._environment |= found
        self._write_sealed(run_folder.ENVIRONMENT, self._environment)

    def _write_sealed(self, name: str, document: dict[str, Any]) -> None:
        """Write a document with which a run is resumed."""
        # Write the seal first: a process killed in between leaves the old document with its seal.
        signature.add(self.folder, name, _as_text(document), self._begin.id)
        write_private_json(self.folder / name, document)

    def _append(self, entry: Entry) -> None:
        self._journal.append(to_line(entry))

    def _idle_s(self) -> float:
        """Seconds since the command, the end of the last step, or that of its evaluation."""
        return round(time.monotonic() - self._idle_from, 6)

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 6)


def write_private_json(path: Path, document: dict[str, Any]) -> None:
    """Write a settings file that only its owner can read."""
    atomic.write_bytes(path, _as_text(document))


def _as_text(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def read_asked(path: Path) -> Asked:
    """Read run.json from a run's folder for display; to run it again, use `vouched`.

    Raises:
        StoreError: it cannot be read.
    """
    written = path / run_folder.RUN
    try:
        return parse_asked(safe_open.document(written), written)
    except OSError as error:
        raise StoreError.from_os("read", written, error) from error


def parse_asked(content: bytes, written: Path) -> Asked:
    """Parse run.json, which was read from `written`.

    Raises:
        StoreError: it is damaged.
    """
    try:
        return Asked.model_validate_json(content)
    except ValidationError as error:
        raise StoreError(
            say(
                "cannot read {path}: it is damaged, or of another version of Loadstone",
                path=written,
            )
        ) from error
