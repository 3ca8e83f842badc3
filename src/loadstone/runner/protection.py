"""The protector of a run's servers, which stops a load before it does harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadstone.lab.protection.protector import Protector
from loadstone.lab.protection.whereabouts import with_listener
from loadstone.model.protection import Protection
from loadstone.model.target import Endpoint, Target, Tls

Reach = Callable[[Target], Endpoint]
"""Returns a target's endpoint with its password."""


def protector_of(
    asked: Protection,
    endpoints: Sequence[Endpoint],
    reach: Reach,
    *,
    by_user: bool = False,
) -> Protector:
    """The protector of a run on these targets.

    It logs in to replicas as the user of the first target; without targets, through `reach`.
    `by_user`: the load's sessions are recognized by their account, because other machines open them
    too.
    """

    def login(target: Target) -> Endpoint:
        if not endpoints:
            return reach(target)
        first = endpoints[0]
        update: dict[str, object] = {"user": target.user or first.target.user}
        if target.tls == Tls():
            update["tls"] = first.target.tls
        there = first.model_copy(update={"target": target.model_copy(update=update)})
        return with_listener(there)

    return Protector(asked, login, by_user=by_user)
