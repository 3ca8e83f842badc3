"""What all ways of pushing have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from loadstone.web.series import Point

ANSWER_S = 3.0
"""How long a receiver may take to answer."""


class PushFailed(Exception):
    """A receiver did not take the figures; the text says why."""


class Sender(Protocol):
    """Pushes to one receiver."""

    def send(self, points: Sequence[Point], unix_ms: int) -> None:
        """Push these values as those of this moment.

        Raises:
            PushFailed: the receiver did not take them.
        """

    def end(self, unix_ms: int) -> None:
        """The run is over: no series of it gets another value.

        Raises:
            PushFailed: the receiver did not take that.
        """
