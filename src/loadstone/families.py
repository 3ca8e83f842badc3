"""The server families. A new one is registered here, the only place that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.model.message import Message
from loadstone.model.plan import StatementProtocol
from loadstone.model.target import Endpoint, Target
from loadstone.model.target_url import family_in
from loadstone.mysql import family as mysql
from loadstone.postgresql import family as postgresql
from loadstone.servers.abilities import Ability, ForeignOption, NotSupported
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Connection, Timeouts
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.family import Family, Words

FAMILIES: dict[str, Family] = {MYSQL: mysql, POSTGRESQL: postgresql}
"""Families by the name in a target."""


def family_of(target: Target) -> Family:
    """The family of a target's server."""
    return FAMILIES[target.family]


def some_target(protocol: StatementProtocol) -> Target:
    """A placeholder for targets that are not known yet, of a family that takes the protocol."""
    if protocol not in ("extended", "pipelined"):
        return Target()
    takes = (name for name, family in FAMILIES.items() if protocol in family.abilities)
    return Target.model_validate({"family": next(takes)})


def require(target: Target, ability: Ability) -> None:
    """Check that Loadstone can do that with a target's server.

    Raises:
        NotSupported: it cannot.
    """
    require_of(target.family, target.place, ability)


def require_of(family: str, place: str | Message, ability: Ability) -> None:
    """The same for a server of this family that is not reached yet; messages call it `place`.

    Raises:
        NotSupported: Loadstone cannot.
    """
    known = FAMILIES[family]
    if ability not in known.abilities:
        raise NotSupported(place, known.words.server, ability)


def refuse_foreign(family: str, options: Iterable[str]) -> None:
    """Refuse options that were given and mean nothing for servers of this family.

    Raises:
        ForeignOption: names the first of them.
    """
    known = FAMILIES[family]
    for option in options:
        if option in known.foreign_options:
            raise ForeignOption(known.words.server, option)


def family_meant(request: EndpointRequest) -> Family:
    """The family of a request's server; the first one if no URL names it."""
    return FAMILIES[family_in(request.url or "")]


def in_words(word: Callable[[Words], str]) -> str:
    """The word in each family whose servers experiments change, joined by `or`."""
    changed = (each for each in FAMILIES.values() if "experiments" in each.abilities)
    return " or ".join(dict.fromkeys(word(family.words) for family in changed))


def connect(
    endpoint: Endpoint, timeouts: Timeouts = DEFAULT_TIMEOUTS, *, database: str | None = ""
) -> Connection:
    """Log in to the target; `database` overrides its schema (`None`: log in without one).

    Raises:
        TargetError: the connection was refused; the error says where, and what to do.
    """
    return family_of(endpoint.target).connect(endpoint, timeouts, database=database)
