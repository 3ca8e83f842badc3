"""What a reader should know before quoting a step's numbers, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from loadstone.model.result import CLIENT_BOUND_SHARE, StepResult
from loadstone.report.numbers import asked, count, digits, duration, number_of, rate, share

_LATE_SHARE = 0.001
_HELD_SHARE = 0.1
_A_FLOOR = "; the rate is a floor, not the server's limit"
WAITING_SHARE = 0.01
_DELAYED_SHARE = 0.1

ERRNO_MEANINGS = {
    "110": "timed out",
    "1020": "record has changed",
    "1040": "too many connections",
    "1045": "login refused",
    "1062": "duplicate key",
    "1146": "no such table",
    "1205": "lock wait timeout",
    "1213": "deadlock",
    "1461": "too many prepared statements",
    "2002": "cannot connect",
    "2003": "cannot connect",
    "2005": "unknown host",
    "2006": "connection lost",
    "2013": "connection lost",
    "2026": "TLS",
    "3024": "statement took too long",
}


def notes_of(steps: Iterable[StepResult]) -> Iterator[str]:
    """All lines, in the order of the steps."""
    steps = list(steps)
    yield from of_the_cores(steps)
    for step in steps:
        yield from (f"{_name(step)}: {line}" for line in step_notes(step))


def of_the_cores(steps: Iterable[StepResult]) -> Iterator[str]:
    """One line for all steps: it is the machine that is short of cores, not a step."""
    delays = [(step.generator.run_delay_share or 0.0, step) for step in steps]
    worst, step = max(delays, key=lambda pair: pair[0], default=(0.0, None))
    if step and worst > _DELAYED_SHARE:
        yield (
            f"others had the generator's cores for up to {share(worst)} of the time "
            f"({_name(step)}): that is part of the latencies"
        )


def step_notes(step: StepResult) -> Iterator[str]:
    """What the client spoiled comes first, then what went wrong, then what is only unusual."""
    yield from step.notes
    yield from _of_the_client(step)
    yield from _of_its_end(step)
    yield from _of_errors(step)
    if step.latency.response.above_range:
        yield (
            f"{count(step.latency.response.above_range)} response times were above the range of "
            f"one hour; the longest took {duration((step.latency.response.max or 0) / 1000)}"
        )
    if step.encrypted_users not in (None, 0, step.concurrency):
        yield f"only {step.encrypted_users} of {step.concurrency} connections are encrypted"
    if step.compressed_users not in (None, 0, step.concurrency):
        yield f"only {step.compressed_users} of {step.concurrency} connections are compressed"


def _of_the_client(step: StepResult) -> Iterator[str]:
    if step.generator.client_bound:
        yield f"client-bound: {_bound_by(step)}"
    held, answered = step.generator.held_p99_us, step.latency.service.p99
    if held and answered and held / 1000 > _HELD_SHARE * answered:
        yield (
            f"answers waited up to {rate(held)} µs (p99) until the generator looked at them, which "
            f"is {share(held / 1000 / answered)} of the p99 shown"
        )
    if step.rate:
        yield from _of_the_queue(step)
    elif step.due and step.late / step.due > _LATE_SHARE:
        yield (
            f"the client was late by more than 1 ms for {share(step.late / step.due)} of events "
            f"(p99 {rate(step.generator.late_p99_us)} µs); latencies from the due time include that"
        )


def _bound_by(step: StepResult) -> str:
    used = step.generator
    if used.cpu_share and used.cpu_share > CLIENT_BOUND_SHARE:
        return f"the generator used {share(used.cpu_share)} of {_cores(step)}{_A_FLOOR}"
    if used.ceiling_share and used.ceiling_share > CLIENT_BOUND_SHARE:
        return (
            f"the generator was at {share(used.ceiling_share)} of what it could do at most on "
            f"{_cores(step)} ({rate(used.ceiling_qps)} statements a second){_A_FLOOR}"
        )
    own, seen = (used.dispatch_p99_us or 0.0) / 1000, step.latency.response.p99
    of_all = f", {share(own / seen)} of the p99 shown" if seen else ""
    return (
        f"the generator itself began events up to {rate(own)} ms late (p99){of_all}; the tail of "
        "the response times is partly its own"
    )


def _cores(step: StepResult) -> str:
    return number_of(step.generator.shards or 1, "core")


def _of_the_queue(step: StepResult) -> Iterator[str]:
    """Open loop: what did not begin at all, or not within the window."""
    if step.waiting > WAITING_SHARE * step.due:
        yield (
            f"{number_of(step.waiting, 'event')} still waited when the window ended: the queue grew"
        )
    if step.skipped:
        yield f"{number_of(step.skipped, 'event')} found the backlog full and were skipped"


def _of_its_end(step: StepResult) -> Iterator[str]:
    if step.state == "failed":
        yield f"failed: {step.error.message if step.error else 'for an unknown reason'}"
    elif step.state == "stopped":
        yield f"stopped on request after {duration(step.seconds)} of the window"
    elif step.state == "interrupted":
        yield f"not finished; the figures are of the {duration(step.seconds)} there are"
    if step.steady is False:
        yield "never settled: its rate stands in no mean; try a longer --duration"
    if step.steady is None and step.window and step.window.method not in ("fixed", "watched"):
        yield f"whether it settled was not evaluated: {step.window.method}"
    for outage in step.outages:
        until = "the step's end" if outage.to_s is None else f"{digits(outage.to_s)} s"
        yield (
            f"outage from {digits(outage.from_s)} s to {until}, "
            f"{number_of(outage.users, 'user')}: {outage.reason}"
        )


def _of_errors(step: StepResult) -> Iterator[str]:
    if step.errors:
        restarts = f"; {number_of(step.restarts, 'event')} begun anew" if step.restarts else ""
        failed = f"; {number_of(step.failed, 'event')} given up" if step.failed else ""
        yield f"errors: {by_errno(step.errors)}{restarts}{failed}"
    if step.errors_outside:
        yield f"errors before and after the window: {by_errno(step.errors_outside)}"
    for number, example in step.error_examples.items():
        if number not in ERRNO_MEANINGS:
            sent = f", at {example.statement}" if example.statement else ""
            yield f"the first error {number}: {example.message}{sent}"
    if step.connect_failures:
        yield f"connection attempts that failed: {by_errno(step.connect_failures)}"


def by_errno(errors: Mapping[str, int]) -> str:
    """`12 × 1213 deadlock, 1 × 1205 lock wait timeout`."""
    return ", ".join(
        f"{count(times)} × {number}" + (f" {meaning}" if meaning else "")
        for number, times in errors.items()
        for meaning in (ERRNO_MEANINGS.get(number),)
    )


def _name(step: StepResult) -> str:
    name = number_of(step.concurrency, "user")
    if step.rate:
        name = f"{name}, {asked(step.rate)}/s"
    return f"{name}, repeat {step.repeat}" if step.repeat > 1 else name
