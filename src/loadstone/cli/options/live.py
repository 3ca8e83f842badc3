"""`--live` and `--metrics`: the page and the metrics that separate processes serve during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.cli.help.command import option
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import Parsed, gathered
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.web.address import Address

METRICS_PORT = 9109

Beside = Callable[[Path], AbstractContextManager[Callable[[Path], None]]]
"""Starts to serve the runs of a folder; yields a function to call with the run's own folder."""


class AddressValue(Parsed["Address"]):
    """`host:port`, `:port` or either alone."""

    name = "host:port"

    def __init__(self, host: str, port: int) -> None:
        """`host` and `port` are used if the text leaves them out."""
        self._host = host
        self._port = port

    def read(self, text: str) -> Address:
        """The address."""
        from loadstone.web.address import parsed

        try:
            return parsed(text.strip(), self._host, self._port)
        except ValueError:
            raise ValueError(
                say(
                    "'{text}' is not an address: write 127.0.0.1:8321, [::1]:8321 or :8321",
                    text=text,
                )
            ) from None


_OPTIONS = (
    option(
        "--live", is_flag=True, section=Section.RESULT, help=say("Serve a live page of the run.")
    ),
    option(
        "--metrics",
        rare=True,
        type=AddressValue("127.0.0.1", METRICS_PORT),
        section=Section.RESULT,
        help=say(
            "Serve OpenMetrics during the run. :9109 is for a Prometheus on this machine;"
            " 0.0.0.0:9109 listens on all addresses. Anybody who can reach the address can read"
            " them."
        ),
    ),
)


@contextmanager
def _shown_beside(
    live: bool, metrics: Address | None, runs: Path
) -> Iterator[Callable[[Path], None]]:
    """Serve what was requested; yields a function to call with the run's folder.

    Raises:
        AddressError: no server can listen on an address.
    """
    with ExitStack() as stack:
        tell: list[Callable[[Path], None]] = []
        if metrics is not None:
            from loadstone.cli.errors import announce
            from loadstone.web import sidecar

            scraped = stack.enter_context(sidecar.metrics(runs, metrics))
            announce(say("metrics  {url}", url=scraped.url))
            tell.append(scraped.tell)
        if live:
            from loadstone.cli.errors import announce
            from loadstone.web import sidecar
            from loadstone.web.address import DEFAULT_PORT, Address

            wanted = Address("127.0.0.1", DEFAULT_PORT)
            page = stack.enter_context(sidecar.live_page(runs, wanted))
            announce(say("live  {url}", url=page))

        def begun(run: Path) -> None:
            for each in tell:
                each(run)

        yield begun


def _asked(live: bool, metrics: Address | None) -> Beside:
    return partial(_shown_beside, live, metrics)


beside_options = gathered("beside", _OPTIONS, _asked)
"""Add both options to a command, which gets one argument instead."""
