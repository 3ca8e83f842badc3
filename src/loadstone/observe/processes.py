"""The same as `threads`, for servers whose sessions are processes of their own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from loadstone.observe.process import children_in, memory_in
from loadstone.observe.threads import OwnMemory, Threads, number_inside


class Processes(Threads):
    """The processes that a server has for its sessions: each one's only thread."""

    def place(self, thread: int) -> str:
        """The folder of a process."""
        return f"/proc/{self.outer(thread)}"

    def outer_numbers(self) -> dict[int, int]:
        """The numbers of the server's processes here, by those in its namespace."""
        found = {}
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
            for child in children_in(children):
                with contextlib.suppress(OSError, ValueError):
                    inside = number_inside(Path(f"/proc/{child}/status").read_text())
                    if inside is not None:
                        found[inside] = child
        return found

    def memory(self, threads: Iterable[int]) -> dict[int, OwnMemory]:
        """What each process has for itself; those that have ended are left out."""
        with contextlib.suppress(OSError):
            parent = memory_in(Path(f"/proc/{self.pid}/status").read_text())
            found = {thread: memory_in(self._read(thread, "status") or "") for thread in threads}
            return {
                thread: OwnMemory(max(one[0] - parent[0], 0.0), one[1])
                for thread, one in found.items()
                if one and parent
            }
        return {}

    def file_of(self, thread: int, number: int) -> str:
        """The open file of a process with that number; empty if it was closed since."""
        try:
            return os.readlink(f"{self.place(thread)}/fd/{number}")
        except OSError:
            return ""
