"""The metrics of a step that can be compared, gated and tracked over time, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from loadstone.model.result import LatencyMs, StepResult
from loadstone.model.search import Figure

Kind = Literal["rate", "time", "share", "count", "bytes"]
"""Events a second, milliseconds, a share from 0 to 1, a plain number, bytes."""

CLASSES = ("read", "write", "other")
"""Classes of statements, by the server's answer."""


@dataclass(frozen=True)
class Metric:
    """One figure of a step."""

    name: str
    kind: Kind
    higher_is_better: bool
    read: Callable[[StepResult], float | None]
    """Reads the value from a step, in the unit of the step's field."""

    def of(self, step: StepResult) -> float | None:
        """The value; `None`: the step does not have it, or its file has an impossible value."""
        value = self.read(step)
        return value if value is not None and 0 <= value < math.inf else None

    def is_lower_bound(self, step: StepResult) -> bool:
        """Whether the value depends on events that had not ended when the window did."""
        return self.name in step.latency.response.at_least


def _latency(figure: str) -> Callable[[StepResult], float | None]:
    def of(step: StepResult) -> float | None:
        return _figure(step.latency.response, figure)

    return of


def _class_latency(name: str, figure: str) -> Callable[[StepResult], float | None]:
    def of(step: StepResult) -> float | None:
        found = step.statements.get(name)
        return None if found is None else _figure(found, figure)

    return of


def _figure(latency: LatencyMs, figure: str) -> float | None:
    value = getattr(latency, figure)
    return None if value is None else float(value)


def _class_rate(name: str) -> Callable[[StepResult], float | None]:
    def of(step: StepResult) -> float | None:
        found = step.statements.get(name)
        return found.count / step.seconds if found and step.seconds else None

    return of


def errors_share(step: StepResult) -> float | None:
    """Error packets per event that ended."""
    ended = step.events + step.failed
    return sum(step.errors.values()) / ended if ended else None


def _per_event(value: float | None, step: StepResult) -> float | None:
    return value / step.tps if value is not None and step.tps else None


def server_cpu_ms(step: StepResult) -> float | None:
    """CPU time of the server's process per event, in milliseconds."""
    host = step.host
    if host is None or host.process_cpu_user is None or host.process_cpu_sys is None:
        return None
    return _per_event(1000 * (host.process_cpu_user + host.process_cpu_sys), step)


def server_system_share(step: StepResult) -> float | None:
    """Share of the server's CPU time that was spent in the kernel."""
    host = step.host
    if host is None or host.process_cpu_user is None or host.process_cpu_sys is None:
        return None
    whole = host.process_cpu_user + host.process_cpu_sys
    return host.process_cpu_sys / whole if whole else None


def host_cpu_ms(step: StepResult) -> float | None:
    """CPU time of the whole host per event, in milliseconds, for everything that runs there."""
    host = step.host
    if host is None or host.cores is None or host.cpu_user is None or host.cpu_sys is None:
        return None
    return _per_event(1000 * host.cores * (host.cpu_user + host.cpu_sys), step)


def _of_host(name: str) -> Callable[[StepResult], float | None]:
    def of(step: StepResult) -> float | None:
        return None if step.host is None else _per_event(getattr(step.host, name), step)

    return of


def _of_server(name: str) -> Callable[[StepResult], float | None]:
    def of(step: StepResult) -> float | None:
        return None if step.server is None else _per_event(getattr(step.server, name), step)

    return of


def transactions_per_sync(step: StepResult) -> float | None:
    """Commits per sync of the redo log."""
    return step.server.transactions_per_sync if step.server else None


def network_bytes(step: StepResult) -> float | None:
    """Bytes of the protocol per event in both directions, as the generator counted them."""
    return (step.bytes_in + step.bytes_out) / step.events if step.events else None


def server_memory(step: StepResult) -> float | None:
    """Mean resident memory of the server's process, in bytes."""
    return step.host.means.get("process.rss_bytes") if step.host else None


def _metrics() -> list[Metric]:
    found = [
        Metric("tps", "rate", True, lambda step: step.tps),
        Metric("qps", "rate", True, lambda step: step.qps),
        Metric("errors", "share", False, errors_share),
    ]
    figures = get_args(Figure)
    found += [Metric(figure, "time", False, _latency(figure)) for figure in figures]
    for name in CLASSES:
        found.append(Metric(f"{name}_qps", "rate", True, _class_rate(name)))
        found += [
            Metric(f"{name}_{figure}", "time", False, _class_latency(name, figure))
            for figure in figures
        ]
    return found + [
        Metric("server_cpu", "time", False, server_cpu_ms),
        Metric("server_system", "share", False, server_system_share),
        Metric("host_cpu", "time", False, host_cpu_ms),
        Metric("disk_reads", "count", False, _of_host("disk_read_iops")),
        Metric("disk_writes", "count", False, _of_host("disk_write_iops")),
        Metric("disk_read_bytes", "bytes", False, _of_host("disk_read_bytes_per_s")),
        Metric("disk_write_bytes", "bytes", False, _of_host("disk_write_bytes_per_s")),
        Metric("log_syncs", "count", False, _of_server("log_syncs_per_s")),
        Metric("binlog_syncs", "count", False, _of_server("binlog_syncs_per_s")),
        Metric("transactions_per_sync", "count", True, transactions_per_sync),
        Metric("lock_waits", "count", False, _of_server("row_lock_waits_per_s")),
        Metric("network_bytes", "bytes", False, network_bytes),
        Metric("server_memory", "bytes", False, server_memory),
    ]


METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _metrics()}
"""By name. What is neither a rate, a latency nor a share is per event, except server_memory."""

TPS = METRICS["tps"]
