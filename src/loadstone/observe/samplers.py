"""The samplers of each server family. Register a new family's here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol

from loadstone.families import require
from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.model.hot_spots import HotSpots
from loadstone.model.observed import Reading, SourceName
from loadstone.model.target import Endpoint, Target
from loadstone.observe.clients import Clients
from loadstone.observe.hot_spots import Snapshot
from loadstone.observe.mysql import samplers as mysql
from loadstone.observe.others import Others, OthersAsked
from loadstone.observe.postgresql import samplers as postgresql
from loadstone.observe.replica import Behind
from loadstone.observe.sessions import SessionList
from loadstone.observe.source import Source
from loadstone.servers.connection import Connection


class Samplers(Protocol):
    """What can be seen of one family's servers without their counters."""

    @property
    def programs(self) -> Collection[str]:
        """The file names of its server programs."""

    @property
    def work_in_their_data(self) -> bool:
        """Whether the working folder of a server's process is that of its data."""

    @property
    def has_process_per_session(self) -> bool:
        """Whether a server's work is spread over processes, so that one of them says little."""

    def is_data_of(self, folder: Path, variables: Mapping[str, str]) -> bool:
        """Whether a folder of this machine has the data of the server with these variables."""

    def other_clients(
        self,
        connection: Connection,
        target: Target,
        known: Collection[tuple[str, str]] = (),
        between_s: float = 0.5,
    ) -> Clients:
        """Connections of other users or hosts; accounts in `known` are not counted.

        Raises:
            TargetError: the server refused, or the connection was lost.
            LookupError, ValueError: no server of the family answers like this.
        """


class Counters(Protocol):
    """What samples one family's counters and sessions.

    Methods that use a connection raise the family's `Error`.
    """

    def server_source(self, name: SourceName, endpoint: Endpoint) -> Source:
        """A server's own counters, under its own names."""

    def reason(self, error: Exception) -> str:
        """Why a server did not answer, for a person."""

    def session_list(
        self, endpoint: Endpoint, of_the_load: Callable[[], Collection[int]]
    ) -> SessionList:
        """The server's sessions, over a connection of its own that is opened at the first look.

        `of_the_load`: the server's numbers of the load's connections, as far as they are known.
        """

    def canonical(self, reading: Reading) -> Reading:
        """Translate a reading of these counters to our names."""

    def behind(self, connection: Connection) -> Behind | None:
        """How far a replica is behind; `None` if it is not a replica."""

    def replica_source(self, name: SourceName, endpoint: Endpoint) -> Source:
        """A source that reads the replica's lag repeatedly."""

    def look_at_others(self, connection: Connection) -> Others:
        """What this connection may see of other clients."""

    def status_rows(self, connection: Connection) -> dict[str, float]:
        """All counters of the server, under its own names in lower case."""

    def others_source(self, asked: OthersAsked) -> Source:
        """A source that reads the other clients' figures repeatedly."""


class Exporter(Protocol):
    """A family's Prometheus exporter, which shows its counters."""

    @property
    def exporter(self) -> str:
        """Its name, which also names the option for it."""

    def exporter_source(self, name: SourceName, url: str) -> Source:
        """The counters of a server's own connection; raises `PlaceError`."""


class Sums(Protocol):
    """Where one family's servers have spent their time, as they sum it up themselves."""

    def snapshot(self, endpoint: Endpoint, *, only_own: bool = False) -> Snapshot:
        """Where the server has spent its time so far; what it does not report is never an error.

        `only_own`: on the statements of the endpoint's user alone, where it sums them up by user.
        """

    def difference(self, before: Snapshot, after: Snapshot) -> HotSpots:
        """Where it spent its time between two moments."""


SAMPLERS: dict[str, Samplers] = {MYSQL: mysql, POSTGRESQL: postgresql}
"""By the family's name in a target."""

COUNTERS: dict[str, Counters] = {MYSQL: mysql, POSTGRESQL: postgresql}
"""By the family's name in a target; of a family that is missing, no counters are read."""

EXPORTERS: dict[str, Exporter] = {MYSQL: mysql}
"""The same for exporters."""

SUMS: dict[str, Sums] = {MYSQL: mysql, POSTGRESQL: postgresql}
"""The same for sums."""


def samplers_of(target: Target) -> Samplers:
    """The samplers for a target's server."""
    return SAMPLERS[target.family]


def counters_of(target: Target) -> Counters | None:
    """What samples the counters of a target's server; `None`: nothing does."""
    return COUNTERS.get(target.family)


def sums_of(target: Target) -> Sums | None:
    """What reads the sums of a target's server; `None`: nothing does."""
    return SUMS.get(target.family)


def needed_counters(target: Target) -> Counters:
    """The same where it cannot be done without.

    Raises:
        NotSupported: nothing samples them.
    """
    require(target, "counters")
    return COUNTERS[target.family]
