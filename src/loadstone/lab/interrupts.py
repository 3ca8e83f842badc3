"""Ctrl-C and SIGTERM as a wish that is looked at, not as an exception in the middle of a write."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(LoadstoneError):
    """Ended on request; what there is was saved."""

    exit_code = ExitCode.INTERRUPTED


class Interrupts:
    """While it is entered, signals are counted: one asks for a clean end, two for a quick one."""

    def __init__(self) -> None:
        self.count = 0
        self._at_once = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it a second signal breaks off whatever is waited for: KeyboardInterrupt."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.asked_again and self._at_once:
            raise KeyboardInterrupt

    def ask(self) -> None:
        """Somebody wants the run to end, as by a first Ctrl-C; asking again makes it no quicker."""
        self.count = max(self.count, 1)

    def check(self) -> None:
        """Between two pieces of work: end here when somebody wants that.

        Raises:
            Interrupted: a signal came.
        """
        if self.asked:
            raise Interrupted("interrupted; the same command goes on where it was left")

    @property
    def asked(self) -> bool:
        """Whether somebody wants the run to end."""
        return self.count > 0

    @property
    def asked_again(self) -> bool:
        """Whether somebody does not want to wait for it."""
        return self.count > 1
