"""The result of a host test as text: one line of figures under their heads."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.model.figure import Rate, Seconds
from loadstone.model.host_test import HostEnd, HostTestPlan
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, counted, say
from loadstone.model.numbers import rate
from loadstone.report.lines import Line
from loadstone.report.names import event_count, file_count
from loadstone.report.table import table_of

_MIB = 1024 * 1024
_NS_PER_MS = 1_000_000


def as_renderable(plan: HostTestPlan, end: HostEnd, words: Language = ENGLISH) -> RenderableType:
    """What was done, and its figures."""
    if plan.command != "run":
        return Line(words(_of_files(plan, end)))
    heads, values = zip(*_figures(plan, end), strict=True)
    shown = table_of([words(head) for head in heads], [values], text=0)
    return Group(Line(words(_head(plan, end))), Text(), shown)


def _head(plan: HostTestPlan, end: HostEnd) -> Message:
    fields = {
        "test": plan.test.kind,
        "threads": counted("1 thread", "{number} threads", plan.threads),
        "events": event_count(end.done.events),
        "duration": Seconds(end.seconds),
    }
    if end.reason == "stopped":
        return say("{test}, {threads}: {events} in {duration}, stopped early", **fields)
    return say("{test}, {threads}: {events} in {duration}", **fields)


def _of_files(plan: HostTestPlan, end: HostEnd) -> Message:
    if plan.test.kind != "fileio":
        return say("{test} needs no files", test=plan.test.kind)
    files = file_count(end.done.events)
    if plan.command == "cleanup":
        return say("removed {files}", files=files)
    written = end.done.bytes_written
    if not written:
        return say("all files are there in their full length: nothing to do")
    speed = written / _MIB / end.seconds if end.seconds else None
    return say(
        "made {files}: {size} MiB in {duration}, {speed} MiB/s",
        files=files,
        size=Rate(written / _MIB),
        duration=Seconds(end.seconds),
        speed=Rate(speed),
    )


def _figures(plan: HostTestPlan, end: HostEnd) -> Iterator[tuple[Message, str]]:
    """Heads with their units, and what stands below them."""
    done, latency = end.done, end.latency_ns

    def each_second(number: float) -> str:
        return rate(number / end.seconds if end.seconds else None)

    def milliseconds(nanoseconds: float | None) -> str:
        return rate(None if nanoseconds is None else nanoseconds / _NS_PER_MS)

    yield say("events\n/s"), each_second(done.events)
    if plan.test.kind == "fileio":
        yield say("reads\n/s"), each_second(done.reads)
        yield say("writes\n/s"), each_second(done.writes)
        yield say("fsyncs\n/s"), each_second(done.syncs)
    if plan.test.kind in ("fileio", "memory"):
        yield say("read\nMiB/s"), each_second(done.bytes_read / _MIB)
        yield say("written\nMiB/s"), each_second(done.bytes_written / _MIB)
    yield say("p50\nms"), milliseconds(latency.p50)
    yield say("p95\nms"), milliseconds(latency.p95)
    yield say("p99\nms"), milliseconds(latency.p99)
    yield say("max\nms"), milliseconds(latency.max)
