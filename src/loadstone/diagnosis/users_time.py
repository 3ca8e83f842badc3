"""How much of the users' time a cause takes that has a part of some places.

A generator on the server's host waits for the server's cores as its sessions do. The account has
that wait at the generator's places; who uses the cores causes it all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import is_full, is_shared
from loadstone.diagnosis.holds import CLIENT
from loadstone.model.account import Place


def starved(case: Case) -> float:
    """Of the generator's time with the users' answers, the part in which it waits for a core.

    It is the server's cores that it waits for where they share a host and are used up; 0 to 1.
    """
    waits, works = case.generator("run_delay_share"), case.generator("cpu_share")
    if not waits or works is None or not is_shared(case) or not is_full(case):
        return 0.0
    return waits / (waits + works)


def time_of(case: Case, parts: Mapping[Place, float]) -> float | None:
    """The share of the users' time that these parts of places are; `None`: there is no account.

    A part of the wait for a core is that part of the generator's wait for one as well.
    """
    if case.time_at(*parts) is None or (account := case.step.account) is None:
        return None
    at_places = sum(part * account.share_of(place) for place, part in parts.items())
    without_a_core = parts.get("waiting for a core", 0.0) * starved(case)
    return at_places + without_a_core * account.share_of(*CLIENT)
