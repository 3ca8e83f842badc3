"""What a test of a host found, as text: one line of figures under their heads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.model.host_test import HostEnd, HostTestPlan
from loadstone.report.numbers import digits, duration, number_of, rate

_MIB = 1024 * 1024
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Figure:
    """A head with its unit, and what stands below it."""

    head: str
    value: str


def as_renderable(plan: HostTestPlan, end: HostEnd) -> RenderableType:
    """What was done, and its figures."""
    if plan.command != "run":
        return Text(_of_files(plan, end))
    figures = list(_figures(plan, end))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for figure in figures:
        table.add_column(figure.head, justify="right", vertical="bottom", no_wrap=True)
    table.add_row(*(figure.value for figure in figures))
    stopped = ", stopped before its time" if end.reason == "stopped" else ""
    threads = number_of(plan.threads, "thread")
    events = number_of(end.done.events, "event")
    head = f"{plan.test.kind}, {threads}: {events} in {duration(end.seconds)}{stopped}"
    return Group(Text(head), Text(), table)


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


def _figures(plan: HostTestPlan, end: HostEnd) -> Iterator[Figure]:
    done, latency = end.done, end.latency_ns

    def each_second(number: float) -> str:
        return rate(number / end.seconds if end.seconds else None)

    def milliseconds(nanoseconds: float | None) -> str:
        return rate(None if nanoseconds is None else nanoseconds / _NS_PER_MS)

    yield Figure("events\n/s", each_second(done.events))
    if plan.test.kind == "fileio":
        yield Figure("reads\n/s", each_second(done.reads))
        yield Figure("writes\n/s", each_second(done.writes))
        yield Figure("fsyncs\n/s", each_second(done.syncs))
    if plan.test.kind in ("fileio", "memory"):
        yield Figure("read\nMiB/s", each_second(done.bytes_read / _MIB))
        yield Figure("written\nMiB/s", each_second(done.bytes_written / _MIB))
    yield Figure("p50\nms", milliseconds(latency.p50))
    yield Figure("p95\nms", milliseconds(latency.p95))
    yield Figure("p99\nms", milliseconds(latency.p99))
    yield Figure("max\nms", milliseconds(latency.max))
