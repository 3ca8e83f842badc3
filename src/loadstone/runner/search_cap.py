"""The maximum number of users in a search for the peak."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.lab.tables.inspect import InspectedTarget
from loadstone.model.search import SearchPlan

_CONNECTIONS_LEFT_FREE = 5
"""Connections left for others who need the server while a climb takes all the rest."""


def capped(wanted: SearchPlan | None, looked: Sequence[InspectedTarget]) -> SearchPlan | None:
    """The search, its climb limited to the connections that the servers accept."""
    if wanted is None or not wanted.peak:
        return wanted
    room = [
        one.facts.max_connections - (one.facts.connected or 1) - _CONNECTIONS_LEFT_FREE
        for one in looked
        if one.facts.max_connections is not None
    ]
    most = min([wanted.most_users, *(max(each, 1) * len(looked) for each in room)])
    return wanted.model_copy(update={"most_users": most})
