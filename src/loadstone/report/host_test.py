"""What a test of a host found, as text: one line of figures under their heads."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.model.host_test import HostEnd, HostTestPlan
from loadstone.model.numbers import digits, duration, number_of, rate
from loadstone.report.table import table_of

_MIB = 1024 * 1024
_NS_PER_MS = 1_000_000


def as_renderable(plan: HostTestPlan, end: HostEnd) -> RenderableType:
    """What was done, and its figures."""
    if plan.command != "run":
        return Text(_of_files(plan, end))
    heads, values = zip(*_figures(plan, end), strict=True)
    stopped = ", stopped before its time" if end.reason == "stopped" else ""
    threads = number_of(plan.threads, "thread")
    events = number_of(end.done.events, "event")
    head = f"{plan.test.kind}, {threads}: {events} in {duration(end.seconds)}{stopped}"
    return Group(Text(head), Text(), table_of(heads, [values], text=0))


def _of_files(plan: HostTestPlan, end: HostEnd) -> str:
    if plan.test.kind != "fileio":
        return f"{plan.test.kind} needs no files: nothing to {plan.command}"
    if plan.command == "cleanup":
        return f"removed {number_of(end.done.events, 'file')}"
    written = end.done.bytes_written
    made = number_of(end.done.events, "file")
    if not written:
        return "all files are there in their full length: nothing to do"
    speed = digits(written / _MIB / end.seconds) if end.seconds else "-"
    return f"made {made}: {digits(written / _MIB)} MiB in {duration(end.seconds)}, {speed} MiB/s"


def _figures(plan: HostTestPlan, end: HostEnd) -> Iterator[tuple[str, str]]:
    """Heads with their units, and what stands below them."""
    done, latency = end.done, end.latency_ns

    def each_second(number: float) -> str:
        return rate(number / end.seconds if end.seconds else None)

    def milliseconds(nanoseconds: float | None) -> str:
        return rate(None if nanoseconds is None else nanoseconds / _NS_PER_MS)

    yield "events\n/s", each_second(done.events)
    if plan.test.kind == "fileio":
        yield "reads\n/s", each_second(done.reads)
        yield "writes\n/s", each_second(done.writes)
        yield "fsyncs\n/s", each_second(done.syncs)
    if plan.test.kind in ("fileio", "memory"):
        yield "read\nMiB/s", each_second(done.bytes_read / _MIB)
        yield "written\nMiB/s", each_second(done.bytes_written / _MIB)
    yield "p50\nms", milliseconds(latency.p50)
    yield "p95\nms", milliseconds(latency.p95)
    yield "p99\nms", milliseconds(latency.p99)
    yield "max\nms", milliseconds(latency.max)
