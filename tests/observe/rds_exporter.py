"""Pages of the form that Percona's rds_exporter has: its names, types and labels, our values."""

from __future__ import annotations

import http.server
import itertools
from collections.abc import Callable

DECLINING = (900, 700, 500, 300, 100)
"""KiB of each interval: amounts that mostly fall."""

_DB = 'instance="db1",region="eu-west-1"'


def _family(name: str, kind: str, *series: tuple[str, float]) -> str:
    head = f"# HELP {name} As rds_exporter has it.\n# TYPE {name} {kind}\n"
    return head + "".join(f"{name}{{{labels}}} {value}\n" for labels, value in series)


def _disk(name: str, kind: str, value: float) -> str:
    return _family(
        name,
        kind,
        (f'device="filesystem",{_DB}', value / 2),
        (f'device="rdsdev",{_DB}', value),
    )


def enhanced(kib: float, *, marks: bool = True, kind: str = "counter") -> str:
    """A page of /enhanced.

    Args:
        kib: what was written in the latest interval.
        marks: whether it has what no other exporter has.
        kind: the declared type of the amounts.
    """
    modes = {"idle": 75.5, "system": 8.25, "total": 24.5, "user": 14.0, "wait": 2.25}
    labels = [(f'cpu="All",mode="{mode}",{_DB}', share) for mode, share in modes.items()]
    own = (
        _family("node_cpu_average", "gauge", *labels)
        + _family("rdsosmetrics_General_numVCPUs", "gauge", (_DB, 4))
        + _family("rdsosmetrics_cpuUtilization_total", "gauge", (_DB, 24.5))
        + _disk("rdsosmetrics_diskIO_writeIOsPS", "gauge", 120)
        + _disk("rdsosmetrics_diskIO_writeKb", "gauge", kib)
    )
    return (
        _disk("node_disk_read_bytes_total", kind, kib * 512)
        + _disk("node_disk_written_bytes_total", kind, kib * 1024)
        + _family("node_load1", "gauge", (_DB, 0.75))
        + _family("node_memory_MemTotal_bytes", "gauge", (_DB, 8 << 30))
        + (own if marks else "")
    )


def basic() -> str:
    """A page of /basic, which has means of CloudWatch."""
    return (
        _family("aws_rds_write_iops_average", "gauge", (_DB, 120))
        + _family("node_cpu_average", "gauge", (_DB, 24.5))
        + _family("node_memory_Cached_bytes", "gauge", (_DB, 1 << 30))
    )


def declining(page: Callable[[float], str]) -> Callable[[http.server.BaseHTTPRequestHandler], None]:
    """Answers each request with the next amount."""
    amounts = itertools.cycle(DECLINING)

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        body = page(next(amounts)).encode()
        request.send_response(200)
        request.send_header("Content-Type", "text/plain; version=0.0.4")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer
