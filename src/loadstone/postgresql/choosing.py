"""Chooses one of several hosts, as libpq does, by logging in to them.

A host that cannot be reached, or is not in the state that is wanted, is passed over. A refused
login ends the choice: the next host would refuse it as well, or worse, accept it by mistake.

Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TARGET-SESSION-ATTRS
"""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Endpoint
from loadstone.postgresql.connect import connect
from loadstone.postgresql.errors import code_of, statement_errors
from loadstone.postgresql.hosts import SessionAttributes, Wish
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Timeouts
from loadstone.servers.errors import TargetError, TargetErrorKind

_PASSED_OVER: tuple[TargetErrorKind, ...] = (
    "unknown_host",
    "unreachable",
    "timed_out",
    "no_socket",
)
_CANNOT_CONNECT_NOW = "57P03"
_STATE = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'"


class State(NamedTuple):
    """What decides whether a server is the one that is wanted."""

    is_standby: bool
    read_only: bool
    """By default, its transactions may not write."""

    def why_not(self, wanted: SessionAttributes, place: str) -> Message | None:
        """Why the server at that place is not what is wanted; `None`: it is."""
        match wanted:
            case "read-write" | "primary" if self.is_standby:
                return say("{place} is a standby", place=place)
            case "read-write" if self.read_only:
                return say("{place} is read-only by default_transaction_read_only", place=place)
            case "read-only" if not (self.is_standby or self.read_only):
                return say("{place} accepts writes", place=place)
            case "standby" | "prefer-standby" if not self.is_standby:
                return say("{place} is no standby", place=place)
        return None


def addresses_of(host: str) -> tuple[str, ...]:
    """The addresses of a name, in the order in which a connection would try them.

    None if there is no such name, which the attempt to connect then reports.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):  # ValueError: a name that cannot be a host's
        return ()
    return tuple(dict.fromkeys(str(place[0]) for *_, place in found))


def chosen(
    endpoints: Sequence[Endpoint],
    wish: Wish,
    addresses_of: Callable[[str], Sequence[str]] = addresses_of,
) -> Endpoint:
    """The endpoint to use; if there are several, with what was decided.

    A single one is only looked at if the wish asks something of it. Behind the addresses of a name
    may be several servers: then each of them is a host, as for libpq.

    Raises:
        TargetError: none is as wanted, or one that was tried refused the login.
    """
    if wish.attributes != "any" or wish.at_random:
        endpoints = [each for one in endpoints for each in _at_addresses(one, addresses_of)]
    if len(endpoints) == 1 and wish.attributes == "any":
        return endpoints[0]
    order = random.sample(endpoints, len(endpoints)) if wish.at_random else endpoints
    passed: list[str] = []
    first_other: Endpoint | None = None
    for endpoint in order:
        try:
            why = _state_of(endpoint, wish).why_not(wish.attributes, endpoint.target.place)
        except TargetError as error:
            if error.kind not in _PASSED_OVER and code_of(error) != _CANNOT_CONNECT_NOW:
                raise
            passed.append(error.message)
            continue
        if why is None:
            return _with_reasons(endpoint, endpoints, wish, passed)
        first_other = first_other or endpoint
        passed.append(why)
    if wish.attributes == "prefer-standby" and first_other is not None:
        return _with_reasons(first_other, endpoints, wish, passed)
    raise _none(endpoints, wish, passed)


def _at_addresses(
    endpoint: Endpoint, addresses_of: Callable[[str], Sequence[str]]
) -> list[Endpoint]:
    """An endpoint for each address of a host that has several.

    Where the certificate must have the host's name the name has to stay, and is one host.
    """
    target = endpoint.target
    if target.socket is not None or target.tls.mode == "verify-identity":
        return [endpoint]
    addresses = addresses_of(target.host)
    if len(addresses) < 2:
        return [endpoint]
    each = [target.model_copy(update={"host": address}) for address in addresses]
    return [endpoint.model_copy(update={"target": one}) for one in each]


def _state_of(endpoint: Endpoint, wish: Wish) -> State:
    timeouts = Timeouts(connect_s=wish.timeout_s or DEFAULT_TIMEOUTS.connect_s)
    with connect(endpoint, timeouts, database=None) as connection:
        if wish.attributes == "any":
            return State(is_standby=False, read_only=False)
        with statement_errors(endpoint.target), connection.cursor() as cursor:
            cursor.execute(_STATE)
            is_standby, read_only = cursor.fetchone()
            return State(bool(is_standby), bool(read_only))


def _with_reasons(
    endpoint: Endpoint, endpoints: Sequence[Endpoint], wish: Wish, passed: Sequence[str]
) -> Endpoint:
    if len(endpoints) == 1:
        return endpoint
    said = say(
        "{place} was chosen of {number} hosts (target_session_attrs={wanted})",
        place=endpoint.target.place,
        number=len(endpoints),
        wanted=wish.attributes,
    )
    if passed:
        said = say("{said}: {reasons}", said=said, reasons=Joined(passed, "clauses"))
    return endpoint.model_copy(update={"chosen": said})


def _none(endpoints: Sequence[Endpoint], wish: Wish, passed: Sequence[str]) -> TargetError:
    said = say(
        "none of these hosts can be used (target_session_attrs={wanted}): {reasons}",
        wanted=wish.attributes,
        reasons=Joined(passed, "clauses"),
    )
    hint = say("start one of the servers, or ask for another state with target_session_attrs")
    return TargetError("unreachable", said, hint)
