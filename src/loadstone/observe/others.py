"""What of a server's work is that of others, and how they fare.

Connections are told apart by account: those of the user and the client's host that this connection
has itself are taken for ours, and all others for others'. Where more of our account's are there
than we hold, those beyond are others' too; that is for whoever knows how many we hold. A load from
several machines is told by its user alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loadstone.model.observed import SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.slowdown import Statements

STATEMENTS_EVERY_S = 3.0
"""The server adds up the sums of all its connections for each answer: not every second."""

OWN_RUNNING, OTHERS_RUNNING = "own.running", "others.running"
OWN_CONNECTED, OTHERS_CONNECTED = "own.connected", "others.connected"
RUNNING, CONNECTED = "status.threads_running", "status.threads_connected"
LOADS_OF_OWN = "loads.own"
"""Other load generators of our own account that are at work on the same schemas."""
LOADS_UNSEEN = "loads.unseen"
"""Those whose connections the server does not show to us."""
LATENCY, SLOWDOWN = "others_latency", "others_slowdown"


@dataclass
class Before:
    """What was seen of the others while there was no load of ours."""

    statements: Statements = field(default_factory=dict)
    running: float = 0.0
    """The most of their threads."""
    is_known: bool = False
    """Nothing is added any more: a load has begun."""


@dataclass(frozen=True)
class Others:
    """What can be told of a server's others, by what it is and by what we may ask."""

    sees_all: bool
    """Whether the connections of other accounts are shown (PROCESS)."""
    has_statements: bool
    """Whether performance_schema sums up the statements of each account, and we may read it."""
    account: tuple[str, str]
    """Our user and our host, as the server sees them."""


@dataclass(frozen=True)
class OthersAsked:
    """Of one server: what is wanted of its others, and of its status."""

    name: SourceName
    endpoint: Endpoint
    others: Others
    before: Before
    rows: frozenset[str]
    """Rows of the status by name, in lower case."""
    wants_statements: bool
    """Whether others' statements are summed up; the server must have the sums."""
    by_user: bool = False
    """Loads come from several machines: the user alone says whose a connection is."""
    schemas: tuple[str, ...] = ()
    """Those that are driven here: who drives them as well is none of those to be spared."""
