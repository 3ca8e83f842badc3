"""The lines that sysbench prints about a run: pure functions of its figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from loadstone.model.records import Tally
from loadstone.sysbench.figures import Figures, Spread, Stretch
from loadstone.sysbench.settings import Compat, Settings

_STARS = 40
# The histogram's steps are sysbench's: 1024 of them from 1 µs to 100 s, equal on a log scale.
_STEPS = 1024
_LEAST_MS, _GREATEST_MS = 0.001, 100_000.0
_STEP = math.log(_GREATEST_MS / _LEAST_MS) / (_STEPS - 1)


def interval_lines(
    figures: Figures, tally: Tally, settings: Settings, uses_driver: bool
) -> Iterator[str]:
    """The lines of each `--report-interval`; with a `--rate` also the queue length."""
    if uses_driver:
        yield interval_line(figures, settings)
    else:
        yield plain_interval_line(figures, settings)
    if settings.rate:
        comma = "," if uses_driver else ""
        yield (
            f"[ {figures.to_s:.0f}s ] queue length: {tally.waiting}{comma} "
            f"concurrency: {tally.in_flight}"
        )


def interval_line(figures: Figures, settings: Settings) -> str:
    """The line of a test that sends statements."""
    reads, writes, other = (
        f"{figures.rate(count):.2f}" for count in (figures.reads, figures.writes, figures.other)
    )
    percentile = settings.percentile
    latency_ms = figures.percentile_ms(percentile) if percentile else 0.0
    return (
        f"[ {figures.to_s:.0f}s ] thds: {settings.threads} tps: {figures.rate(figures.events):.2f} "
        f"qps: {figures.rate(figures.queries):.2f} (r/w/o: {reads}/{writes}/{other}) "
        f"lat (ms,{percentile}%): {latency_ms:.2f} err/s: {figures.rate(figures.errors):.2f} "
        f"reconn/s: {figures.rate(figures.reconnects):.2f}"
    )


def plain_interval_line(figures: Figures, settings: Settings) -> str:
    """The line of a test that sends none."""
    percentile = settings.percentile
    latency_ms = figures.percentile_ms(percentile) if percentile else 0.0
    return (
        f"[ {figures.to_s:.0f}s ] thds: {settings.threads} eps: {figures.rate(figures.events):.2f} "
        f"lat (ms,{percentile}%): {latency_ms:.2f}"
    )


def report(
    figures: Figures, settings: Settings, unfinished: int = 0, uses_driver: bool = True
) -> str:
    """The report at the end, or at a checkpoint, about everything since the last checkpoint."""
    common = report_of_all_tests(figures, settings, unfinished)
    return f"{_statements(figures)}\n{common}" if uses_driver else common


def report_of_all_tests(figures: Stretch, settings: Settings, unfinished: int) -> str:
    """The lines after a test's own figures, from the empty line on."""
    parts = [
        _general(figures, settings.compat),
        _latencies(figures, settings.percentile),
        _fairness(figures, settings.threads),
    ]
    if unfinished:
        parts.insert(0, f"Number of unfinished transactions on forced shutdown: {unfinished}")
    return "\n" + "\n\n".join(parts)


def _statements(figures: Figures) -> str:
    counted = (
        ("read", figures.reads),
        ("write", figures.writes),
        ("other", figures.other),
        ("total", figures.queries),
    )
    a_second = (
        ("transactions", figures.events),
        ("queries", figures.queries),
        ("ignored errors", figures.errors),
        ("reconnects", figures.reconnects),
    )
    lines = ["SQL statistics:", "    queries performed:"]
    lines += [f"        {name + ':':<32} {count}" for name, count in counted]
    lines += [
        f"    {name + ':':<36} {count:<6} ({figures.rate(count):.2f} per sec.)"
        for name, count in a_second
    ]
    return "\n".join(lines)


def _general(figures: Stretch, compat: Compat) -> str:
    if compat == "1.1":
        head = "Throughput:"
        rows = [
            ("events/s (eps)", f"{figures.rate(figures.events):.4f}"),
            ("time elapsed", f"{figures.to_s:.4f}s"),
        ]
    else:
        head = "General statistics:"
        rows = [("total time", f"{figures.to_s:.4f}s")]
    rows.append(("total number of events", str(figures.events)))
    return "\n".join([head, *(f"    {name + ':':<36} {value}" for name, value in rows)])


def _latencies(figures: Stretch, percentile: int) -> str:
    latency = figures.latency
    milliseconds = {
        "min": (latency.min_ns or 0) / 1e6,
        "avg": latency.sum_ns / 1e6 / latency.count if latency.count else 0.0,
        "max": (latency.max_ns or 0) / 1e6,
    }
    lines = ["Latency (ms):"]
    lines += [_latency_line(f"         {name}", value) for name, value in milliseconds.items()]
    if percentile:
        lines.append(
            _latency_line(f"{percentile:11d}th percentile", figures.percentile_ms(percentile))
        )
    else:
        lines.append("         percentile stats:               disabled")
    lines.append(_latency_line("         sum", latency.sum_ns / 1e6))
    return "\n".join(lines)


def _latency_line(label: str, value_ms: float) -> str:
    """A line of the report; all values are right-aligned."""
    return f"{label}:" + f"{value_ms:.2f}".rjust(52 - len(label))


def _fairness(figures: Stretch, threads: int) -> str:
    of_threads = figures.by_thread.values()
    events = Spread.of((one.events for one in of_threads), threads)
    busy_s = Spread.of((one.busy_s for one in of_threads), threads)
    return (
        "Threads fairness:\n"
        f"    events (avg/stddev):           {events.mean:.4f}/{events.deviation:.2f}\n"
        f"    execution time (avg/stddev):   {busy_s.mean:.4f}/{busy_s.deviation:.2f}\n"
    )


def histogram(values_ns: Mapping[int, int]) -> Iterator[str]:
    """The lines of `--histogram`: the middle of each step that has values, a bar, the count."""
    if not values_ns:
        return
    steps: Counter[int] = Counter()
    for value_ns, count in values_ns.items():
        steps[_step_of(value_ns / 1e6)] += count
    most = max(steps.values())
    yield "Latency histogram (values are in milliseconds)"
    yield "       value  ------------- distribution ------------- count"
    for step, count in sorted(steps.items()):
        stars = "*" * math.floor(count / most * _STARS + 0.5)
        yield f"{_LEAST_MS * math.exp(step * _STEP):12.3f} |{stars:<{_STARS}} {count}"
    yield " "


def _step_of(value_ms: float) -> int:
    """The smallest step that is not below the value; the last also has all values above it."""
    if value_ms <= _LEAST_MS:
        return 0
    return min(math.ceil(math.log(value_ms / _LEAST_MS) / _STEP), _STEPS - 1)


def per_thread(figures: Stretch, threads: int) -> Iterator[str]:
    """The lines of `--debug` about each thread."""
    yield "Verbose per-thread statistics:"
    yield ""
    for thread in range(threads):
        found = figures.by_thread.get(thread)
        events = found.events if found else 0
        times = (found.min_s, found.busy_s / events, found.max_s) if found else (0.0, 0.0, 0.0)
        least, mean, greatest = (f"{seconds:.4f}s" for seconds in times)
        yield (
            f"    thread #{thread:3d}: min: {least}  avg: {mean}  max: {greatest}  events: {events}"
        )
        busy_s = found.busy_s if found else 0.0
        yield f"                 total time taken by event execution: {busy_s:.4f}s"
    yield ""
