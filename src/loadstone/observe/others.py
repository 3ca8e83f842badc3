"""Other clients' share of a server's work, and how their statements fare.

Connections are attributed by account: those with the user and client host of this connection count
as ours, all others as others'. If there are more connections of our account than we hold, the rest
are others' too; the caller, which knows how many we hold, subtracts them. A load from several
machines is recognised by its user alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loadstone.model.observed import SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.slowdown import Statements

STATEMENTS_EVERY_S = 3.0
"""For each answer the server adds up the sums of all its connections, so not every second."""

OWN_RUNNING, OTHERS_RUNNING = "own.running", "others.running"
OWN_CONNECTED, OTHERS_CONNECTED = "own.connected", "others.connected"
RUNNING, CONNECTED = "status.threads_running", "status.threads_connected"
LOADS_OF_OWN = "loads.own"
"""Other load generators that use our account and drive the same schemas."""
LOADS_UNSEEN = "loads.unseen"
"""Load generators whose connections the server does not show to us."""
LATENCY, SLOWDOWN = "others_latency", "others_slowdown"


@dataclass
class Before:
    """The other clients' figures from before our load started."""

    statements: Statements = field(default_factory=dict)
    running: float = 0.0
    """The highest number of their running threads."""
    is_known: bool = False
    """The load has started, so nothing is added any more."""


@dataclass(frozen=True)
class Others:
    """What the server and our privileges let us see of other clients."""

    sees_all: bool
    """Whether the connections of other accounts are shown (PROCESS)."""
    has_statements: bool
    """Whether performance_schema sums up the statements of each account, and we may read it."""
    account: tuple[str, str]
    """Our user and our host, as the server sees them."""
    shows_work: bool = True
    """Whether the number of connections at work is known, those of other accounts included."""


@dataclass(frozen=True)
class OthersAsked:
    """What to read from one server about its other clients and its status."""

    name: SourceName
    endpoint: Endpoint
    others: Others
    before: Before
    rows: frozenset[str]
    """Wanted rows of the status by name, in lower case."""
    wants_statements: bool
    """Whether to sum up others' statements; the server must have the sums."""
    by_user: bool = False
    """The load comes from several machines: a connection is ours if its user is."""
    schemas: tuple[str, ...] = ()
    """The schemas driven here: others that drive them as well do not count as clients to protect.
    """
