"""What is observed of a server, by its family. A new family's is entered here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from loadstone.model.hot_spots import HotSpots
from loadstone.model.observed import Reading, SourceName
from loadstone.model.target import Endpoint, Target
from loadstone.observe.clients import Clients
from loadstone.observe.hot_spots import Snapshot
from loadstone.observe.mysql import samplers as mysql
from loadstone.observe.others import Others, OthersAsked
from loadstone.observe.replica import Behind
from loadstone.observe.source import Source
from loadstone.servers.connection import Connection


class Samplers(Protocol):
    """One family's. What asks a connection raises its family's `Error`."""

    def server_source(self, name: SourceName, endpoint: Endpoint) -> Source:
        """A server's own counters, in its own words."""

    @property
    def exporter(self) -> str:
        """What its Prometheus exporter is called: the option that names one bears its name."""

    def exporter_source(self, name: SourceName, url: str) -> Source:
        """The same counters as its Prometheus exporter has them; raises `PlaceError`."""

    @property
    def programs(self) -> Collection[str]:
        """The file names of its servers."""

    def canonical(self, reading: Reading) -> Reading:
        """A reading of such counters, in ours."""

    def snapshot(self, endpoint: Endpoint) -> Snapshot:
        """Where the server has spent its time so far; what it does not tell is never an error."""

    def difference(self, before: Snapshot, after: Snapshot) -> HotSpots:
        """Where it spent its time between two moments."""

    def behind(self, connection: Connection) -> Behind | None:
        """How far a replica is behind; `None`: it is none."""

    def replica_source(self, name: SourceName, endpoint: Endpoint) -> Source:
        """That, again and again."""

    def look_at_others(self, connection: Connection) -> Others:
        """What this connection may see of the server's others."""

    def status_rows(self, connection: Connection) -> dict[str, float]:
        """All that the server counts, under its own names in small letters."""

    def others_source(self, asked: OthersAsked) -> Source:
        """How others fare, again and again."""

    def other_clients(
        self,
        connection: Connection,
        target: Target,
        known: Collection[tuple[str, str]] = (),
        between_s: float = 0.5,
    ) -> Clients:
        """Connections of other users or hosts; `known`: accounts that are not counted.

        Raises:
            TargetError: the server refused, or the connection was lost.
            LookupError, ValueError: it answers what no server of the family does.
        """


SAMPLERS: dict[str, Samplers] = {"mysql": mysql}
"""By the name that a target has for the family."""


def samplers_of(target: Target) -> Samplers:
    """What is observed of the server of a target."""
    return SAMPLERS[target.family]
