"""Draws a fault: its family, its server, and one of what the family has."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benches.processes import ProgramFailed
from faults import injections
from faults.case import Draw, Fault, maker_of
from faults.drawn.base import draw_base
from faults.drawn.clients import draw_client
from faults.drawn.drawn import Drawn, Family
from faults.drawn.handling import HANDLING
from faults.drawn.locks import draw_lock
from faults.drawn.setting import Setting, badly_set, started_with, try_setting
from faults.drawn.starved import truth_of_variable
from faults.drawn.throttles import draw_throttle
from faults.ground import Ground, ReadyServer
from loadstone.sandbox import SandboxError

_TRIES = 60
"""Values drawn for one fault: a server refuses some, and some are what it has."""

_OF_NO_SERVER: Mapping[Family, Callable[[Draw, int, str], Drawn]] = {
    "throttle": draw_throttle,
    "lock": draw_lock,
    "client": draw_client,
}
"""Families that need not ask the server."""


def draw_fault(
    ground: Ground, seed: int, number: int, families: Sequence[Family], releases: Sequence[str]
) -> Drawn:
    """The one of that number: the same again with the same seed, families and servers.

    Raises:
        SandboxError, ProgramFailed: the server whose variables are to be drawn does not start, or
            accepts none of the values.
    """
    chance = random.Random(f"{seed} drawn {number}")
    family, release = chance.choice(families), chance.choice(releases)
    draw = Draw(chance, maker_of(release))
    if family in _OF_NO_SERVER:
        return _OF_NO_SERVER[family](draw, number, release)
    base = draw_base(draw)
    fault = Fault((), base.words, base.load, injections.nothing, base.settings)
    setting = _draw_setting(ground, draw, release, fault)
    inject = started_with(setting) if setting.at_start else badly_set(setting)
    return Drawn(
        number=number,
        family=family,
        kind=setting.name,
        release=release,
        fault=replace(fault, size=f"{setting.words}; {fault.size}", inject=inject),
        truth=truth_of_variable(setting.name, draw.server),
        start={setting.name: setting.value} if setting.at_start else {},
        own_server=setting.at_start,
    )


def _draw_setting(ground: Ground, draw: Draw, release: str, fault: Fault) -> Setting:
    """A bad value that a server of that release accepts."""
    with ground.standing(release, fault) as standing:
        found = list(_accepted(standing, draw))
    for setting in found:
        if not setting.at_start or _starts(ground, release, fault, setting):
            return setting
    raise ProgramFailed(f"{release} accepts none of {_TRIES} values that were drawn")


def _accepted(standing: ReadyServer, draw: Draw) -> list[Setting]:
    """Values that were drawn, up to the first that needs no new start of the server."""
    found: list[Setting] = []
    how = HANDLING[standing.server]
    with standing.sandbox.connect() as connection, connection.cursor() as cursor:
        variables = how.listed(cursor)
        for _ in range(_TRIES):
            variable = draw.chance.choice(variables)
            value = how.drawn(draw, variable)
            setting = value and try_setting(how, cursor, variable, value)
            if setting:
                found.append(setting)
                if not setting.at_start:
                    break
    return found


def _starts(ground: Ground, release: str, fault: Fault, setting: Setting) -> bool:
    """Whether the server starts with it, and then has another value than before."""
    settings = {**fault.settings, setting.name: setting.value}
    try:
        with (
            ground.standing(release, replace(fault, settings=settings)) as standing,
            standing.sandbox.connect() as connection,
            connection.cursor() as cursor,
        ):
            return HANDLING[standing.server].values(cursor)[setting.name] != setting.was
    except SandboxError:
        return False
