"""Marks each step of a run in Grafana, and so in PMM, as a region on all of its graphs.

A thread follows the run's journal and posts what has ended, so a slow or dead Grafana holds no load
up. The API is "Annotations HTTP API" of grafana.com/docs/grafana/latest/developers/http_api.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Message, say, user_count
from loadstone.model.plan import Step
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import Entry, RunBegin, StepBegin, StepEnd
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.selection import workload_of
from loadstone.runs.tail import Tail

TOKEN = "LOADSTONE_GRAFANA_TOKEN"
"""The environment variable with the token of a service account that may write annotations."""

_PATH = "/api/annotations"
_EVERY_S = 1.0
_ANSWER_S = 3.0
_LAST_S = 5.0
"""How long the end of a run waits for its last annotations."""


class NoPlaceForAnnotations(LoadstoneError):
    """The URL cannot be Grafana's."""

    exit_code = ExitCode.USAGE


def api_url(text: str) -> str:
    """The URL of the API below Grafana's own URL: that of PMM's Grafana ends with `/graph`.

    Raises:
        NoPlaceForAnnotations: it is not the URL of a web server, or has a password in it.
    """
    try:
        parts = urlsplit(text)
        is_place = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_place = is_place and parts.port != 0  # which checks the port, too
    except ValueError:
        is_place = False
    if not is_place:
        raise NoPlaceForAnnotations(
            say("--annotate {text} is no URL of Grafana", text=text),
            say("write https://grafana.example, or https://pmm.example/graph for PMM"),
        )
    if parts.username is not None or parts.password is not None:
        raise NoPlaceForAnnotations(
            say("--annotate takes no user or password in the URL"),
            say("put the token of a service account into {variable}", variable=TOKEN),
        )
    path = parts.path.rstrip("/").removesuffix(_PATH) + _PATH
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for this server alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass
class Annotator:
    """Posts one annotation a step; the first failure is kept, and nothing is posted after it."""

    url: str
    token: str | None = field(default=None, repr=False)
    failed: Message | None = None
    posted: int = 0
    _run: RunBegin | None = None
    _begun: dict[int, tuple[Step, float]] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Process the journal's next line."""
        match entry:
            case RunBegin():
                self._run = entry
            case StepBegin(step=step, at_s=at_s):
                self._begun[step.number] = (step, at_s)
            case StepEnd(step=number, at_s=at_s) if number in self._begun and self._run:
                step, began_s = self._begun.pop(number)
                self._post(annotation(self._run, step, began_s, at_s))

    def _post(self, body: dict[str, Any]) -> None:
        if self.failed is not None:
            return
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        asked = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.build_opener(_Stays).open(asked, timeout=_ANSWER_S):
                self.posted += 1
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.failed = say(
                "steps are not marked in Grafana any more: {url}: {why}",
                url=self.url,
                why=_why(error),
            )


def _why(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    return str(getattr(error, "reason", "") or error)


def annotation(run: RunBegin, step: Step, from_s: float, to_s: float) -> dict[str, Any]:
    """A region over a step's load, from connecting to the last answer; times in ms since 1970."""
    workload = workload_of(run.plan) or ""
    planned = f" of {run.steps_planned}" if run.steps_planned else ""
    text = f"loadstone {run.name}: {step.workload}, {user_count(step.concurrency)}"
    return {
        "time": round((run.unix_s + from_s) * 1000),
        "timeEnd": round((run.unix_s + to_s) * 1000),
        "tags": ["loadstone", *dict.fromkeys(filter(None, (workload, run.id)))],
        "text": f"{text}, step {step.number}{planned}, {step.variant}",
    }


@contextmanager
def annotating(url: str) -> Iterator[tuple[Annotator, Callable[[Path], None]]]:
    """Yields the annotator, and the function to call with the run's folder.

    Raises:
        NoPlaceForAnnotations: see `api_url`.
    """
    # Taken out, so that no server or page that is started from here on inherits it.
    annotator, over = Annotator(api_url(url), os.environ.pop(TOKEN, None)), threading.Event()
    threads: list[threading.Thread] = []

    def begun(folder: Path) -> None:
        thread = threading.Thread(
            target=_follow,
            args=(annotator, folder, over),
            name="loadstone annotations",
            daemon=True,
        )
        threads.append(thread)
        thread.start()

    try:
        yield annotator, begun
    finally:
        over.set()
        for thread in threads:
            thread.join(_LAST_S)


def _follow(annotator: Annotator, folder: Path, over: threading.Event) -> None:
    tail, until = Tail(folder / JOURNAL), None
    while annotator.failed is None:
        if over.is_set() and until is None:
            until = time.monotonic() + _LAST_S
        try:
            found = tail.read()
        except StoreError as error:
            annotator.failed = say("steps are not marked in Grafana: {why}", why=error.message)
            return
        for written in found:
            annotator.take(written.entry)
        if until is not None and (not found or time.monotonic() > until):
            return
        if not found:
            over.wait(_EVERY_S)
