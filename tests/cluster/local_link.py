"""The head without a cluster: its generators are threads of this process."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from loadstone.cluster.generator import Generator


class InThisProcess:
    """A `Link` to a generator of this process."""

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
