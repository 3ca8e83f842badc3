"""A run as data frames of fixed columns, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.analyse.ladder import has_steal
from loadstone.model.finding import Diagnosis
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.runs.errors import StoreError
from loadstone.runs.parquet.read import Which, of_run

if TYPE_CHECKING:
    import polars

STEPS: dict[str, str] = {
    "step": "Int32",
    "variant": "String",
    "workload": "String",
    "concurrency": "Int32",
    "rate": "String",
    "repeat": "Int32",
    "state": "String",
    "steady": "Boolean",
    "client_bound": "Boolean",
    "has_steal": "Boolean",
    "seconds": "Float64",
    "events": "Int64",
    "failed": "Int64",
    "restarts": "Int64",
    "tps": "Float64",
    "tps_half_width": "Float64",
    "qps": "Float64",
    "p50_ms": "Float64",
    "p90_ms": "Float64",
    "p95_ms": "Float64",
    "p99_ms": "Float64",
    "p999_ms": "Float64",
    "max_ms": "Float64",
    "errors": "Int64",
    "reconnects": "Int64",
    "late": "Int64",
    "skipped": "Int64",
    "waiting": "Int64",
    "server_commits_per_s": "Float64",
    "server_questions_per_s": "Float64",
    "log_syncs_per_s": "Float64",
    "threads_running": "Float64",
    "cpu_user": "Float64",
    "cpu_sys": "Float64",
    "cpu_iowait": "Float64",
    "cpu_steal": "Float64",
    "cpu_idle": "Float64",
    "disk_write_iops": "Float64",
    "disk_read_iops": "Float64",
}
"""Columns of `Run.steps` and their polars types; units are those of result.json."""

FINDINGS: dict[str, str] = {
    "variant": "String",
    "workload": "String",
    "rank": "Int32",
    "cause": "String",
    "group": "String",
    "share": "Float64",
    "confidence": "Float64",
    "sentence": "String",
    "remedy": "String",
}
"""Columns of `Run.findings` and their polars types."""

OBSERVED: dict[str, str] = {
    "step": "Int64",
    "variant": "String",
    "workload": "String",
    "concurrency": "Int64",
    "repeat": "Int64",
    "role": "String",
    "target": "Int64",
    "second": "Float64",
    "interval_s": "Float64",
    "run_s": "Float64",
}
"""The first columns of `Run.server` and `Run.host`; each further one is a counter (Float64)."""


def load(path: Path) -> polars.DataFrame:
    """load.parquet, or the same rebuilt from the journal of a run that has none."""
    return of_run(path, "load")


def server(path: Path) -> polars.DataFrame:
    """server.parquet, or the same rebuilt from the journal."""
    return _observed(path, "server")


def host(path: Path) -> polars.DataFrame:
    """host.parquet, or the same rebuilt from the journal."""
    return _observed(path, "host")


def steps(results: Sequence[StepResult]) -> polars.DataFrame:
    """A row a step."""
    return _typed([_step_row(step) for step in results], STEPS)


def findings(diagnoses: Sequence[Diagnosis]) -> polars.DataFrame:
    """A row a finding."""
    rows = [
        {
            "variant": found.variant,
            "workload": found.workload,
            "rank": rank,
            **finding.model_dump(
                include={"cause", "group", "share", "confidence", "sentence", "remedy"}
            ),
        }
        for found in diagnoses
        for rank, finding in enumerate(found.findings, 1)
    ]
    return _typed(rows, FINDINGS)


def _step_row(step: StepResult) -> dict[str, Any]:
    response, server, host = step.latency.response, step.server, step.host
    return {
        **step.model_dump(
            include={"step", "variant", "workload", "concurrency", "repeat", "state", "steady"}
            | {"seconds", "events", "failed", "restarts", "tps", "qps", "reconnects"}
            | {"late", "skipped", "waiting", "tps_half_width"}
        ),
        "rate": None if step.rate is None else str(step.rate),
        "client_bound": step.generator.client_bound,
        "has_steal": has_steal(step) if _knows_steal(step) else None,
        "p50_ms": response.p50,
        "p90_ms": response.p90,
        "p95_ms": response.p95,
        "p99_ms": response.p99,
        "p999_ms": response.p999,
        "max_ms": response.max,
        "errors": sum(step.errors.values()),
        "server_commits_per_s": server.commits_per_s if server else None,
        "server_questions_per_s": server.questions_per_s if server else None,
        "log_syncs_per_s": server.log_syncs_per_s if server else None,
        "threads_running": server.threads_running if server else None,
        "cpu_user": host.cpu_user if host else None,
        "cpu_sys": host.cpu_sys if host else None,
        "cpu_iowait": host.cpu_iowait if host else None,
        "cpu_steal": host.cpu_steal if host else None,
        "cpu_idle": host.cpu_idle if host else None,
        "disk_write_iops": host.disk_write_iops if host else None,
        "disk_read_iops": host.disk_read_iops if host else None,
    }


def _knows_steal(step: StepResult) -> bool:
    hosts = (step.host, step.generator_host)
    return any(host.cpu_steal is not None for host in hosts if host)


def _typed(rows: Sequence[dict[str, Any]], columns: dict[str, str]) -> polars.DataFrame:
    import polars

    schema = {name: getattr(polars, kind) for name, kind in columns.items()}
    try:
        return polars.DataFrame(rows, schema=schema, orient="row")
    except (OverflowError, TypeError, polars.exceptions.PolarsError) as error:
        raise StoreError(
            say("a figure of the run is too large: {error}", error=str(error))
        ) from error


def _observed(path: Path, which: Which) -> polars.DataFrame:
    found = of_run(path, which)
    return _typed([], OBSERVED) if found.is_empty() else found
