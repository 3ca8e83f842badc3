"""A host as a Prometheus server stored it: raw samples, at the times of its own scrapes.

https://prometheus.io/docs/prometheus/latest/querying/api/ describes the requests. The stored values
are taken as they are, where `rate()` would extrapolate them. A reading has the time of its scrape,
so that the growth between two readings belongs to the scrape interval and never to a second.
"""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.exporters import GROWING, SERIES, host_of, no_total
from loadstone.observe.scrape import Exporter, RefusedQuery
from loadstone.observe.source import SourceError
from loadstone.observe.source_spec import PlaceError

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
        base, labels = _split(url)
        self.name = name
        self._datadir = datadir
        self._query = Exporter(f"{base}/api/v1/query")
        self._types = Exporter(f"{base}/api/v1/metadata")
        self._labels = ",".join(f"{label}={_quoted(value)}" for label, value in labels)
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
            series = self._ask(f'{{{self._labels},__name__=~"{names}"}}', at=scraped)
            text = "\n".join(_line(one["metric"], one["value"][1]) for one in series)
            into = host_of(text, None, self._datadir)
            at_s = scraped - self._ahead_s()
            self._newest = Reading(at_s, into.counters, into.gauges, into.facts)
            self._scraped = scraped
        return self._newest

    def close(self) -> None:
        """Close the connections."""
        self._query.close()
        self._types.close()

    def _newest_scrape(self) -> float:
        """Its Unix time."""
        found = self._ask(f"{_CLOCK}{{{self._labels}}}[{_BACK}]")
        if len(found) == 1:
            return float(found[0]["values"][-1][0])
        hosts = sorted({one["metric"].get("instance", "") for one in found or self._ask(_CLOCK)})
        raise SourceError(
            say(
                "{place}: {labels} is not one host's: node exporters are scraped there as "
                "instance={known}",
                place=self._query.place,
                labels=self._labels,
                known=", ".join(hosts) or "-",
            )
        )

    def _ahead_s(self) -> float:
        """How far the server's clock is ahead of our monotonic one."""
        began = time.monotonic()
        theirs = float(self._ask("time()")[1])
        return theirs - (began + time.monotonic()) / 2

    def _check_types(self) -> None:
        for name, kinds in self._get(self._types, {}).items():
            if name in GROWING and any(one["type"] == "gauge" for one in kinds):
                raise no_total(self._types.place, name)
        self._grows = True

    def _ask(self, query: str, at: float | None = None) -> Any:
        when = {} if at is None else {"time": f"{at:.3f}"}
        return self._get(self._query, {"query": query, **when})["result"]

    def _get(self, place: Exporter, parameters: dict[str, str]) -> Any:
        try:
            return json.loads(place.get(urlencode(parameters)).text)["data"]
        except (RefusedQuery, ValueError, KeyError, TypeError):
            raise SourceError(
                say("{place}: this is no Prometheus server's API", place=place.place)
            ) from None


def _split(url: str) -> tuple[str, list[tuple[str, str]]]:
    """The server's URL, and the labels that choose the host."""
    Exporter(url)  # refuses what is no URL
    parts = urlsplit(url)
    labels = parse_qsl(parts.query)
    if not labels or not all(label.isidentifier() for label, _ in labels):
        raise PlaceError(
            say("the URL does not say which host's series to read"),
            say("write http://prometheus:9090?instance=db1:9100"),
        )
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"), query="", fragment="")), labels


def _line(labels: dict[str, str], value: str) -> str:
    inner = ",".join(
        f"{name}={_quoted(text)}" for name, text in labels.items() if name != "__name__"
    )
    return f"{labels['__name__']}{{{inner}}} {value}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
