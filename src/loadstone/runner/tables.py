"""Tables are made and filled, and somebody sees how it goes.

Importing is most of what a short load costs: nothing that only a run needs is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadstone import engine
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.tables.load import BeginLoad, Loader, prepare
from loadstone.model.engine_plan import LoadPlan
from loadstone.model.records import LoadEnd
from loadstone.model.target import Endpoint
from loadstone.runner.view import View
from loadstone.servers.guard import Consent


@dataclass(frozen=True)
class Filling:
    """How tables are made."""

    consent: Consent
    begin: BeginLoad = engine.load
    """What drives the load: this machine's engine, or a cluster."""
    mark: str | None = None
    """What new ones are to bear, where that is known before."""


def fill(plan: LoadPlan, endpoint: Endpoint, how: Filling, view: View) -> LoadEnd:
    """Make and fill the tables of a plan.

    Raises:
        GuardError: tables of others are in the way, or somebody else is at work there.
        TargetError: the server cannot be reached, or refused.
        Interrupted: a signal came; the same call goes on where it was left.
    """
    with Interrupts() as interrupts:
        with view.load() as watcher:
            loader = Loader(endpoint, how.consent, watcher, interrupts, how.begin, how.mark)
            end = prepare(plan, loader)
        # A wish of the last moment: what would come after the load does not begin.
        interrupts.check()
        return end
