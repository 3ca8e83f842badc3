"""Merges the progress of a load's parts, without a clock or a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.cluster.errors import ClusterError
from loadstone.model.figure import Count
from loadstone.model.message import Joined, Message, say
from loadstone.model.records import (
    AnyLoadRecord,
    EngineFailure,
    LoadEnd,
    LoadProgress,
    LoadStalled,
    MissingRows,
)

_ABANDONED = "abandoned"
"""The engine's word for a part whose lease ran out."""

_SHOWN = 3
"""Number of ranges that a message names; the others are counted."""


@dataclass
class Part:
    """The progress that one generator has reported for its part."""

    number: int
    node: str
    has: int = 0
    """The number of the last record taken in."""
    progress: LoadProgress | None = None
    end: LoadEnd | None = None
    lost: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether no more records are expected."""
        return self.end is not None or self.lost is not None

    def take(self, number: int, record: AnyLoadRecord) -> LoadStalled | None:
        """Take in a record by its number; a repeated one is not counted again.

        Returns a record that has to be passed on as it is, with the place.
        """
        if number != self.has + 1 or self.is_done:
            return None
        self.has = number
        if isinstance(record, LoadStalled):
            where = say("{what} (generator on {node})", what=record.waits_for, node=self.node)
            return record.model_copy(update={"waits_for": where})
        if isinstance(record, LoadProgress):
            self.progress = record
        elif record.error and record.error.kind == _ABANDONED:
            # The network delayed our polls; the rows that it loaded are there.
            self.lost = say("it ended its load: {why}", why=record.error.message)
        else:
            self.end = record
        return None


def progress_of(parts: Sequence[Part], seconds: float) -> LoadProgress | None:
    """The progress of all parts together; `None` until each has reported how many rows it has."""
    told = [part for part in parts if part.progress or part.end]
    if len(told) < len(parts):
        return None
    rows = [part.end or part.progress for part in told]
    # A part that has ended has loaded all of its rows, or the load is over.
    totals = [part.progress.rows_total if part.progress else 0 for part in told]
    ended = [part.end.rows if part.end else 0 for part in told]
    fills = any(part.end or (part.progress and part.progress.phase == "rows") for part in told)
    return LoadProgress(
        seconds=seconds,
        rows=sum(record.rows for record in rows if record),
        rows_total=sum(map(max, totals, ended)),
        phase="rows" if fills else "tables",
        tables_done=0,
        method=next(record.method for record in rows if record),
    )


def end_of(ends: Sequence[LoadEnd], cpu_us: int, seconds: float) -> LoadEnd:
    """The end of all parts together; `cpu_us` is the CPU time of the head itself."""
    failed = next((end for end in ends if end.error), None)
    stopped = any(end.reason == "stopped" for end in ends)
    return LoadEnd(
        reason="failed" if failed else "stopped" if stopped else "finished",
        error=failed.error if failed else None,
        seconds=seconds,
        rows=sum(end.rows for end in ends),
        rows_loaded=sum(end.rows_loaded for end in ends),
        method=ends[0].method,
        cpu_us=cpu_us + sum(end.cpu_us for end in ends),
    )


def failure_at(part: Part) -> EngineFailure | None:
    """The error of a failed part, with its place."""
    if not part.end or not part.end.error:
        return None
    error = part.end.error
    where = say("{what} (generator on {node})", what=error.message, node=part.node)
    return error.model_copy(update={"message": where})


def loss_of(lost: Sequence[Part], missing: Sequence[MissingRows] | None) -> ClusterError:
    """The error for lost generators; `missing` is `None` if the missing rows are not known."""
    losses = [
        say(
            "generator {number} on {node} was lost: {why}",
            number=part.number,
            node=part.node,
            why=part.lost,
        )
        for part in lost
    ]
    return ClusterError(
        say("{losses}; {missing}", losses=Joined(losses, "clauses"), missing=_said(missing)),
        say(
            "the same command loads what is missing, from the nodes that answer then: "
            "loadstone cluster check says which"
        ),
    )


def _said(missing: Sequence[MissingRows] | None) -> Message:
    if missing is None:
        return say(
            "the tables are not complete, and which rows are missing could not be determined"
        )
    if not missing:
        return say("all rows are there, their indexes and the count are missing")
    rows = Count(sum(each.rows for each in missing))
    shown = Joined(
        say("{table} where {condition}", table=each.table, condition=each.condition)
        for each in missing[:_SHOWN]
    )
    more = len(missing) - len(missing[:_SHOWN])
    if not more:
        return say("{rows} rows are missing, in {places}", rows=rows, places=shown)
    return say(
        "{rows} rows are missing, in {places}, and {more} more",
        rows=rows,
        places=shown,
        more=Count(more),
    )
