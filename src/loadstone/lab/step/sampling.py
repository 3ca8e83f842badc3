"""Samples servers and hosts each second of a step's load, and hot spots before and after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from loadstone.model.message import say
from loadstone.model.observed import SourceName, SourceState
from loadstone.model.plan import Step
from loadstone.model.target import Endpoint
from loadstone.observe.hot_spots import Snapshot
from loadstone.observe.looking import OWN_CONNECTIONS
from loadstone.observe.sampler import Sampling, Seen
from loadstone.observe.samplers import sums_of
from loadstone.observe.source import VERSION
from loadstone.runs.recorder import Recorder

_SERVER = SourceName(role="server")
_SESSIONS = SourceName(role="sessions")

_LEAVING_S = 3.0
"""Seconds to wait for a server that has thousands of connections to close."""

_LOOK_AGAIN_S = 0.1


def _never() -> bool:
    return False


@dataclass
class StepSampling:
    """Samples one step; losing a source costs no record of the load."""

    step: Step
    recorder: Recorder
    sampling: Sampling
    server: Endpoint
    """The first target's server, whose hot spots are read."""

    drives: bool = True
    """Whether the load is ours: its statements are those of the server's user."""

    _before: Snapshot | None = None
    _connections: float = 0.0
    """To the first target's server when the step began, without those that look at its sessions."""
    _versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the servers when the step began, by name."""

    def begin(self) -> None:
        """Read all sources before any load, so that their counters start with the step."""
        sums = sums_of(self.server.target)
        self._before = sums.snapshot(self.server, only_own=self.drives) if sums else None
        self.sampling.mark()
        looking = self._looking()
        # Again: the first reading of some sources opens connections, which the others count.
        self.sampling.mark()
        for seen in self.sampling.taken():
            if isinstance(seen, SourceState):
                self.recorder.observed(self.step, seen)
        # For viewers of the running step; the facts are stored again at its end.
        self.recorder.source_facts(self.step, self.sampling.facts())
        self._connections = self._connected() - looking
        self._versions = self._versions_now()

    def align(self) -> None:
        """Align the sampled seconds with those of the load, which starts now."""
        self.sampling.align(time.monotonic())

    def keep(self) -> list[Seen]:
        """Store in the run what the samplers have reported since, and return it."""
        taken = self.sampling.taken()
        for seen in taken:
            self.recorder.observed(self.step, seen)
        return taken

    def end(self, *, hurried: Callable[[], bool] = _never) -> list[Seen]:
        """Read the sources once more after all load, and return what they reported.

        The connections of a load of ours close now. `hurried`: somebody does not want to wait for
        servers that do not answer.
        """
        if not hurried():
            self.sampling.mark()
        if self.drives:
            self._wait_for_the_last_to_leave(hurried)
        told = self.keep()
        self.recorder.source_facts(self.step, self.sampling.facts())
        self._note_other_versions()
        sums = sums_of(self.server.target)
        if self._before and sums and not hurried():
            after = sums.snapshot(self.server, only_own=self.drives)
            found = sums.difference(self._before, after)
            self.recorder.hot_spots(self.step, found)
        return told

    def _note_other_versions(self) -> None:
        """Note versions that changed: a server may have been replaced during an outage."""
        now = self._versions_now()
        for name, before in self._versions.items():
            after = now.get(name, before)
            if after != before:
                said = say(
                    "{source} was {before} when the step started, and is {after} at its end: its "
                    "figures are of both",
                    source=str(name),
                    before=before,
                    after=after,
                )
                self.recorder.note(said, self.step)

    def _versions_now(self) -> dict[str, str]:
        """The versions that the servers reported at the latest connection."""
        told = self.sampling.facts().items()
        return {name: facts[VERSION] for name, facts in told if VERSION in facts}

    def _wait_for_the_last_to_leave(self, hurried: Callable[[], bool]) -> None:
        """Wait until the server has closed the step's connections.

        A server's sums lack the work of a connection that is still closing; and it takes the sums
        before it counts the connections, so that they are read once more after the last has left.
        """
        deadline = time.monotonic() + _LEAVING_S
        all_have_left = False
        while not all_have_left and time.monotonic() < deadline and not hurried():
            all_have_left = self._connected() - self._looking() <= self._connections
            time.sleep(_LOOK_AGAIN_S)
            self.sampling.mark()

    def _connected(self) -> float:
        """Connections to the first target's server; 0 if it does not say."""
        return self.sampling.gauge(_SERVER, "threads_connected") or 0.0

    def _looking(self) -> float:
        """Those that look at its sessions: on a busy machine they may begin later than the step."""
        return self.sampling.gauge(_SESSIONS, OWN_CONNECTIONS) or 0.0
