"""What became of the gates: a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.gates import Check
from loadstone.analyse.metrics import Metric
from loadstone.model.numbers import digits, number_of, pct, signed


def value_of(metric: Metric, value: float) -> str:
    """A figure with its unit."""
    match metric.kind:
        case "time":
            return f"{digits(value)} ms"
        case "share":
            return pct(value)
        case "rate":
            return f"{digits(value)}/s"
        case "bytes":
            return f"{digits(value)} bytes"
        case "count":
            return digits(value)


def sentence(check: Check) -> str:
    """`p99<20ms broken: 31.2 ms at oltp_read_write, 64 users`."""
    said = f"{check.gate} {check.state}"
    if check.value is not None:
        said += f": {_value(check, check.value)}"
    said += f" at {check.where}" if check.value is not None else f": {check.where}"
    return f"{said} ({check.why})" if check.why else said


def _value(check: Check, value: float) -> str:
    name = check.metric.name
    if not check.is_change:
        return f"{name} {value_of(check.metric, value)}"
    if check.interval is None:
        return f"{name} {signed(value)}"
    sure = f"{100 * check.interval.confidence:.3g} %"
    low, high = signed(check.interval.low), signed(check.interval.high)
    return f"{name} {signed(value)} ({sure}: {low} to {high})"


def lines(checks: Sequence[Check]) -> Iterator[str]:
    """What held in one line a gate, all else a line each; failures are for stderr, not here."""
    for gate in dict.fromkeys(check.gate for check in checks):
        mine = [check for check in checks if check.gate == gate]
        held = [check for check in mine if check.state == "held"]
        if held:
            yield f"gate  {gate} held at {_of(len(held), len(mine))}"
        yield from (f"gate  {sentence(each)}" for each in mine if each.state == "not decided")


def _of(some: int, every: int) -> str:
    whole = number_of(every, "level")
    return whole if some == every else f"{some} of {whole}"
