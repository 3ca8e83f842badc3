"""What an account may do on a server, and who else is at work there, before anything is done."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.families import connect, family_of
from loadstone.lab.protection.first_contact import seen
from loadstone.model.message import Message, plain
from loadstone.model.target import Endpoint, Target
from loadstone.observe import presence
from loadstone.observe.clients import Clients
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.rights import Rights


@dataclass(frozen=True)
class Standing:
    """The rights of an account, and the server's other clients; a message says why not."""

    rights: Rights | Message
    clients: Clients | Message
    programs: tuple[Message, ...] = ()
    """Other load generators at work on the target's schema."""


def standing_at(endpoint: Endpoint) -> Standing:
    """Ask a server what this account may do, and who else has sessions. Changes nothing.

    Raises:
        TargetError: the server cannot be reached, or the connection was lost.
    """
    target = endpoint.target
    with connect(endpoint, database=None) as connection:
        clients, programs = _others(connection, target)
        return Standing(_rights(connection, target), clients, programs)


def _others(
    connection: Connection, target: Target
) -> tuple[Clients | Message, tuple[Message, ...]]:
    try:
        loads = presence.at_work(connection, target, target.database or "")
        return seen(connection, target), tuple(one.message for one in loads)
    except (LookupError, ValueError) as error:
        return plain(str(error)), ()
    except TargetError as error:
        return _refused(error), ()


def _rights(connection: Connection, target: Target) -> Rights | Message:
    try:
        return family_of(target).rights_of(connection, target)
    except TargetError as error:
        return _refused(error)


def _refused(error: TargetError) -> Message:
    """Why a server does not tell; any other trouble with it is raised again."""
    if error.kind not in ("statement_failed", "protocol"):
        raise error
    return plain(error.message)
