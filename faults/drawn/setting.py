"""One variable of a running server: tried, set for a run, and put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from benches.processes import ProgramFailed
from faults.case import Effect, Inject, Proof
from faults.dialects import DRIVER_ERRORS, code
from faults.drawn.handling import HANDLING, Handling
from faults.drawn.variables import Variable
from faults.scene import Scene
from loadstone.servers.connection import Cursor

_ONLY_AT_START = (1238,)
"""ER_INCORRECT_GLOBAL_LOCAL_VAR: a read-only variable."""

_PASSES = 2
"""Of two variables that bound each other the second may have to be put back first."""


@dataclass(frozen=True)
class Setting:
    """A value that the server accepts."""

    name: str
    was: str
    value: str
    at_start: bool

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.name}={_short(self.value)} in place of {_short(self.was)}"


def _short(value: str) -> str:
    return value if len(value) <= 40 else f"{value[:40]}..."


def try_setting(how: Handling, cursor: Cursor, variable: Variable, value: str) -> Setting | None:
    """Whether the server accepts it while it runs; all variables are as before afterwards.

    `None`: it does not, or it stays what it was. A variable that cannot be set, or not be put back,
    while the server runs is one for its start; whether it accepts the value there is not known yet.
    """
    before = how.values(cursor)
    was = before[variable.name]
    if variable.at_start:
        return Setting(variable.name, was, value, at_start=True)
    try:
        how.set(cursor, variable.name, value)
    except DRIVER_ERRORS as error:
        only_at_start = code(error) in _ONLY_AT_START
        return Setting(variable.name, was, value, at_start=True) if only_at_start else None
    taken = how.values(cursor)[variable.name]
    left = _put_back(how, cursor, before)
    return None if taken == was else Setting(variable.name, was, value, at_start=bool(left))


def badly_set(setting: Setting) -> Inject:
    """In force for all sessions that begin within the block; put back at its end."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        how = HANDLING[scene.server]
        with scene.connect() as connection, connection.cursor() as cursor:
            before = how.values(cursor)
            try:
                how.set(cursor, setting.name, setting.value)
                yield _proof(setting, how.values(cursor))
            finally:
                left = _put_back(how, cursor, before)
                if left:
                    names = ", ".join(f"{name} is {now}" for name, now in left.items())
                    raise ProgramFailed(f"{names} and cannot be put back")

    return inject


def started_with(setting: Setting) -> Inject:
    """The proof alone: it is a setting of the server's start."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        with scene.connect() as connection, connection.cursor() as cursor:
            values = HANDLING[scene.server].values(cursor)
        yield _proof(setting, values)

    return inject


def _proof(setting: Setting, values: Mapping[str, str]) -> Proof:
    taken = values[setting.name]
    return lambda: Effect(f"{setting.name}={_short(taken)}", taken != setting.was)


def _put_back(how: Handling, cursor: Cursor, before: Mapping[str, str]) -> dict[str, str]:
    """Also those that changed with it; returns what cannot be put back."""
    left: dict[str, str] = {}
    for _ in range(_PASSES):
        now = how.values(cursor)
        left = {name: now[name] for name, value in before.items() if now[name] != value}
        how.put_back(cursor, {name: before[name] for name in left})
    now = how.values(cursor)
    return {name: now[name] for name in left if now[name] != before[name]}
