"""The record of a connection pooler that runs in front of a throwaway server."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.frozen import Frozen
from loadstone.model.target import Target
from loadstone.sandbox.processes import ProcessMark

FOLDER = "pooler"
"""Its folder within the sandbox's."""


class Pooler(Frozen):
    """A pooler that was started, and how to start it again."""

    name: str
    settings: dict[str, str] | None = None
    """What its configuration has beyond a sandbox's own; `None`: an earlier version kept none."""
    command: tuple[str, ...]
    port: int
    socket: Path
    process: ProcessMark

    def is_at(self, target: Target) -> bool:
        """Whether a target of its sandbox is reached through it."""
        return target.socket == self.socket if target.socket else target.port == self.port

    @property
    def is_running(self) -> bool:
        """Whether its process runs."""
        return self.process.is_alive()
