"""The interface to a generator, independent of the transport."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from loadstone.cluster.generator import Generator


class Link(Protocol):
    """A connection to one generator."""

    @property
    def node(self) -> str:
        """The address of its host."""

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Start a call of a method of `Generator`; the future fails if it cannot be reached."""


class InThisProcess:
    """A generator in this process, without a cluster, for tests and measurements."""

    def __init__(self, node: str, peer: str | None = None) -> None:
        self.node = node
        self._generator = Generator(node, peer)
        # Two threads, so that one call can wait for records while another stops the step.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix=f"generator-{node}")

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Start a call; see `Link`."""
        return self._threads.submit(getattr(self._generator, method), *arguments)

    def close(self) -> None:
        """Refuse further calls."""
        self._threads.shutdown(cancel_futures=True)
