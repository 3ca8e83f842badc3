"""Figures of a step by name: what its users waited for, and what an event cost.

Each is `None` where it was not evaluated. The time that users spend somewhere follows from how many
of them are there at any moment (J. D. C. Little, Operations Research 9(3), 1961): seconds per event
are users divided by events a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from loadstone.model.columns import Column
from loadstone.model.error_codes import DEADLOCKS
from loadstone.model.result import HostFigures, ServerFigures, StepResult

COMMIT_STATES = (
    "commit",
    "waiting for handler commit",
    "wait for group commit",
    "starting commit",
    *("IO:WALSync", "IO:WalSync", "LWLock:WALWrite", "IPC:SyncRep"),
)
"""States of connections whose commit waits for the log: in MySQL's process list, and as wait events
of PostgreSQL."""

_NO_HOST = HostFigures(seconds=0.0)
_NO_SERVER = ServerFigures(seconds=0.0)


def value(column: Column, steps: Sequence[StepResult]) -> float | None:
    """The median over the repeats; `None` where none of them has the figure."""
    known = [found for step in steps if (found := of_step(column, step)) is not None]
    return median(known) if known else None


def of_step(column: Column, step: StepResult) -> float | None:
    """The figure of one step."""
    if column in _OF_SERVER:
        return _OF_SERVER[column](step.server or _NO_SERVER)
    if column in _OF_HOST:
        return _OF_HOST[column](step.host or _NO_HOST)
    return _OF_STEP[column](step)


def users_waiting_for_rows(server: ServerFigures) -> float | None:
    """The mean number of users who wait for row locks: the larger of two measures.

    The server counts the time of a wait when it ends, so long waits show late; the number of
    waiting users is sampled once a second.
    """
    known = [server.rates.get("row_lock_time_s"), server.means.get("row_lock_current_waits")]
    return max((each for each in known if each is not None), default=None)


def users_in_commit(server: ServerFigures) -> float | None:
    """The mean number of users who wait for the log, by their states or the time of its syncs."""
    by_state = None
    states = [name for name in server.means if name.startswith("state.")]
    if states and "connection_states" not in server.not_evaluated:
        by_state = sum(server.means.get(f"state.{name}", 0.0) for name in COMMIT_STATES)
    files = [server.rates.get(f"{log}_file_wait_s") for log in ("redo", "binlog")]
    known = [each for each in files if each is not None]
    found = [each for each in (by_state, sum(known) if known else None) if each is not None]
    return max(found, default=None)


def _by_event(part: float | None, step: StepResult, scale: float = 1.0) -> float | None:
    return None if part is None or not step.tps else scale * part / step.tps


def _share(part: float | None) -> float | None:
    return None if part is None else 100 * part


def _class_ms(step: StepResult, name: str) -> float | None:
    found = step.statements.get(name)
    return found.mean if found else None


def _server_cores(host: HostFigures | None) -> float | None:
    if host is None or host.process_cpu_user is None or host.process_cpu_sys is None:
        return None
    return host.process_cpu_user + host.process_cpu_sys


def _server_sys(host: HostFigures) -> float | None:
    cores = _server_cores(host)
    return 100 * (host.process_cpu_sys or 0.0) / cores if cores else None


def _idle(host: HostFigures) -> float | None:
    if host.cpu_idle is None:
        return None
    return 100 * (host.cpu_idle + (host.cpu_iowait or 0.0))


def _busier_way(step: StepResult) -> float | None:
    """Bytes a second of the busier direction: a line has its full speed in both directions."""
    if not step.seconds:
        return None
    return 8 * max(step.bytes_in, step.bytes_out) / step.seconds / 1e6


def _disk_kb(step: StepResult) -> float | None:
    host = step.host
    both = [host.disk_read_bytes_per_s, host.disk_write_bytes_per_s] if host else []
    known = [each for each in both if each is not None]
    return _by_event(sum(known), step, 1e-3) if known else None


def _deadlocks(step: StepResult) -> float | None:
    found = (step.server or _NO_SERVER).rates.get("deadlocks")
    if found is None and step.seconds:
        found = sum(step.errors.get(code, 0) for code in DEADLOCKS) / step.seconds
    return found


_OF_SERVER: Mapping[Column, Callable[[ServerFigures], float | None]] = {
    "binlog_syncs": lambda server: server.binlog_syncs_per_s,
    "commits": lambda server: server.commits_per_s,
    "connected": lambda server: server.threads_connected,
    "log_kb_per_sync": lambda server: (
        None if server.bytes_per_sync is None else server.bytes_per_sync / 1000
    ),
    "log_syncs": lambda server: server.log_syncs_per_s,
    "questions": lambda server: server.questions_per_s,
    "running": lambda server: server.threads_running,
    "transactions_per_sync": lambda server: server.transactions_per_sync,
    "waiting": users_waiting_for_rows,
}

_OF_HOST: Mapping[Column, Callable[[HostFigures], float | None]] = {
    "cpu_idle": _idle,
    "cpu_sys": lambda host: _share(host.cpu_sys),
    "cpu_user": lambda host: _share(host.cpu_user),
    "disk_flushes": lambda host: host.disk_flushes_per_s,
    "disk_reads": lambda host: host.disk_read_iops,
    "disk_writes": lambda host: host.disk_write_iops,
    "server_sys": _server_sys,
    "throttled": lambda host: _share(host.rates.get("cgroup.throttled_s")),
}

_OF_STEP: Mapping[Column, Callable[[StepResult], float | None]] = {
    "client_us": lambda step: step.generator.cpu_us_per_query,
    "connect_failures": lambda step: float(sum(step.connect_failures.values())),
    "context_switches": lambda step: _by_event(
        step.host.context_switches_per_s if step.host else None, step
    ),
    "deadlocks": _deadlocks,
    "disk_kb": _disk_kb,
    "encrypted": lambda step: (
        None
        if step.encrypted_users is None or not step.users
        else 100 * step.encrypted_users / step.users
    ),
    "errors": lambda step: sum(step.errors.values()) / step.seconds if step.seconds else None,
    "flush_ms": lambda step: _by_event(users_in_commit(step.server or _NO_SERVER), step, 1000),
    "line_mbit": _busier_way,
    "log_kb": lambda step: _by_event(
        (step.server or _NO_SERVER).rates.get("log_written_bytes"), step, 1e-3
    ),
    "lock_ms": lambda step: _by_event(
        users_waiting_for_rows(step.server or _NO_SERVER), step, 1000
    ),
    "lock_waits": lambda step: _by_event(
        step.server.row_lock_waits_per_s if step.server else None, step
    ),
    "minor_faults": lambda step: _by_event(
        step.host.minor_faults_per_s if step.host else None, step
    ),
    "net_kb": lambda step: (
        (step.bytes_in + step.bytes_out) / step.events / 1000 if step.events else None
    ),
    "other_ms": lambda step: _class_ms(step, "other"),
    "read_ms": lambda step: _class_ms(step, "read"),
    "response_ms": lambda step: step.latency.response.mean,
    "server_us": lambda step: _by_event(_server_cores(step.host), step, 1e6),
    "write_ms": lambda step: _class_ms(step, "write"),
}
