"""Which family a target's server is of. A new one is entered here, and nowhere else asked for."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.model.target import Endpoint, Target, family_in
from loadstone.mysql import family as mysql
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Connection, Timeouts
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.family import Family, Words

FAMILIES: dict[str, Family] = {"mysql": mysql}
"""By the name that a target has for it."""


def family_of(target: Target) -> Family:
    """How the server of a target is spoken to."""
    return FAMILIES[target.family]


def family_meant(request: EndpointRequest) -> Family:
    """How the server of a request is spoken to; of one that no URL names, as the first."""
    return FAMILIES[family_in(request.url or "")]


def in_words(word: Callable[[Words], str]) -> str:
    """A word of each family, where nobody knows which server is meant."""
    return " or ".join(dict.fromkeys(word(family.words) for family in FAMILIES.values()))


def connect(
    endpoint: Endpoint, timeouts: Timeouts = DEFAULT_TIMEOUTS, *, database: str | None = ""
) -> Connection:
    """Log in to the target; `database` overrides its schema (`None`: log in without one).

    Raises:
        TargetError: what refused, where, and what to do.
    """
    return family_of(endpoint.target).connect(endpoint, timeouts, database=database)
