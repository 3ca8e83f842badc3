"""A page's server on a free loopback port, and clients that can send what a browser would not."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from loadstone.model.language import ENGLISH, Language
from loadstone.web import app, serving
from loadstone.web.access import Keys
from loadstone.web.address import Address, listen
from loadstone.web.begin.offers import Offers
from loadstone.web.diagnosis import diagnoses, findings
from loadstone.web.documents import Wanted, made
from loadstone.web.hub import Hub
from loadstone.web.tls import TlsFiles

PATIENCE_S = 150.0
"""Seconds to wait: what takes longer hangs. A process of low priority that the page asks has two
minutes for its answer."""

JSON = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Event:
    """An event of a stream."""

    name: str
    data: Any
    number: str | None


@dataclass
class Stream:
    """A stream of events, parsed as it arrives."""

    response: http.client.HTTPResponse
    connection: http.client.HTTPConnection
    events: list[Event] = field(default_factory=list)

    def until(self, name: str) -> Event:
        """The next event with this name; earlier ones are kept."""
        while (event := self.next()).name != name:
            continue
        return event

    def next(self) -> Event:
        fields: dict[str, str] = {}
        while True:
            line = self.response.readline().decode()
            assert line, f"the stream ended after {[event.name for event in self.events]}"
            text = line.rstrip("\n")
            if not text and "event" in fields:
                break
            name, _, value = text.partition(": ")
            if name:
                fields[name] = value
        event = Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
        self.events.append(event)
        return event

    def close(self) -> None:
        self.response.close()
        self.connection.close()


@dataclass(frozen=True)
class Served:
    """A running server."""

    address: Address
    keys: Keys

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.address.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/"

    @property
    def link(self) -> str:
        """The link as it is printed."""
        return self.address.link(self.keys.token)

    @property
    def cookie_name(self) -> str:
        return self.keys.cookie_name(self.address.port)

    @property
    def cookie(self) -> str:
        """The cookie of a browser that has opened the page."""
        return f"{self.cookie_name}={self.keys.fresh_cookie()}"

    def cookie_of(self, name: str) -> str:
        """The cookie of a browser in which one of the users has opened the page."""
        person = self.keys.users[name].person(name)
        return f"{self.cookie_name}={self.keys.fresh_cookie(person)}"

    def get(self, path: str, **headers: str) -> Answer:
        """A GET as from the page; a header that is empty is not sent."""
        return self._ask("GET", path, None, {"Cookie": self.cookie} | headers)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        """A POST as from the page's script; a header that is empty is not sent."""
        own = {
            "Origin": f"http://{self.host}",
            "Cookie": self.cookie,
            "X-Loadstone": "1",
            "Sec-Fetch-Site": "same-origin",
        }
        return self._ask("POST", path, json.dumps(body).encode(), own | headers)

    def stream(self, run: str | None = None, **headers: str) -> Stream:
        connection = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=PATIENCE_S)
        path = f"/api/events?run={run}" if run else "/api/events"
        own = {"Host": self.host, "Cookie": self.cookie}
        connection.request("GET", path, headers=own | headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        return Stream(response, connection)

    def _ask(self, how: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in ({"Host": self.host} | named).items() if value}
        connection = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=PATIENCE_S)
        try:
            connection.request(how, path, body, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()


async def _findings_here(run: Path) -> list[JSON]:
    """The scripted engine is in this process, and in no other that would judge a run."""
    return await asyncio.to_thread(findings, run)


async def _made_here(document: str, runs: Sequence[Path], words: Language = ENGLISH) -> str:
    wanted = Wanted(document=document, folders=tuple(runs), language=words.code)
    return await asyncio.to_thread(made, wanted)


@contextmanager
def served(
    runs: Path,
    keys: Keys | None = None,
    port: int = 0,
    offers: Offers | None = None,
    tls: TlsFiles | None = None,
) -> Iterator[Served]:
    """Serve the page of these runs for the block."""
    listening = listen(Address("127.0.0.1", port, tls))
    keys = keys or Keys()
    over = threading.Event()

    async def until(hub: Hub) -> None:
        while not over.is_set():
            await asyncio.sleep(0.02)

    thread = threading.Thread(
        target=serving.serve_page, args=(runs, listening, keys, until, offers)
    )
    with (
        mock.patch.object(serving, "findings_apart", _findings_here),
        mock.patch.object(app, "made_apart", _made_here),
        mock.patch.object(app, "diagnoses_apart", diagnoses),
    ):
        thread.start()
        try:
            yield Served(listening[1], keys)
        finally:
            over.set()
            thread.join(PATIENCE_S)
            listening[0].close()
    assert not thread.is_alive(), "the server did not end"
