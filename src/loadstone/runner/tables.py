"""Makes and fills tables, and reports the progress.

Importing is most of what a short load costs, so nothing that only a run needs is imported here.
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
    """Starts the load: on this machine's engine, or on a cluster."""
    mark: str | None = None
    """The mark for new tables, if it is known beforehand."""


def fill(plan: LoadPlan, endpoint: Endpoint, how: Filling, view: View) -> LoadEnd:
    """Make and fill the tables of a plan.

    Raises:
        GuardError: tables of others are in the way, or another process is at work there.
        TargetError: the server cannot be reached, or refused.
        Interrupted: a signal came; the same call continues where this one stopped.
    """
    with Interrupts() as interrupts:
        with view.load() as watcher:
            loader = Loader(endpoint, how.consent, watcher, interrupts, how.begin, how.mark)
            end = prepare(plan, loader)
        # A signal at the last moment: the caller must not start what follows the load.
        interrupts.check()
        return end
