"""How many users a search for the peak may come to."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.lab.tables.inspect import InspectedTarget
from loadstone.model.search import SearchPlan

_CONNECTIONS_LEFT_FREE = 5
"""For whoever else needs the server while a climb takes all it may."""


def capped(wanted: SearchPlan | None, looked: Sequence[InspectedTarget]) -> SearchPlan | None:
    """A climb ends where a server takes no more connections."""
    if wanted is None or not wanted.peak:
        return wanted
    room = [
        one.facts.max_connections - (one.facts.connected or 1) - _CONNECTIONS_LEFT_FREE
        for one in looked
        if one.facts.max_connections is not None
    ]
    most = min([wanted.most_users, *(max(each, 1) * len(looked) for each in room)])
    return wanted.model_copy(update={"most_users": most})
