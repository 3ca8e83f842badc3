"""Asks a Prometheus server for the series of one host or database.

https://prometheus.io/docs/prometheus/latest/querying/api/ describes the requests.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from loadstone.model.message import say
from loadstone.observe.scrape import Exporter, RefusedQuery, StatusError
from loadstone.observe.source import SourceError
from loadstone.observe.source_spec import PlaceError


class NoApiError(SourceError):
    """The answer is not one of Prometheus' API."""


class PrometheusApi:
    """A Prometheus server, and the labels that choose what is read there."""

    def __init__(self, url: str) -> None:
        """Store the place; nothing is requested yet.

        Args:
            url: the server's, with the labels of the series, such as
                `http://prometheus:9090?instance=db1:9100`. A login in it is never displayed.

        Raises:
            PlaceError: `url` is not a URL of http or https, or has no labels.
        """
        base, labels = _split(url)
        self._query = Exporter(f"{base}/api/v1/query")
        self._metadata = Exporter(f"{base}/api/v1/targets/metadata")
        self.place = self._query.place
        """The server's address, without a login."""
        self.labels = ",".join(f"{label}={quoted(value)}" for label, value in labels)
        """As a query has them between braces."""

    def ask(self, query: str, at: float | None = None) -> Any:
        """The result of an instant query, at this Unix time or now.

        Raises:
            SourceError: the server does not answer, or is no Prometheus server.
        """
        when = {} if at is None else {"time": f"{at:.3f}"}
        return self._get(self._query, {"query": query, **when})["result"]

    def types(self, labels: str) -> dict[str, str]:
        """What the targets with these labels declare their metrics to be, by name.

        Empty if it scrapes no such target itself, or has no such request (Thanos, VictoriaMetrics).
        The metadata of all targets (`/api/v1/metadata`) would mix one exporter's with another's.

        Raises:
            SourceError: the server does not answer.
        """
        try:
            found = self._get(self._metadata, {"match_target": f"{{{labels}}}"})
            return {one["metric"]: one["type"] for one in found}
        except StatusError as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return {}
        except (NoApiError, KeyError, TypeError):  # another server's answer to such a request
            return {}

    def close(self) -> None:
        """Close the connections."""
        self._query.close()
        self._metadata.close()

    def _get(self, place: Exporter, parameters: dict[str, str]) -> Any:
        try:
            return json.loads(place.get(urlencode(parameters)).text)["data"]
        except (RefusedQuery, ValueError, KeyError, TypeError):
            raise NoApiError(
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


def is_prometheus(url: str) -> bool:
    """Whether a URL has labels where an exporter's has its page: it is a Prometheus server's."""
    parts = urlsplit(url)
    labels = [label for label, _ in parse_qsl(parts.query)]
    is_page = parts.path.rstrip("/").endswith("/metrics")
    return bool(labels) and not is_page and all(map(str.isidentifier, labels))


def quoted(text: str) -> str:
    """A label's value as a query has it."""
    return json.dumps(text, ensure_ascii=False)


def shown(url: str) -> str:
    """The URL without a login, as a name for what was read there."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host, fragment=""))
