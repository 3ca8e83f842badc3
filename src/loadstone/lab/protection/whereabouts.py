"""Whose a server is, and where it runs: a sandbox is ours; a tunnel on loopback leads anywhere."""

from __future__ import annotations

from loadstone.families import family_of
from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.observe.locate import find_server_process, forwarder
from loadstone.sandbox import sandbox_at
from loadstone.servers.connection import Connection
from loadstone.servers.guard import Consent


def is_throwaway(endpoint: Endpoint) -> bool:
    """Whether it is a sandbox, which holds nobody's data and serves nobody else."""
    ours = endpoint.credentials.source.startswith("sandbox ")
    return ours or sandbox_at(endpoint.target) is not None


def with_listener(endpoint: Endpoint) -> Endpoint:
    """Add whether a server of this machine listens at the endpoint, where that matters.

    Over a socket it does not, as nobody stands in between; for other hosts it cannot be known.
    """
    target = endpoint.target
    if target.socket is not None or not target.is_local:
        return endpoint
    is_here = find_server_process(target, {}, None) is not None
    return endpoint.model_copy(update={"server_is_here": is_here})


def accepted_by(target: Target) -> str:
    """The program of this machine that accepts a target's connections if it is no server.

    Empty: a server accepts them, or it cannot be seen who does.
    """
    if target.socket is not None or not target.is_local:
        return ""
    return "" if find_server_process(target, {}, None) is not None else forwarder(target)


def located(connection: Connection, target: Target, consent: Consent) -> Consent:
    """Add where the server is, if that matters for the consent.

    Raises:
        TargetError: the server does not describe itself.
    """
    if consent.is_given:
        return consent
    return consent.model_copy(update={"elsewhere": elsewhere(connection, target)})


def elsewhere(connection: Connection, target: Target) -> Message | None:
    """Why a server counts as another machine's, for a person; `None`: it runs on this one.

    Raises:
        TargetError: the server does not describe itself.
    """
    if not target.is_local:
        return say("which is not this machine")
    facts = family_of(target).describe_server(connection, target)
    if find_server_process(target, facts.variables, facts.started_s) is not None:
        return None
    program = forwarder(target)
    if not program:
        return say("where no server of this machine listens: it may be the end of a tunnel")
    return say("where {program} listens, which may lead to another machine", program=program)
