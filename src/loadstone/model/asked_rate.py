"""The requested rate of an open loop as a text, which is translated where the load is a ramp."""

from __future__ import annotations

from loadstone.model.message import Message, plain, say
from loadstone.model.numbers import digits, duration
from loadstone.model.plan import Rate


def asked(wanted: Rate) -> Message:
    """A requested rate in events a second: `1,000`, `1,000..8,000 in 60 s`."""
    if wanted.to is None:
        return plain(digits(wanted.rate))
    return say("{begin}..{end} in {time}", **_ramp(wanted, wanted.to))


def asked_per_second(wanted: Rate) -> Message:
    """A requested rate with its unit: `1,000/s`, `1,000..8,000/s in 60 s`."""
    if wanted.to is None:
        return say("{rate}/s", rate=digits(wanted.rate))
    return say("{begin}..{end}/s in {time}", **_ramp(wanted, wanted.to))


def _ramp(wanted: Rate, end: float) -> dict[str, str]:
    return {
        "begin": digits(wanted.rate),
        "end": digits(end),
        "time": duration(wanted.over_s or 0.0),
    }
