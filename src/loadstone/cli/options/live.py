"""`--live`, `--metrics`, `--otlp` and the like: a run's page, its metrics, its marks in Grafana."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.cli.help.command import option
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import FILE, Parsed, gathered
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.web.address import Address
    from loadstone.web.push.places import Kind

METRICS_PORT = 9109


@dataclass(frozen=True)
class Audience:
    """The pages and endpoints that show a run, as far as its command knows them."""

    begun: Callable[[Path], None]
    """To call with the run's own folder, as soon as it exists."""
    preparing: Callable[[str], None]
    """To call with each line of progress; after `begun` it does nothing."""


Places = dict["Kind", str | None]
"""The URLs that metrics are pushed to, by the kind of receiver."""

Beside = Callable[[Path], AbstractContextManager[Audience]]
"""Starts to serve the runs of a folder."""


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
        "--live",
        is_flag=True,
        section=Section.RESULT,
        help=say("Serve a live page of the run. Needs loadstone[web]."),
    ),
    option(
        "--metrics",
        rare=True,
        type=AddressValue("127.0.0.1", METRICS_PORT),
        section=Section.RESULT,
        help=say(
            "Serve OpenMetrics during the run. :9109 is for a Prometheus on this machine;"
            " 0.0.0.0:9109 listens on all addresses. Anybody who can reach the address can read"
            " them. Needs loadstone[web]."
        ),
    ),
    option(
        "--otlp",
        rare=True,
        metavar="URL",
        section=Section.RESULT,
        help=say(
            "Push the metrics every 5 s to the OTLP receiver at this URL, over HTTP. Needs"
            " loadstone[push]. A token is read from LOADSTONE_PUSH_TOKEN."
        ),
    ),
    option(
        "--remote-write",
        rare=True,
        metavar="URL",
        section=Section.RESULT,
        help=say(
            "Push the metrics every 5 s to this receiver of Prometheus remote write. Needs"
            " loadstone[push]. A token is read from LOADSTONE_PUSH_TOKEN."
        ),
    ),
    option(
        "--folder-to",
        rare=True,
        type=FILE,
        section=Section.RESULT,
        help=say(
            "Write the path of the run's folder into this file as soon as the folder exists, for"
            " scripts."
        ),
    ),
    option(
        "--annotate",
        rare=True,
        metavar="URL",
        section=Section.RESULT,
        help=say(
            "Mark each step as a region in the Grafana at this URL; for PMM it ends with /graph."
            " The token of a service account is read from LOADSTONE_GRAFANA_TOKEN."
        ),
    ),
)


@contextmanager
def _shown_beside(
    live: bool,
    metrics: Address | None,
    places: Places,
    informed: tuple[str | None, Path | None],
    runs: Path,
) -> Iterator[Audience]:
    """Serve what was requested; pages that already serve the folder show the run as well.

    `informed`: the Grafana that gets annotations, and the file that gets the run's folder.

    Raises:
        AddressError: no server can listen on an address.
        ExtraMissing: what serves or pushes is not installed.
        NoPlaceForAnnotations: the URL is not Grafana's.
        PushRefused: metrics cannot be pushed to a URL.
    """
    from loadstone.runs.preparing import Preparation

    with ExitStack() as stack:
        tell: list[Callable[[Path], None]] = []
        annotate, folder_to = informed
        if folder_to is not None:
            tell.append(partial(_written_to, folder_to))
        if annotate is not None:
            tell.append(stack.enter_context(_annotated(annotate)))
        if any(places.values()):
            tell.append(stack.enter_context(_pushed(places)))
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

        preparation = Preparation(runs)
        stack.callback(preparation.done)

        def begun(run: Path) -> None:
            preparation.done()
            for each in tell:
                each(run)

        yield Audience(begun, preparation.tell)


def _written_to(file: Path, run: Path) -> None:
    """Write the run's folder into a file, whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """
    from loadstone.runs import atomic

    atomic.write_bytes(file, f"{run.absolute()}\n".encode())


@contextmanager
def _pushed(places: Places) -> Iterator[Callable[[Path], None]]:
    from loadstone.cli.errors import announce
    from loadstone.web.push.alongside import pushing
    from loadstone.web.push.places import place

    found = [place(kind, url) for kind, url in places.items() if url is not None]
    with pushing(found, lambda what: announce(say("note: {what}", what=what))) as begun:
        yield begun


@contextmanager
def _annotated(url: str) -> Iterator[Callable[[Path], None]]:
    from loadstone.cli.errors import announce
    from loadstone.web.annotations import annotating

    with annotating(url) as (annotator, begun):
        yield begun
    if annotator.failed is not None:
        announce(say("note: {what}", what=annotator.failed))


def _asked(
    live: bool,
    metrics: Address | None,
    otlp: str | None,
    remote_write: str | None,
    folder_to: Path | None,
    annotate: str | None,
) -> Beside:
    places: Places = {"otlp": otlp, "remote-write": remote_write}
    return partial(_shown_beside, live, metrics, places, (annotate, folder_to))


beside_options = gathered("beside", _OPTIONS, _asked)
"""Add these options to a command, which gets one argument instead."""
