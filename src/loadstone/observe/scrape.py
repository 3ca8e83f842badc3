"""Asks a Prometheus exporter over a persistent connection, with a time limit."""

from __future__ import annotations

import base64
import http.client
import time
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from loadstone.model.figure import General
from loadstone.model.message import say
from loadstone.observe.source import SourceError
from loadstone.observe.source_spec import PlaceError

_TIMEOUT_S = 4.0
_BYTES_MAX = 16 << 20
_PIECE = 1 << 16


class RefusedQuery(Exception):
    """The exporter refuses the choice of collectors."""


class StatusError(SourceError):
    """It answers, but not with what was asked for."""

    def __init__(self, place: str, status: int, reason: str) -> None:
        super().__init__(
            say("{place}: it answers {status}", place=place, status=f"{status} {reason}")
        )
        self.status = status


@dataclass(frozen=True)
class Scraped:
    """An exporter's text, and its time on the monotonic clock (the middle of the request)."""

    text: str
    at_s: float


class Exporter:
    """One exporter; a login in its URL is sent, but never displayed."""

    def __init__(self, url: str) -> None:
        """Store the place; nothing is requested yet.

        Raises:
            PlaceError: `url` is not the URL of an exporter.
        """
        parts = _split(url)
        self._tls = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port
        self._path = parts.path if parts.path.strip("/") else "/metrics"
        self._query = parts.query
        self._headers = {"Accept": "text/plain", **_login(parts)}
        place = f"[{self._host}]" if ":" in self._host else self._host
        port = "" if self._port is None else f":{self._port}"
        self.place = f"{parts.scheme}://{place}{port}{self._path}"
        self._connection: http.client.HTTPConnection | None = None

    def get(self, query: str) -> Scraped:
        """Request the metrics once.

        Args:
            query: the collectors, such as `collect[]=cpu`; the URL's own query overrides it.

        Raises:
            RefusedQuery: it answered that it has no such collectors.
            SourceError: it does not answer, or not with metrics.
        """
        fresh = self._connection is None
        try:
            return self._ask(self._query or query)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if not fresh and not isinstance(error, TimeoutError):
                return self._anew(query)  # the exporter had closed the persistent connection
            raise self._failed(error) from None

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _anew(self, query: str) -> Scraped:
        try:
            return self._ask(self._query or query)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._failed(error) from None

    def _ask(self, query: str) -> Scraped:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=_TIMEOUT_S)
            self._connection.connect()
        began = time.monotonic()
        path = f"{self._path}?{query}" if query else self._path
        self._connection.request("GET", path, headers=self._headers)
        with self._connection.getresponse() as answer:
            body = self._body(answer, began + _TIMEOUT_S)
        ended = time.monotonic()
        if answer.will_close:
            self.close()
        if answer.status == http.client.BAD_REQUEST and query and not self._query:
            raise RefusedQuery
        if answer.status != http.client.OK:
            self.close()
            raise StatusError(self.place, answer.status, answer.reason)
        return Scraped(body.decode("utf-8", "replace"), (began + ended) / 2)

    def _body(self, answer: http.client.HTTPResponse, deadline: float) -> bytes:
        got = bytearray()
        # `read1` returns what has arrived, so an exporter that sends byte by byte meets the
        # deadline too.
        while piece := answer.read1(_PIECE):
            got += piece
            if len(got) > _BYTES_MAX:
                self.close()
                raise SourceError(
                    say(
                        "{place}: the answer is larger than {most} MiB",
                        place=self.place,
                        most=_BYTES_MAX >> 20,
                    )
                )
            if time.monotonic() > deadline:
                raise TimeoutError
        return bytes(got)

    def _failed(self, error: Exception) -> SourceError:
        if isinstance(error, TimeoutError):
            return SourceError(
                say(
                    "{place}: no answer within {seconds} s",
                    place=self.place,
                    seconds=General(_TIMEOUT_S),
                )
            )
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return SourceError(say("{place}: {why}", place=self.place, why=" ".join(str(said).split())))


def _split(url: str) -> SplitResult:
    wrong = PlaceError(say("not an exporter's URL"), say("write http://host:9100/metrics"))
    if any(mark.isspace() or not mark.isprintable() or not mark.isascii() for mark in url):
        raise wrong
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # the port is invalid
        known = False
    if not known:
        raise wrong
    return parts


def _login(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}
