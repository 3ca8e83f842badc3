"""Exporters as a Prometheus server stored them: raw samples, at the times of its own scrapes.

The stored values are taken as they are, where `rate()` would extrapolate them. A reading has the
time of its scrape, so that the growth between two readings belongs to the scrape interval and never
to a second.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.model.message import Message, say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.exporters import (
    GROWING,
    NEVER_FALLING,
    SERIES,
    Falls,
    host_of,
    no_total,
    refuse_rds,
)
from loadstone.observe.prometheus_api import PrometheusApi, quoted
from loadstone.observe.scrape import Scraped
from loadstone.observe.source import SourceError

_BACK = "5m"
"""How old the newest scrape may be: Prometheus' own default (`--query.lookback-delta`)."""


_OF_TARGET = frozenset(("instance", "job"))
"""What Prometheus itself adds to each series of a target; others may be the exporter's own."""


@dataclass(frozen=True)
class Kind:
    """A kind of exporter."""

    name: Message
    """What several of them are called."""
    clock: str
    """A series that each of them has once."""
    series: str
    """The names of all series that are used: a regular expression."""


NODES = Kind(say("node exporters"), "node_load1", SERIES)


class StoredScrapes:
    """The scrapes of one exporter."""

    def __init__(self, url: str, kind: Kind) -> None:
        """Store the place; nothing is requested yet.

        Args:
            url: the server's, with the labels of the exporter's series: such as
                `http://prometheus:9090?instance=db1:9100`. A login in it is never displayed.
            kind: which exporter it is.

        Raises:
            PlaceError: `url` is not a URL of http or https, or has no labels.
        """
        self._api = PrometheusApi(url)
        self._kind = kind
        self._at: float | None = None
        """The Unix time of the scrape that was read last."""
        self._labels = self._api.labels
        """All labels of the exporter, once they are known."""
        self._target: str | None = None
        """Those that name the target which was scraped."""
        self._newest: Scraped | None = None

    @property
    def place(self) -> str:
        """The server's address, without a login."""
        return self._api.place

    def newest(self) -> Scraped:
        """The newest scrape, as the exporter's text; the same object if there has been none since.

        Raises:
            SourceError: the server does not answer, does not have these series or those of several
                exporters.
        """
        at = self._newest_at()
        if self._newest is None or at != self._at:
            query = f'{{{self._labels},__name__=~"{self._kind.series}"}}'
            series = self._api.ask(query, at=at)
            self._newest, self._at = Scraped(_page(series), at - self._ahead_s()), at
        return self._newest

    def types(self) -> dict[str, str]:
        """What the exporter declares its metrics to be, by name, as far as the server knows.

        Raises:
            SourceError: the server does not answer.
        """
        return self._api.types(self._target) if self._target else {}

    def history(self, names: Iterable[str]) -> Iterator[tuple[str, list[float]]]:
        """The name and the latest values of each series of these names, oldest first.

        Raises:
            SourceError: as `newest`.
        """
        query = f'{{{self._labels},__name__=~"{"|".join(sorted(names))}"}}[{_BACK}]'
        for one in self._api.ask(query, at=self._at):
            yield one["metric"]["__name__"], [float(value) for _, value in one["values"]]

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def _newest_at(self) -> float:
        """Its Unix time."""
        clock = self._kind.clock
        found = self._api.ask(f"{clock}{{{self._api.labels}}}[{_BACK}]")
        if len(found) == 1:
            # The labels in the URL may also be those of other exporters.
            labels = found[0]["metric"]
            self._labels = _matchers(labels, labels.keys() - {"__name__"})
            self._target = _matchers(labels, _OF_TARGET) if labels.keys() >= _OF_TARGET else None
            return float(found[0]["values"][-1][0])
        known = sorted({one["metric"].get("instance", "") for one in found or self._api.ask(clock)})
        if not found:
            self._refuse_others(", ".join(known) or "-")
        raise SourceError(
            say(
                "{place}: {labels} is not one host's: {exporters} are scraped there as "
                "instance={known}",
                place=self.place,
                labels=self._api.labels,
                exporters=self._kind.name,
                known=", ".join(known) or "-",
            )
        )

    def _refuse_others(self, known: str) -> None:
        """Say which command takes figures of other exporters, if these labels choose such."""
        other = self._api.ask(f"topk(1, {{{self._api.labels}}})")
        if other:
            raise SourceError(
                say(
                    "{place}: {labels} is another exporter's ({series}): a run reads "
                    "{exporters}, scraped there as instance={known}; loadstone runs attach last "
                    "URL adds a cloud exporter's figures after the run",
                    place=self.place,
                    labels=self._api.labels,
                    series=other[0]["metric"].get("__name__", "-"),
                    exporters=self._kind.name,
                    known=known,
                )
            )

    def _ahead_s(self) -> float:
        """How far the server's clock is ahead of our monotonic one."""
        began = time.monotonic()
        theirs = float(self._api.ask("time()")[1])
        return theirs - (began + time.monotonic()) / 2


