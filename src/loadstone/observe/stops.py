"""How long a process of this machine is stopped: by SIGSTOP, SIGTSTP or a debugger (proc(5)).

A control group may be frozen as well, as `docker pause` does: its processes are in no such state.
"""

from __future__ import annotations

import random
import threading
from pathlib import Path

from loadstone.observe.cgroups import is_frozen
from loadstone.observe.process import stopped

_MEAN_GAP_S = 0.05
"""The mean time between two looks at the state, which take some 20 us."""


class Stops:
    """Looks at the state of a process at random moments, in a thread of its own.

    A server that somebody stops for a third of a second again and again is hardly ever met by one
    look a second.
    """

    def __init__(self, pid: int, freezer: Path | None = None) -> None:
        """Begin to look at the process, and at the file that says whether its group is frozen."""
        self._file, self._freezer = Path(f"/proc/{pid}/stat"), freezer
        self._lock = threading.Lock()
        self._looks = self._met = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loadstone stops", daemon=True)
        self._thread.start()

    def share(self) -> float | None:
        """The part of the looks since the last call that met it stopped; `None`: there was none."""
        with self._lock:
            looks, met, self._looks, self._met = self._looks, self._met, 0, 0
        return met / looks if looks else None

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join()

    def _is_frozen(self) -> bool:
        try:
            return self._freezer is not None and is_frozen(self._freezer.read_text())
        except OSError:  # it was moved to another group
            self._freezer = None
            return False

    def _run(self) -> None:
        while not self._over.wait(random.uniform(0.5, 1.5) * _MEAN_GAP_S):
            try:
                is_stopped = stopped(self._file.read_text()) or self._is_frozen()
            except (OSError, IndexError):
                return  # it has ended
            with self._lock:
                self._looks += 1
                self._met += bool(is_stopped)
