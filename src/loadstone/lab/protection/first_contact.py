"""Finds out who else uses a server before any load; if it serves others, somebody must agree."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.families import connect, family_of
from loadstone.lab.protection.whereabouts import is_throwaway
from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.observe import presence
from loadstone.observe.clients import Clients
from loadstone.observe.samplers import samplers_of
from loadstone.runs import agreed
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError
from loadstone.servers.processes import host_of


def look_before_load(
    endpoints: Iterable[Endpoint], *, yes: bool, remembers: bool = True
) -> list[Message]:
    """Return a note for each server that serves others; consent to a server is asked for once.

    `remembers`: the consent of `yes` is stored.

    Raises:
        GuardError: a server has other users, and nobody has agreed to that so far.
        TargetError: a server cannot be reached.
        StoreError: the consent cannot be stored.
    """
    notes: list[Message] = []
    for endpoint in {(one.target.place, one.target.database): one for one in endpoints}.values():
        if not is_throwaway(endpoint):
            notes += _look_at(endpoint, yes=yes, remembers=remembers)
    return list(dict.fromkeys(notes))


def _look_at(endpoint: Endpoint, *, yes: bool, remembers: bool) -> list[Message]:
    target = endpoint.target
    with connect(endpoint, database=None) as connection:
        try:
            clients = seen(connection, target)
        except (LookupError, ValueError) as error:
            return [
                say(
                    "who else uses {place} is not known: {why}",
                    place=target.place,
                    why=str(error),
                )
            ]
        if not clients:
            return []
        server = _known_as(connection, target)
    said = clients.at(target.place)
    if not (yes or agreed.has_agreed(server)):
        raise GuardError(
            "serves_others",
            say("{who}: a load may slow them down", who=said),
            say("if you mean it: --yes (once; it is remembered for this server)"),
        )
    if yes and remembers:
        agreed.note(server, target.place)
    return [said]


def seen(connection: Connection, target: Target) -> Clients:
    """Who uses a server, apart from this user on this host and from other load generators.

    Raises:
        LookupError, ValueError: the server does not say.
        TargetError: it refused, or the connection was lost.
    """
    loads = presence.at_work(connection, target, target.database or "")
    held = [one.holder for one in loads]
    known = [(one.user, host_of(one.host or "")) for one in held if one.user]
    return samplers_of(target).other_clients(connection, target, known)


def _known_as(connection: Connection, target: Target) -> str:
    """A text that identifies the server, also after a restart."""
    family = family_of(target)
    known = family.identity_of(family.describe_server(connection, target).variables)
    if known.server_uuid:
        return known.server_uuid
    # Servers of two clusters may have all of these in common, but not the address as well.
    return f"{known.hostname}\n{known.datadir}\n{known.server_id}\n{target.place}"
