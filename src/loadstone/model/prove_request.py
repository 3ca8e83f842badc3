"""What is asked of the proof of findings."""

from __future__ import annotations

from pydantic import PositiveFloat

from loadstone.model.frozen import Frozen
from loadstone.model.protection import Protection


class Proving(Frozen):
    """How long trials may take together, and whether somebody agreed to what needs consent."""

    time_s: PositiveFloat
    """Starting throwaway servers and filling their tables is not counted."""
    only: tuple[str, ...] = ()
    """Causes; none: whatever is found."""
    yes: bool = False
    """Global variables of a server that is no sandbox may be set for a while."""
    trusted: bool = False
    """The run may be somebody else's."""
    protection: Protection = Protection()
    """Beside what the run's plan says of it."""
