"""`--live` and `--metrics`: what is served beside a run, by processes of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.options.types import Parsed, gathered

if TYPE_CHECKING:
    from loadstone.web.address import Address

METRICS_PORT = 9109

Beside = Callable[[Path], AbstractContextManager[Callable[[Path], None]]]
"""Begins to serve runs of a folder; what it gives is to be told of the run's own."""


class AddressValue(Parsed["Address"]):
    """`host:port`, `:port` or either alone."""

    name = "host:port"

    def __init__(self, host: str, port: int) -> None:
        """What is taken for what is left out."""
        self._host = host
        self._port = port

    def read(self, text: str) -> Address:
        """The address."""
        from loadstone.web.address import parsed

        try:
            return parsed(text.strip(), self._host, self._port)
        except ValueError:
            said = f"'{text}' is not an address: write 127.0.0.1:8321, [::1]:8321 or :8321"
            raise ValueError(said) from None


_OPTIONS = (
    click.option("--live", is_flag=True, help="Serve a live page of the run."),
    click.option(
        "--metrics",
        type=AddressValue("127.0.0.1", METRICS_PORT),
        help="Serve OpenMetrics during the run: :9109 is for a Prometheus on this machine. Whoever"
        " reaches the address may read them; 0.0.0.0:9109 listens on all addresses.",
    ),
)


@contextmanager
def _shown_beside(
    live: bool, metrics: Address | None, runs: Path
) -> Iterator[Callable[[Path], None]]:
    """The servers that were asked for; what is yielded is to be told of the run's folder.

    Raises:
        AddressError: nobody can listen on an address.
    """
    with ExitStack() as stack:
        tell: list[Callable[[Path], None]] = []
        if metrics is not None:
            from loadstone.cli.errors import announce
            from loadstone.web import sidecar

            scraped = stack.enter_context(sidecar.metrics(runs, metrics))
            announce(f"metrics  {scraped.url}")
            tell.append(scraped.tell)
        if live:
            from loadstone.cli.errors import announce
            from loadstone.web import sidecar
            from loadstone.web.address import DEFAULT_PORT, Address

            wanted = Address("127.0.0.1", DEFAULT_PORT)
            announce(f"live  {stack.enter_context(sidecar.live_page(runs, wanted))}")

        def begun(run: Path) -> None:
            for each in tell:
                each(run)

        yield begun


def _asked(live: bool, metrics: Address | None) -> Beside:
    return partial(_shown_beside, live, metrics)


beside_options = gathered("beside", _OPTIONS, _asked)
"""Give a command both; it gets one `beside` in their place."""
