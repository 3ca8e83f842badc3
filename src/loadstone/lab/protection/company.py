"""Coordinates loads and experiments on servers where others may be at work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Generic, TypeVar

from loadstone.families import connect
from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.observe import presence
from loadstone.observe.presence import Present
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError

Said = TypeVar("Said")
Enter = Callable[[Connection, Target, str], AbstractContextManager[Said]]


class Kept(Generic[Said]):
    """A schema's lock, or a run's place in it, held on its own connection until closed."""

    def __init__(self, endpoint: Endpoint, enter: Enter[Said]) -> None:
        """Take the lock or the place.

        Raises:
            GuardError: another is at work there.
            TargetError: the target could not be reached, or refused.
        """
        self._endpoint = endpoint
        self._enter = enter
        self._stack, self._connection, self.said = self._taken()
        with ExitStack() as failing:
            failing.callback(self._stack.close)
            self._is_held = presence.is_held(self._connection, endpoint.target, self._schema)
            failing.pop_all()
        """False where the server has no such locks, or an experiment has the schema anyway."""

    @property
    def _schema(self) -> str:
        return self._endpoint.target.database or ""

    def _taken(self) -> tuple[ExitStack, Connection, Said]:
        with ExitStack() as stack:
            connection = stack.enter_context(connect(self._endpoint, database=None))
            said = stack.enter_context(self._enter(connection, self._endpoint.target, self._schema))
            return stack.pop_all(), connection, said
        raise AssertionError("a stack of contexts hides no error")

    def renew(self) -> Message | None:
        """Check that it is still held, and take it again if its connection was lost.

        Returns a note about that, if there is one.

        Raises:
            GuardError: others are at work there by now.
            TargetError: the target could not be reached, or refused.
        """
        target = self._endpoint.target
        if not self._is_held or presence.is_held(self._connection, target, self._schema):
            return None
        lost = self._stack
        self._stack, self._connection, self.said = self._taken()
        # Not earlier: until then a lock that the server has not dropped yet is recognised as our
        # own.
        lost.close()
        return say(
            "the lock on schema {schema} of {place} was lost with its connection, and taken again: "
            "for a while other programs could not see this run",
            schema=self._schema,
            place=target.place,
        )

    def close(self) -> None:
        """Release it for others."""
        self._stack.close()


class Alone(Kept[None]):
    """Keeps other programs out of a schema while its tables are dropped, made and measured."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Take the schema's lock.

        Raises:
            GuardError, TargetError: as `Kept`.
        """
        super().__init__(endpoint, presence.alone)


class Company:
    """Announces a run on these targets to others; its notes name the other runs there."""

    def __init__(self, places: list[Kept[tuple[Present, ...]]], schemas: list[Target]) -> None:
        self._places = places
        self.notes = [
            say(
                "{place}, schema {schema}: also in use by {who}",
                place=target.place,
                schema=target.database or "",
                who=one.message,
            )
            for target, kept in zip(schemas, places, strict=True)
            for one in kept.said
        ]

    def renew(self) -> list[Message]:
        """Check that the run is still announced; returns a note for each place that had been lost.

        A target that cannot be reached now is ignored: the load deals with it.

        Raises:
            GuardError: tables are being made or dropped there.
        """
        notes: list[Message] = []
        for kept in self._places:
            with contextlib.suppress(TargetError):
                notes += [note] if (note := kept.renew()) else []
        return notes


@contextlib.contextmanager
def beside_others(endpoints: Iterable[Endpoint]) -> Iterator[Company]:
    """Announce a run on these targets for as long as the context lasts.

    Raises:
        GuardError: tables are being made or dropped there.
        TargetError: a target could not be reached.
    """
    with ExitStack() as stack:
        schemas = {(one.target.place, one.target.database): one for one in endpoints}
        places = []
        for endpoint in schemas.values():
            kept = Kept(endpoint, presence.beside)
            stack.callback(kept.close)
            places.append(kept)
        yield Company(places, [endpoint.target for endpoint in schemas.values()])
