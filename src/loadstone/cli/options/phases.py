"""`--phases "warm 60s 16, ramp 120s 16..256, spike 30s 1024"`: how the load goes over a step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from loadstone.model import quantity
from loadstone.model.quantity import LONGEST_S

if TYPE_CHECKING:
    from loadstone.model.plan import Phase, Rate

_WRITTEN = re.compile(r"(?P<name>\S+)\s+(?P<time>\S+)\s+(?P<level>\S+)")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_WARM = ("warm", "warmup", "warm-up")
_MOST_PHASES = 1000
_MOST_USERS = 1_000_000
_HIGHEST_RATE = 10_000_000
_DURATION_S = 30.0
_WARMUP_S = 5.0
_EXAMPLE = 'write "ramp 120s 16..256", or "ramp 120s 1k..8k/s"'


class Phases(click.ParamType[tuple["Phase", ...]]):
    """Phases one after the other, between commas: a name, a time, and users or a rate."""

    name = "NAME TIME LEVEL,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Phase, ...]:
        """The phases, in the order given; all of users, or all of rates."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if len(words) > _MOST_PHASES:
            self.fail(f"{len(words)} phases are too many: at most {_MOST_PHASES:,}", param, ctx)
        phases: list[Phase] = []
        for number, word in enumerate(words, start=1):
            try:
                phase = _phase(word, is_warm=all(before.is_warmup for before in phases))
            except ValueError as error:
                self.fail(f"phase {number}, '{word}': {error}", param, ctx)
            if phases and (phase.users is None) != (phases[0].users is None):
                said = "users and events a second in one schedule: take one of the two"
                self.fail(f"phase {number}, '{word}': {said}", param, ctx)
            phases.append(phase)
        if all(phase.is_warmup for phase in phases):
            self.fail("nothing but warm-up: no second of it would be measured", param, ctx)
        if all(max(phase.levels) == 0 for phase in phases):
            self.fail("nobody is ever at work", param, ctx)
        return tuple(phases)


def _phase(word: str, *, is_warm: bool) -> Phase:
    """One of them.

    Raises:
        ValueError: it cannot be; says which part of it, and what to write.
    """
    from loadstone.model.plan import Phase

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
    if seconds is None or not 1 <= seconds <= LONGEST_S or not seconds.is_integer():
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
    most = _HIGHEST_RATE if is_rate else _MOST_USERS
    if max(begin, end) > most:
        raise ValueError(f"'{text}' is too much: at most {most:,}")
    if is_rate:
        return {"rate": (begin, end)}
    if not (begin.is_integer() and end.is_integer()):
        raise ValueError(f"'{text}': users are whole numbers")
    return {"users": (int(begin), int(end))}


def check_phases(asked: dict[str, Any]) -> None:
    """Phases say how long a step is, and how many users or events it has.

    Raises:
        UsageError: somebody else says so as well.
    """
    phases: tuple[Phase, ...] | None = asked["phases"]
    if phases is None:
        return
    for name, option in (("duration", "--duration"), ("warmup", "--warmup"), ("rates", "--rate")):
        if asked[name] is not None:
            raise click.UsageError(f"{option}: the phases say that: leave it out")
    if phases[0].users and asked["concurrency"]:
        raise click.UsageError("--concurrency: the phases say how many users: leave it out")
    if len(asked["concurrency"] or ()) > 1:
        raise click.UsageError("--concurrency: give one number of users, who wait for the phases")


def seconds_of(asked: dict[str, Any]) -> dict[str, Any]:
    """How long a step is: as its phases say, or as the options do."""
    from loadstone.model.plan import WarmupSeconds

    phases: tuple[Phase, ...] | None = asked["phases"]
    if not phases:
        default = WarmupSeconds(warmup_s=_WARMUP_S)
        return {
            "duration_s": asked["duration"] or _DURATION_S,
            "warmup": asked["warmup"] or default,
        }
    warm = sum(phase.seconds for phase in phases if phase.is_warmup)
    return {
        "duration_s": float(sum(phase.seconds for phase in phases) - warm),
        "warmup": WarmupSeconds(warmup_s=float(warm)),
        "phases": phases,
    }


def rates_of(asked: dict[str, Any]) -> tuple[Rate, ...]:
    """Of a step by phases the highest: what is due at a time, the phases say."""
    from loadstone.model.plan import Rate

    phases: tuple[Phase, ...] | None = asked["phases"]
    if phases and phases[0].rate:
        return (Rate(rate=max(max(phase.levels) for phase in phases)),)
    return asked["rates"] or ()
