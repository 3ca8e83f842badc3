"""Records of host tests with figures that are easy to add up, and a job that returns them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from loadstone.model.host_test import Done, HostBegun, HostEnd, HostSample
from loadstone.model.records import LatencyNs, Share
from loadstone.sysbench.host.figures import HostFigures
from sysbench.made import MS

Record = HostBegun | HostSample | HostEnd


def latency(latencies_ms: Sequence[int]) -> LatencyNs:
    if not latencies_ms:
        return LatencyNs(count=0)
    return LatencyNs(
        count=len(latencies_ms),
        min=min(latencies_ms) * MS,
        mean=sum(latencies_ms) * MS / len(latencies_ms),
        max=max(latencies_ms) * MS,
    )


def sample(
    latencies_ms: Sequence[int],
    from_s: float,
    to_s: float,
    waiting: int | None = None,
    shares: Sequence[Share] = (),
) -> HostSample:
    """An interval of two threads; half of the events read a MiB and half wrote one."""
    half = len(latencies_ms) // 2
    done = Done(
        events=len(latencies_ms),
        reads=half,
        writes=half,
        syncs=1,
        bytes_read=half * 2**20,
        bytes_written=half * 2**20,
    )
    return HostSample(
        phase="window",
        from_s=from_s,
        to_s=to_s,
        threads=2,
        done=done,
        latency_ns=latency(latencies_ms),
        quantile_ns=None,
        waiting=waiting,
        in_flight=None if waiting is None else 1,
        per_thread=tuple(shares),
    )


def end(seconds: float, error: str | None = None) -> HostEnd:
    return HostEnd(
        reason="failed" if error else "finished",
        error=error,
        seconds=seconds,
        done=Done(),
        latency_ns=latency([]),
        quantile_ns=None,
        latency_sum_ns=0,
        threads=(),
    )


def figures(
    latencies_ms: Sequence[int],
    to_s: float,
    waiting: int | None = None,
    shares: Sequence[Share] = (),
) -> HostFigures:
    made = HostFigures(to_s=to_s)
    values = {latency_ms * MS: latencies_ms.count(latency_ms) for latency_ms in latencies_ms}
    made.add(sample(latencies_ms, 0.0, to_s, waiting, shares), values)
    return made


class Job:
    """Returns records as the engine would; then nothing more, unless it is stopped."""

    def __init__(self, *records: Record) -> None:
        self._records = list(records)
        self.is_stopped = False

    def next(self, timeout_s: float) -> Record | None:
        if self._records:
            return self._records.pop(0)
        time.sleep(timeout_s)
        return None

    def stop(self) -> None:
        self.is_stopped = True
