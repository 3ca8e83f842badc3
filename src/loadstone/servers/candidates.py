"""The endpoints that a request may mean, when it names several hosts: one of them is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadstone.model.target import Endpoint

Choose = Callable[[Sequence[Endpoint]], Endpoint]
"""Logs in to the endpoints where that decides which one is meant; raises `TargetError`."""


def the_only_one(endpoints: Sequence[Endpoint]) -> Endpoint:
    """The endpoint of a request that names one host, which is not looked at."""
    (only,) = endpoints
    return only


@dataclass(frozen=True)
class Candidates:
    """What a request names, in its order; choosing comes after all is known about each of them."""

    endpoints: tuple[Endpoint, ...]
    choose: Choose = the_only_one
