"""Phases as people write them: `warm 60s 16, ramp 120s 16..256, spike 30s 1024`."""

from __future__ import annotations

import re
from typing import Any

from loadstone.model import quantity
from loadstone.model.plan import Phase, Rate, Warmup, WarmupSeconds

_WRITTEN = re.compile(r"(?P<name>\S+)\s+(?P<time>\S+)\s+(?P<level>\S+)")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_WARM = ("warm", "warmup", "warm-up")
_MOST_PHASES = 1000
_MOST_USERS = 1_000_000
HIGHEST_RATE = 10_000_000
_DURATION_S = 30.0
_WARMUP_S = 5.0
_EXAMPLE = 'write "ramp 120s 16..256", or "ramp 120s 1k..8k/s"'


def phases(text: str) -> tuple[Phase, ...]:
    """Phases one after the other, between commas: a name, a time, and users or a rate.

    Raises:
        ValueError: one of them cannot be; says which, why, and what to write.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) > _MOST_PHASES:
        raise ValueError(f"{len(words)} phases are too many: at most {_MOST_PHASES:,}")
    found: list[Phase] = []
    for number, word in enumerate(words, start=1):
        try:
            phase = _phase(word, is_warm=all(before.is_warmup for before in found))
        except ValueError as error:
            raise ValueError(f"phase {number}, '{word}': {error}") from error
        if found and (phase.users is None) != (found[0].users is None):
            said = "users and events a second in one schedule: take one of the two"
            raise ValueError(f"phase {number}, '{word}': {said}")
        found.append(phase)
    if all(phase.is_warmup for phase in found):
        raise ValueError("nothing but warm-up: no second of it would be measured")
    if all(max(phase.levels) == 0 for phase in found):
        raise ValueError("nobody is ever at work")
    return tuple(found)


def _phase(word: str, *, is_warm: bool) -> Phase:
    """One of them.

    Raises:
        ValueError: it cannot be; says which part of it, and what to write.
    """
    found = _WRITTEN.fullmatch(word)
    if not found:
        raise ValueError(f"a name, a time and a level are wanted: {_EXAMPLE}")
    name = found["name"]
    if not _NAME.fullmatch(name):
        raise ValueError(f"'{name}': a name has letters, digits, dots, dashes and underscores")
    level = _level(found["level"])
    return Phase(
        name=name,
        seconds=_seconds(found["time"]),
        is_warmup=is_warm and name.lower() in _WARM,
        **level,
    )


def _seconds(text: str) -> int:
    seconds = quantity.scaled(text, quantity.SECONDS)
    if seconds is None or not 1 <= seconds <= quantity.LONGEST_S or not seconds.is_integer():
        raise ValueError(
            f"'{text}' is not a time of whole seconds, 1s or more: write 30s, 2m or 1h"
        )
    return int(seconds)


def _level(text: str) -> dict[str, Any]:
    """Users as `16` or `16..256`; a rate as `1000/s`, `1k..8k/s`."""
    is_rate = text.endswith("/s")
    parts = text.removesuffix("/s").split("..")
    levels = [quantity.scaled(part.removesuffix("/s"), quantity.COUNTS) for part in parts]
    if len(levels) > 2 or None in levels:
        raise ValueError(f"'{text}' is neither users nor a rate: {_EXAMPLE}")
    begin, end = levels[0] or 0.0, levels[-1] or 0.0
    most = HIGHEST_RATE if is_rate else _MOST_USERS
    if max(begin, end) > most:
        raise ValueError(f"'{text}' is too much: at most {most:,}")
    if is_rate:
        return {"rate": (begin, end)}
    if not (begin.is_integer() and end.is_integer()):
        raise ValueError(f"'{text}': users are whole numbers")
    return {"users": (int(begin), int(end))}


def seconds_of(
    phases: tuple[Phase, ...] | None, duration_s: float | None, warmup: Warmup | None
) -> dict[str, Any]:
    """How long a step is: as its phases say, or as the options do."""
    if not phases:
        default = WarmupSeconds(warmup_s=_WARMUP_S)
        return {"duration_s": duration_s or _DURATION_S, "warmup": warmup or default}
    warm = sum(phase.seconds for phase in phases if phase.is_warmup)
    return {
        "duration_s": float(sum(phase.seconds for phase in phases) - warm),
        "warmup": WarmupSeconds(warmup_s=float(warm)),
        "phases": phases,
    }


def rates_of(phases: tuple[Phase, ...] | None, rates: tuple[Rate, ...] | None) -> tuple[Rate, ...]:
    """Of a step by phases the highest: what is due at a time, the phases say."""
    if phases and phases[0].rate:
        return (Rate(rate=max(max(phase.levels) for phase in phases)),)
    return rates or ()


def users_of(phases: tuple[Phase, ...]) -> tuple[int, ...] | None:
    """The most users that are ever at work; `None` in an open loop."""
    if not phases or not phases[0].users:
        return None
    return (int(max(max(phase.levels) for phase in phases)),)
