"""A host as a Prometheus server stored it: raw samples, at the times of its own scrapes.

The stored values are taken as they are, where `rate()` would extrapolate them. A reading has the
time of its scrape, so that the growth between two readings belongs to the scrape interval and never
to a second.
"""

from __future__ import annotations

import time

from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.exporters import GROWING, SERIES, host_of, no_total
from loadstone.observe.prometheus_api import PrometheusApi, quoted
from loadstone.observe.source import SourceError

_CLOCK = "node_load1"
"""A series that each host has once."""

_BACK = "5m"
"""How old the newest scrape may be: Prometheus' own default (`--query.lookback-delta`)."""


class PrometheusHost:
    """A node exporter's figures, from the Prometheus server that scrapes it."""

    def __init__(self, name: SourceName, url: str, datadir: str | None = None) -> None:
        """Store the place; nothing is requested yet.

        Args:
            name: the source's name.
            url: the server's, with the labels of the host's series: such as
                `http://prometheus:9090?instance=db1:9100`. A login in it is never displayed.
            datadir: the server's data folder; it decides which file system's space is reported.

        Raises:
            PlaceError: `url` is not a URL of http or https, or has no labels.
        """
        self.name = name
        self._datadir = datadir
        self._api = PrometheusApi(url)
        self._grows = False
        """Whether its totals are known to be totals."""
        self._scraped: float | None = None
        """The Unix time of the scrape that was read last."""
        self._newest: Reading | None = None

    def read(self) -> Reading:
        """Read the newest scrape; the same reading again if there has been none since.

        Raises:
            SourceError: the server does not answer, does not have this host's series or those of
                several hosts, or its totals are gauges.
        """
        if not self._grows:
            self._check_types()
        scraped = self._newest_scrape()
        if self._newest is None or scraped != self._scraped:
            names = "|".join(sorted(SERIES))
            series = self._api.ask(f'{{{self._api.labels},__name__=~"{names}"}}', at=scraped)
            text = "\n".join(_line(one["metric"], one["value"][1]) for one in series)
            into = host_of(text, None, self._datadir)
            at_s = scraped - self._ahead_s()
            self._newest = Reading(at_s, into.counters, into.gauges, into.facts)
            self._scraped = scraped
        return self._newest

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def _newest_scrape(self) -> float:
        """Its Unix time."""
        found = self._api.ask(f"{_CLOCK}{{{self._api.labels}}}[{_BACK}]")
        if len(found) == 1:
            return float(found[0]["values"][-1][0])
        hosts = sorted(
            {one["metric"].get("instance", "") for one in found or self._api.ask(_CLOCK)}
        )
        raise SourceError(
            say(
                "{place}: {labels} is not one host's: node exporters are scraped there as "
                "instance={known}",
                place=self._api.place,
                labels=self._api.labels,
                known=", ".join(hosts) or "-",
            )
        )

    def _ahead_s(self) -> float:
        """How far the server's clock is ahead of our monotonic one."""
        began = time.monotonic()
        theirs = float(self._api.ask("time()")[1])
        return theirs - (began + time.monotonic()) / 2

    def _check_types(self) -> None:
        for name, kinds in self._api.types().items():
            if name in GROWING and any(one["type"] == "gauge" for one in kinds):
                raise no_total(self._api.place, name)
        self._grows = True


def _line(labels: dict[str, str], value: str) -> str:
    inner = ",".join(
        f"{name}={quoted(text)}" for name, text in labels.items() if name != "__name__"
    )
    return f"{labels['__name__']}{{{inner}}} {value}"