class PrometheusHost:
    """A node exporter's figures, from the Prometheus server that scrapes it."""

    def __init__(self, name: SourceName, url: str, datadir: str | None = None) -> None:
        """Store the place; nothing is requested yet.

        Args:
            name: the source's name.
            url: the Prometheus server's, with the labels of the host's series.
            datadir: the server's data folder; it decides which file system's space is reported.

        Raises:
            PlaceError: `url` is not a URL of http or https, or has no labels.
        """
        self.name = name
        self._datadir = datadir
        self._scrapes = StoredScrapes(url, NODES)
        self._falls: Falls | None = None
        """`None`: it is not known yet that its totals may be totals."""
        self._scraped: Scraped | None = None
        self._reading: Reading | None = None

    def read(self) -> Reading:
        """Read the newest scrape; the same reading again if there has been none since.

        Raises:
            SourceError: the server does not answer, does not have this host's series or those of
                several hosts, or its totals are none.
        """
        scraped = self._scrapes.newest()
        if self._reading is None or scraped is not self._scraped:
            if self._falls is None:
                self._falls = self._checked(scraped.text)
            into = host_of(scraped.text, None, self._datadir)
            self._falls.check(into.counters, self._scrapes.place)
            self._scraped = scraped
            self._reading = Reading(scraped.at_s, into.counters, into.gauges, into.facts)
        return self._reading

    def close(self) -> None:
        """Close the connections."""
        self._scrapes.close()

    def _checked(self, text: str) -> Falls:
        """Refuse an exporter whose totals are none, as far as the server knows it now."""
        place = self._scrapes.place
        refuse_rds(text, place)
        for name, kind in self._scrapes.types().items():
            if name in GROWING and kind == "gauge":
                raise no_total(place, name)
        earlier = Falls()
        for number, (name, values) in enumerate(self._scrapes.history(NEVER_FALLING)):
            for value in values:
                earlier.take(str(number), value, name)
        earlier.refuse(place)
        return Falls()


def _matchers(labels: Mapping[str, str], of: Collection[str]) -> str:
    """Some of these labels, as a query has them between braces."""
    return ",".join(f"{label}={quoted(labels[label])}" for label in sorted(of))


def _page(series: Sequence[Mapping[str, Any]]) -> str:
    """The samples as the exporter's page has them.

    Prometheus adds the target's labels (`instance`, `job`, those of its discovery) to each.
    """
    labels = [one["metric"].items() for one in series]
    added = set(labels[0]).intersection(*labels) if labels else set()
    return "\n".join(
        _line(one["metric"]["__name__"], [label for label in own if label not in added], one)
        for own, one in zip(labels, series, strict=True)
    )


def _line(name: str, labels: Sequence[tuple[str, str]], sample: Mapping[str, Any]) -> str:
    inner = ",".join(f"{label}={quoted(text)}" for label, text in labels if label != "__name__")
    return f"{name}{{{inner}}} {sample['value'][1]}"
