"""What a drawn fault is: one of a family, at a size, and what is known to be true of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from faults.case import Fault, Inject
from faults.injections import nothing
from loadstone.model.account import Place

Family = Literal["variable", "throttle", "lock", "client"]
FAMILIES: tuple[Family, ...] = get_args(Family)


@dataclass(frozen=True)
class Truth:
    """What is known of a drawn fault: nobody gave it a cause's name.

    A cause is right if what it says, or its remedy, undoes the fault. Of a variable it is also
    right if a finding names the variable.
    """

    causes: frozenset[str]
    """Names of the diagnosis that are right."""
    places: frozenset[Place]
    """Places of the account on which it acts: the users' time grows at one of them or more."""
    also: frozenset[str] = frozenset()
    """Names that are true of this machine and server as well, but not right."""
    variable: str | None = None
    """The server's variable that is set badly."""

    @classmethod
    def of(
        cls, causes: str, places: tuple[Place, ...], also: str = "", variable: str | None = None
    ) -> Truth:
        """Names are words of a text."""
        return cls(frozenset(causes.split()), frozenset(places), frozenset(also.split()), variable)


@dataclass(frozen=True)
class Drawn:
    """A fault that was drawn, with its load and server."""

    number: int
    family: Family
    kind: str
    release: str
    """The server, as `--server` takes it."""
    fault: Fault
    """Its settings are those of both sides; `causes` is empty."""
    truth: Truth
    start: Mapping[str, str]
    """Settings with which the server is started on the side with the fault alone."""
    always: Inject = nothing
    """What is there on both sides: it belongs to the load, and is no fault."""
    own_server: bool = False
    """Whether each run needs a server that was just started."""
