"""Turns Ctrl-C, SIGTERM and a hang-up into a request: an exception could interrupt a write."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that ask for an end; SIGHUP is not one of them under `nohup`."""
    asking = (signal.SIGINT, signal.SIGTERM)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return asking
    return (*asking, signal.SIGHUP)


class Interrupted(LoadstoneError):
    """Ended on request; the results so far were saved."""

    exit_code = ExitCode.INTERRUPTED


class Interrupts:
    """Counts signals while it is entered: one asks for a clean end, two for a quick one.

    Python receives signals only in its main thread: entered in another thread, it counts none.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last: signal.Signals | None = None
        """The latest signal."""
        self._at_once = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        for number in ending_signals() if is_main else ():
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
        """Within this context a second signal raises KeyboardInterrupt, which ends any wait."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.last = signal.Signals(number)
        if number == signal.SIGHUP:
            # A closing terminal sends SIGHUP twice, through its shell and itself.
            self.ask()
            return
        self.count += 1
        if self.asked_again and self._at_once:
            raise KeyboardInterrupt

    def ask(self) -> None:
        """Ask for the end of the run, like a first Ctrl-C; asking again does not speed it up."""
        self.count = max(self.count, 1)

    def check(self) -> None:
        """End here, between two pieces of work, if somebody asked for it.

        Raises:
            Interrupted: a signal came.
        """
        if self.asked:
            raise Interrupted(say("interrupted; the same command continues where it stopped"))

    @property
    def asked(self) -> bool:
        """Whether somebody wants the run to end."""
        return self.count > 0

    @property
    def asked_again(self) -> bool:
        """Whether somebody does not want to wait for it."""
        return self.count > 1


@contextmanager
def postponed() -> Iterator[None]:
    """Delay signals within this context, so that what was started is finished first.

    An error is still raised: it ends things as well.
    """
    with Interrupts() as heard:
        yield
    if heard.last is not None:
        signal.raise_signal(heard.last)
