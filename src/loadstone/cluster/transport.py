"""How the head reaches a generator, whatever carries the calls."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Protocol


class Link(Protocol):
    """One generator, somewhere."""

    @property
    def node(self) -> str:
        """Address of its host."""

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Begin a call of a method of `Generator`; the future fails where it cannot be reached."""
