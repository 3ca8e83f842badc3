"""load.parquet: one row per second and step. polars is only imported when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.model.message import say
from loadstone.model.records import LatencyNs, Sample
from loadstone.model.result import Window
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import RunLog
from loadstone.runs.steplog import StepLog, in_window

if TYPE_CHECKING:
    import polars

COLUMNS: dict[str, str] = {
    "step": "Int32",
    "variant": "String",
    "workload": "String",
    "concurrency": "Int32",
    "rate": "String",
    "repeat": "Int32",
    "phase": "String",
    "second": "Float64",
    "interval_s": "Float64",
    "run_s": "Float64",
    "tps": "Float64",
    "qps": "Float64",
    "reads": "Int64",
    "writes": "Int64",
    "other": "Int64",
    "events": "Int64",
    "failed": "Int64",
    "restarts": "Int64",
    "errors": "Int64",
    "reconnects": "Int64",
    "connects": "Int64",
    "connect_failures": "Int64",
    "p50_ms": "Float64",
    "p90_ms": "Float64",
    "p95_ms": "Float64",
    "p99_ms": "Float64",
    "p999_ms": "Float64",
    "max_ms": "Float64",
    "service_p50_ms": "Float64",
    "service_p99_ms": "Float64",
    "service_max_ms": "Float64",
    "due": "Int64",
    "late": "Int64",
    "skipped": "Int64",
    "waiting": "Int64",
    "in_flight": "Int64",
    "users": "Int32",
    "bytes_in": "Int64",
    "bytes_out": "Int64",
    "generator_cpu_us": "Int64",
}
"""The columns and their polars types; `second` is the interval's end since the load began."""

Row = tuple[float | int | str | None, ...]


def rows(log: RunLog) -> Iterator[Row]:
    """One row for each sample of the run."""
    for step in log.steps:
        window = step.window
        for sample in step.samples():
            yield _row(step, sample, window)


def frame(log: RunLog) -> polars.DataFrame:
    """The load's seconds as a frame.

    Raises:
        StoreError: a figure is too large for its column.
    """
    import polars

    schema = {name: getattr(polars, kind) for name, kind in COLUMNS.items()}
    try:
        return polars.DataFrame(list(rows(log)), schema=schema, orient="row")
    except (OverflowError, TypeError, polars.exceptions.PolarsError) as error:
        raise StoreError(
            say(
                "{journal} has a figure that is too large: {why}",
                journal=log.journal,
                why=str(error),
            )
        ) from error


def as_parquet(table: polars.DataFrame) -> bytes:
    """The file's content, in memory: the system's own message is then raised on a write error."""
    content = BytesIO()
    table.write_parquet(content, compression="zstd")
    return content.getvalue()


def from_parquet(content: bytes, path: Path) -> polars.DataFrame:
    """Parse what `as_parquet` wrote; not for files of others: a few bytes may expand to gigabytes.

    Raises:
        StoreError: it is not such a table; `path` names it.
    """
    import polars

    try:
        return polars.read_parquet(BytesIO(content))
    except polars.exceptions.PolarsError as error:
        raise StoreError(say("cannot read {path}: {why}", path=path, why=str(error))) from error


def _row(step: StepLog, sample: Sample, window: Window | None) -> Row:
    counts = sample.counts
    response, service = sample.latency_ns.response, sample.latency_ns.service
    return (
        step.step.number,
        step.step.variant,
        step.step.workload,
        step.step.concurrency,
        None if step.step.rate is None else str(step.step.rate),
        step.step.repeat,
        _phase(step, sample, window),
        sample.to_s,
        sample.seconds,
        step.load_began_s + sample.to_s,
        _rate(counts.events, sample),
        _rate(counts.queries, sample),
        counts.reads,
        counts.writes,
        counts.other,
        counts.events,
        counts.failed,
        counts.restarts,
        sum(sample.errors.values()),
        counts.reconnects,
        counts.connects,
        sum(sample.connect_failures.values()),
        *_quantiles_ms(response),
        _ms(service.p50),
        _ms(service.p99),
        _ms(service.max),
        counts.due,
        counts.late,
        counts.skipped,
        sample.tally.waiting,
        sample.tally.in_flight,
        sample.users,
        counts.bytes_in,
        counts.bytes_out,
        sample.generator.cpu_us,
    )


def _phase(step: StepLog, sample: Sample, window: Window | None) -> str:
    """The engine's phase, except for seconds that are not counted.

    A second excluded by `--warmup auto` is warm-up; one whose load was changed by hand is
    `changed`, one during which the load was held back is `held`.
    """
    if sample.phase != "window" or in_window(sample, window):
        return sample.phase
    if step.held_within(sample.from_s, sample.to_s):
        return "held"
    return "changed" if step.is_changed(sample) else "warmup"


def _rate(count: int, sample: Sample) -> float | None:
    return count / sample.seconds if sample.seconds > 0 else None


def _quantiles_ms(latency: LatencyNs) -> tuple[float | None, ...]:
    quantiles = (latency.p50, latency.p90, latency.p95, latency.p99, latency.p999, latency.max)
    return tuple(_ms(quantile) for quantile in quantiles)


def _ms(nanoseconds: int | None) -> float | None:
    return nanoseconds / 1e6 if nanoseconds is not None else None
