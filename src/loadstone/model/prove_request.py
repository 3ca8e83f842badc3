"""The request to prove findings."""

from __future__ import annotations

from pydantic import PositiveFloat

from loadstone.model.frozen import Frozen
from loadstone.model.protection import Protection


class Proving(Frozen):
    """The time for all trials, and the user's consents."""

    time_s: PositiveFloat
    """Seconds for all trials, without the start of throwaway servers and the filling of tables."""
    only: tuple[str, ...] = ()
    """The causes to try; empty: all that were found."""
    yes: bool = False
    """Whether global variables of a server that is not a sandbox may be set for a while."""
    trusted: bool = False
    """Whether a run of somebody else is trusted."""
    protection: Protection = Protection()
    """Conditions in addition to those of the run's plan."""
