"""The server families. A new one is registered here, the only place that lists them."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.model.target import Endpoint, Target, family_in
from loadstone.mysql import family as mysql
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Connection, Timeouts
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.family import Family, Words

FAMILIES: dict[str, Family] = {"mysql": mysql}
"""Families by the name in a target."""


def family_of(target: Target) -> Family:
    """The family of a target's server."""
    return FAMILIES[target.family]


def family_meant(request: EndpointRequest) -> Family:
    """The family of a request's server; the first one if no URL names it."""
    return FAMILIES[family_in(request.url or "")]


def in_words(word: Callable[[Words], str]) -> str:
    """The word in each family, joined by `or`, for when the family is unknown."""
    return " or ".join(dict.fromkeys(word(family.words) for family in FAMILIES.values()))


def connect(
    endpoint: Endpoint, timeouts: Timeouts = DEFAULT_TIMEOUTS, *, database: str | None = ""
) -> Connection:
    """Log in to the target; `database` overrides its schema (`None`: log in without one).

    Raises:
        TargetError: the connection was refused; the error says where, and what to do.
    """
    return family_of(endpoint.target).connect(endpoint, timeouts, database=database)
