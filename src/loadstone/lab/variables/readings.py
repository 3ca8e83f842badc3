"""What a server says of itself and of its variables, while some are set and restored."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Set

from loadstone.families import connect, family_of
from loadstone.lab.variables.journal import Change, alike
from loadstone.lab.variables.values import in_type, read
from loadstone.model.message import say
from loadstone.model.target import Endpoint, Target
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError
from loadstone.servers.facts import Value
from loadstone.servers.identity import Identity

# Seconds that a variable may take whose change is not immediate; the longer time where the server
# says that it is still at it.
_SLOW_S = 30.0
_AT_WORK_S = 600.0
_POLL_S = 0.05


def refuse_what_passes_on(connection: Connection, target: Target) -> None:
    """Refuse a proxy, which may send a change to one server and a read to another.

    Raises:
        SettingsError: there is one in between.
    """
    if family_of(target).is_passed_on(connection, target):
        raise SettingsError(
            say(
                "{place} passes statements on to a server, as a proxy does: what is set there "
                "cannot be read back reliably",
                place=target.place,
            ),
            say("name the server itself: --target with its own address"),
        )


def identity_at(endpoint: Endpoint) -> Identity:
    """The identity of the server that answers at a target.

    Raises:
        TargetError: the target cannot be reached.
    """
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        return read_identity(connection, endpoint.target)


def read_identity(connection: Connection, target: Target) -> Identity:
    """The identity of the server at the other end of a connection."""
    return identity_by(family_of(target).variables_of(connection, target), connection, target)


def identity_by(variables: Mapping[str, str], connection: Connection, target: Target) -> Identity:
    """As `read_identity`, where all variables are known by now."""
    family = family_of(target)
    return family.identity_of(variables, family.times_of(connection, target))


def as_shown(text: str, value: Value) -> Value:
    """A value from the list of all; `value`, which was read alone, if it is the same."""
    if value is None and not text:
        return value
    shown = in_type(text, value)
    return value if alike(shown, value) else shown


def waited_for(
    connection: Connection, target: Target, name: str, is_good: Callable[[Value], bool]
) -> Value:
    """A variable's value once it is good, since some (the buffer pool's size) take their time."""
    began, is_being_set = time.monotonic(), family_of(target).is_being_set
    while not is_good(now := read(connection, target, name)):
        waited = time.monotonic() - began
        if waited > _AT_WORK_S or (waited > _SLOW_S and not is_being_set(connection, target, name)):
            break
        time.sleep(_POLL_S)
    return now


def moved(
    connection: Connection,
    target: Target,
    before: Mapping[str, str],
    after: Mapping[str, str],
    known: Set[str],
) -> list[Change]:
    """Variables that have changed, apart from those that are known to be changed."""
    family = family_of(target)
    if family.sets_for_starts:
        return []  # another variable that has changed was changed by another client
    names = [
        name
        for name, was in before.items()
        if name not in known and after.get(name, was) != was and not family.is_restless(name)
    ]
    values = family.read_variables(connection, target, names)
    return [
        Change(name, in_type(before[name], now), as_shown(after[name], now))
        for name, now in values.items()
    ]
