"""A lock on the server, so that only one program at a time sets its variables.

The lock's connection is otherwise idle, so its idle time shows since when it has been held.
"""

from __future__ import annotations

import contextlib

from loadstone.families import connect, family_of
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say
from loadstone.model.target import Endpoint
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError
from loadstone.servers.locks import NoLocks

LOCK = "loadstone.settings"


class SettingsInUse(SettingsError):
    """Somebody else has set variables of the server, and will put them back."""

    exit_code = ExitCode.GUARD


class SettingsLock:
    """The lock on a server's variables, held until it is closed."""

    def __init__(self, endpoint: Endpoint, connection: Connection, *, is_kept: bool) -> None:
        self._endpoint = endpoint
        self._connection = connection
        self.is_kept = is_kept
        """Whether the server has such locks; without them, nobody is kept out."""
        self.was_lost = False
        """Whether others could have set variables in the meantime."""

    @classmethod
    def take(cls, endpoint: Endpoint) -> SettingsLock:
        """Take the lock for as long as variables are changed.

        Raises:
            SettingsInUse: somebody else has it; the error says who, if known.
            TargetError: the target cannot be reached.
        """
        target = endpoint.target
        connection = connect(endpoint, database=None)
        try:
            holder = family_of(target).locks.take(connection, target, LOCK)
        except NoLocks:
            return cls(endpoint, connection, is_kept=False)
        except BaseException:
            connection.close()
            raise
        if holder is None:
            return cls(endpoint, connection, is_kept=True)
        connection.close()
        raise SettingsInUse(
            say(
                "another client is setting variables of {place} at the moment: {who}",
                place=target.place,
                who=str(holder),
            ),
            say(
                "wait until it has ended; if it hangs, end it there with {end}, and "
                "put the variables back with loadstone restore",
                end=family_of(target).words.end(holder.connection),
            ),
        )

    def renew(self) -> None:
        """Check that the lock is still held, and take it again if its connection was lost.

        Raises:
            SettingsInUse: somebody else has it by now.
            TargetError: the target cannot be reached.
        """
        target = self._endpoint.target
        locks = family_of(target).locks
        if not self.is_kept or locks.is_ours(self._connection, target, LOCK):
            return
        self.was_lost = True
        again = SettingsLock.take(self._endpoint)
        lost = self._connection
        self._connection, self.is_kept = again._connection, again.is_kept
        self._give_back(lost)

    def close(self) -> None:
        """Release the lock."""
        self._give_back(self._connection)

    def _give_back(self, connection: Connection) -> None:
        family = family_of(self._endpoint.target)
        try:
            family.locks.give_back(connection, LOCK)
        finally:
            with contextlib.suppress(family.Error):
                connection.close()
