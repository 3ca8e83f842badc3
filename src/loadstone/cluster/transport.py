"""How the head reaches a generator, whatever carries the calls."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from loadstone.cluster.generator import Generator


class Link(Protocol):
    """One generator, somewhere."""

    @property
    def node(self) -> str:
        """Address of its host."""

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Begin a call of a method of `Generator`; the future fails where it cannot be reached."""


class InThisProcess:
    """A generator of this process: the head without a cluster, for tests and measurements."""

    def __init__(self, node: str, peer: str | None = None) -> None:
        self.node = node
        self._generator = Generator(node, peer)
        # One call waits for records while another stops the step.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix=f"generator-{node}")

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Begin a call; see `Link`."""
        return self._threads.submit(getattr(self._generator, method), *arguments)

    def close(self) -> None:
        """No further calls."""
        self._threads.shutdown(cancel_futures=True)
