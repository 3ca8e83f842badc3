"""Parses phases as people write them: `warm 60s 16, ramp 120s 16..256, spike 30s 1024`."""

from __future__ import annotations

import re
from typing import Any

from loadstone.model import quantity
from loadstone.model.figure import Count
from loadstone.model.message import Message, say
from loadstone.model.plan import Phase, Rate, Warmup, WarmupSeconds
from loadstone.model.refusals import message_of

_WRITTEN = re.compile(r"(?P<name>\S+)\s+(?P<time>\S+)\s+(?P<level>\S+)")
NAME = r"[A-Za-z0-9_.-]+"
_WARM = ("warm", "warmup", "warm-up")
_MOST_PHASES = 1000
_MOST_USERS = 1_000_000
HIGHEST_RATE = 10_000_000
_DURATION_S = 30.0
_WARMUP_S = 5.0
_EXAMPLE = say('write "ramp 120s 16..256", or "ramp 120s 1k..8k/s"')


def phases(text: str) -> tuple[Phase, ...]:
    """Parse comma-separated phases: each has a name, a time, and users or a rate.

    Raises:
        ValueError: a phase is invalid; says which, why, and what to write.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) > _MOST_PHASES:
        raise ValueError(
            say(
                "{number} phases are too many: at most {most}",
                number=Count(len(words)),
                most=Count(_MOST_PHASES),
            )
        )
    found: list[Phase] = []
    for number, word in enumerate(words, start=1):
        try:
            phase = _phase(word, is_warm=all(before.is_warmup for before in found))
        except ValueError as error:
            raise ValueError(_in_phase(number, word, message_of(error))) from error
        if found and (phase.users is None) != (found[0].users is None):
            said = say("users and events a second in one schedule: use one of the two")
            raise ValueError(_in_phase(number, word, said))
        found.append(phase)
    if all(phase.is_warmup for phase in found):
        raise ValueError(say("nothing but warm-up: no second of it would be measured"))
    if all(max(phase.levels) == 0 for phase in found):
        raise ValueError(say("no phase has any users or events"))
    return tuple(found)


def _in_phase(number: int, word: str, wrong: Message) -> Message:
    return say("phase {number}, '{phase}': {wrong}", number=number, phase=word, wrong=wrong)


def _phase(word: str, *, is_warm: bool) -> Phase:
    """Parse one phase.

    Raises:
        ValueError: it is invalid; says which part of it, and what to write.
    """
    found = _WRITTEN.fullmatch(word)
    if not found:
        raise ValueError(say("a phase is a name, a time and a level: {write}", write=_EXAMPLE))
    name = found["name"]
    if not re.fullmatch(NAME, name):
        raise ValueError(
            say("'{name}': a name has letters, digits, dots, dashes and underscores", name=name)
        )
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
            say(
                "'{text}' is not a time of whole seconds, 1s or more: write 30s, 2m or 1h",
                text=text,
            )
        )
    return int(seconds)


def _level(text: str) -> dict[str, Any]:
    """Parse users, `16` or `16..256`, or a rate, `1000/s` or `1k..8k/s`."""
    is_rate = text.endswith("/s")
    parts = text.removesuffix("/s").split("..")
    levels = [quantity.scaled(part.removesuffix("/s"), quantity.COUNTS) for part in parts]
    if len(levels) > 2 or None in levels:
        raise ValueError(
            say("'{text}' is neither users nor a rate: {write}", text=text, write=_EXAMPLE)
        )
    first, last = levels[0] or 0.0, levels[-1] or 0.0
    most = HIGHEST_RATE if is_rate else _MOST_USERS
    if max(first, last) > most:
        raise ValueError(say("'{text}' is too much: at most {most}", text=text, most=Count(most)))
    if is_rate:
        return {"rate": (first, last)}
    if not (first.is_integer() and last.is_integer()):
        raise ValueError(say("'{text}': users are whole numbers", text=text))
    return {"users": (int(first), int(last))}


def seconds_of(
    phases: tuple[Phase, ...] | None, duration_s: float | None, warmup: Warmup | None
) -> dict[str, Any]:
    """The duration of a step: from its phases, or else from the options."""
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
    """The rates; with phases the highest one, since the phases say when each is due."""
    if phases and phases[0].rate:
        return (Rate(rate=max(max(phase.levels) for phase in phases)),)
    return rates or ()


def users_of(phases: tuple[Phase, ...]) -> tuple[int, ...] | None:
    """The largest number of users that are ever active; `None` in an open loop."""
    if not phases or not phases[0].users:
        return None
    return (int(max(max(phase.levels) for phase in phases)),)
