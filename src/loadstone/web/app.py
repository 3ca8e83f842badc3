"""The page's server as an ASGI application: its routes and their handlers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from loadstone import __version__
from loadstone.analyse.matrix import ComparisonError
from loadstone.model.control import AnyWish, SetRate, SetUsers, StopRun
from loadstone.model.errors import LoadstoneError
from loadstone.model.language import ENGLISH, Language, named
from loadstone.model.message import say
from loadstone.model.refusals import first_refusal
from loadstone.runs import control_requests, run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.selection import Selection
from loadstone.web import comparing, trends
from loadstone.web.access import PERSON, Guard, Keys
from loadstone.web.apart import NoAnswer
from loadstone.web.begin.forms import command_line
from loadstone.web.begin.offers import Offers
from loadstone.web.begin.routes import BeginRoutes
from loadstone.web.documents import made_apart
from loadstone.web.hub import Hub
from loadstone.web.judge import diagnoses_apart
from loadstone.web.listing import UnknownRun
from loadstone.web.localize import translations
from loadstone.web.metrics import Metrics
from loadstone.web.pages import PAGE, pages
from loadstone.web.people import Person

DOCUMENT_POLICY = "sandbox allow-scripts allow-popups; frame-ancestors 'none'"
"""What a report may do in the browser. Its own policy allows its two scripts by their hashes; this
one gives it an origin of its own, so whatever it does, it cannot ask this server for anything.
"""

LARGEST_BODY = 4096
"""Maximum bytes of a request body; a wish has about fifty."""

BODY_S = 10.0
"""How long a request body may take to arrive."""

DOCUMENTS_AT_ONCE = 2
"""Reports, comparisons and trends made at the same time: each keeps a core busy for seconds."""

_WISHES: dict[str, type[AnyWish]] = {"stop": StopRun, "users": SetUsers, "rate": SetRate}


def page_app(hub: Hub, keys: Keys, names: frozenset[str], offers: Offers | None = None) -> ASGIApp:
    """The live page of a folder of runs.

    `names` are the names of this machine that browsers may use, `offers` what those who may begin
    runs can choose from.
    """
    return Guard(_Site(hub, keys, offers or Offers()).app(), keys, names)


class _Site:
    def __init__(self, hub: Hub, keys: Keys, offers: Offers) -> None:
        self._hub = hub
        self._keys = keys
        self._begin = BeginRoutes(hub.list, offers, _body)
        self._files = pages()
        self._metrics = Metrics(hub.list.running, diagnoses_apart)
        self._making = asyncio.Semaphore(DOCUMENTS_AT_ONCE)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self._page),
                Route("/static/{name}", self._file),
                Route("/api/events", self._events),
                Route("/api/runs", self._runs),
                Route("/api/runs/{run}", self._run),
                Route("/api/runs/{run}/share", self._share, methods=["POST"]),
                Route("/api/runs/{run}/{wish}", self._wish, methods=["POST"]),
                Route("/api/me", self._me),
                Route("/api/compare", self._compare),
                Route("/api/trend", self._trend),
                Route("/runs/{run}/report", self._report),
                Route("/runs/{run}/result.json", self._exported),
                Route("/compare", self._comparison),
                Route("/metrics", self._scrape),
                *self._begin.routes(),
            ],
            lifespan=self._lifespan,
            exception_handlers={
                HTTPException: _as_json,
                UnknownRun: _unknown,
                ComparisonError: _not_comparable,
                LoadstoneError: _failed,
            },
        )

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(self._hub.look())
        try:
            yield
        finally:
            self._hub.close()
            looking.cancel()

    async def _page(self, request: Request) -> Response:
        return self._files[PAGE].response(request)

    async def _file(self, request: Request) -> Response:
        found = self._files.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404, say("there is no such file"))
        return found.response(request)

    async def _events(self, request: Request) -> Response:
        name = request.query_params.get("run")
        run = self._hub.list.find(name) if name else None
        last = _number(request.headers.get("last-event-id"))
        stream = self._hub.stream(run, last, only=_who(request).only)
        return StreamingResponse(
            stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def _runs(self, request: Request) -> Response:
        await self._hub.look_now()
        return JSONResponse({"loadstone": __version__, "runs": self._hub.list.lines})

    async def _run(self, request: Request) -> Response:
        run = self._hub.list.find(request.path_params["run"])
        made = await self._made("rows", [run]) if request.method == "GET" else ""
        return Response(made, media_type="application/json")

    async def _compare(self, request: Request) -> Response:
        runs = self._compared(request)
        found = json.loads(await self._made("compared", runs))
        command = command_line(comparing.command_words(runs, self._hub.list.runs))
        return JSONResponse({**found, "command": command})

    async def _comparison(self, request: Request) -> Response:
        runs = self._compared(request)
        return _document(await self._made("comparison", runs, _language(request)))

    def _compared(self, request: Request) -> list[Path]:
        """The runs of a query, the baseline first.

        Raises:
            UnknownRun: there is no run of such a name.
            HTTPException: they are too many, or not two.
        """
        names = request.query_params.getlist("run")
        if not 2 <= len(names) <= comparing.MOST:
            why = say("between two and {most} runs can be compared", most=comparing.MOST)
            raise HTTPException(400, why)
        different = list(dict.fromkeys(names))
        return [self._hub.list.find(name) for name in (different if different[1:] else names)]

    async def _trend(self, request: Request) -> Response:
        """The trend of the runs that a query selects."""
        query = request.query_params
        selection = Selection(**{name: query.get(name, "") for name in Selection.model_fields})
        await self._hub.look_now()
        try:
            found = json.loads(await self._made("trend", self._hub.list.chosen(selection)))
        except (NoAnswer, StoreError) as error:
            raise HTTPException(500, say("the runs could not be followed")) from error
        command = command_line(trends.command_words(selection, self._hub.list.runs))
        return JSONResponse({**found, "command": command})

    async def _wish(self, request: Request) -> Response:
        run = self._hub.list.find(request.path_params["run"])
        kind = _WISHES.get(request.path_params["wish"])
        if kind is None:
            raise HTTPException(404, say("nothing of that name can be asked of a run"))
        wish = _parsed(kind, await _body(request))
        person, act = _who(request), request.path_params["wish"]
        if not await asyncio.to_thread(self._may_steer, person, run):
            await self._noted(person, act, "refused", run=run.name)
            raise HTTPException(403, say("you may watch this run, and not change it"))
        if not run_folder.is_running(run):
            raise HTTPException(409, say("the run is over"))
        await self._noted(person, act, "asked", run=run.name, wish=wish.model_dump())
        await asyncio.to_thread(control_requests.ask, run, wish)
        return JSONResponse({"asked": wish.model_dump()}, 202)

    def _may_steer(self, person: Person, run: Path) -> bool:
        """Whether the person may stop or change the run: anyone's, or one that the person began."""
        if not person.may_steer:
            return False
        return person.targets is None or self._begin.begun.who_began(run.name) == person.name

    async def _noted(self, person: Person, act: str, outcome: str, **more: Any) -> None:
        await asyncio.to_thread(self._begin.audit.note, person.name, act, outcome, **more)

    async def _me(self, request: Request) -> Response:
        """Who is looking, and what the page offers to that person."""
        person = _who(request)
        return JSONResponse(
            {
                "name": person.name,
                "may_run": person.may_run,
                "may_steer": person.may_steer,
                "only": person.only,
            }
        )

    async def _share(self, request: Request) -> Response:
        """A token for the address of one run, which lets others read it."""
        run = self._hub.list.find(request.path_params["run"])
        person = _who(request)
        await self._noted(person, "share", "made", run=run.name)
        return JSONResponse({"token": self._keys.share(person, run.name)})

    async def _report(self, request: Request) -> Response:
        run = self._hub.list.find(request.path_params["run"])
        return _document(await self._made("report", [run], _language(request)))

    async def _exported(self, request: Request) -> Response:
        """The run's result, as `loadstone runs show RUN --json` prints it, as a file."""
        run = self._hub.list.find(request.path_params["run"])
        headers = {"content-disposition": "attachment; filename=result.json"}
        made = await self._made("result", [run])
        return Response(made, media_type="application/json", headers=headers)

    async def _made(self, document: str, runs: Sequence[Path], words: Language = ENGLISH) -> str:
        async with self._making:
            return await made_apart(document, runs, words)

    async def _scrape(self, request: Request) -> Response:
        return await self._metrics.response(request)


def metrics_app(runs: Callable[[], Iterable[Path]]) -> ASGIApp:
    """An application that serves `/metrics` of these runs, and nothing else."""
    metrics = Metrics(runs)

    async def scrape(request: Request) -> Response:
        return await metrics.response(request)

    return Starlette(routes=[Route("/metrics", scrape)])


def _document(made: str) -> Response:
    """A report or a comparison as a response; it brings its own scripts."""
    return HTMLResponse(made, headers={"content-security-policy": DOCUMENT_POLICY})


async def _body(request: Request) -> Any:
    try:
        async with asyncio.timeout(BODY_S):
            body = await _whole(request)
    except TimeoutError as error:
        raise HTTPException(408, say("the request did not finish in time")) from error
    try:
        return json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, say("the request is not JSON")) from error


async def _whole(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_BODY:
            raise HTTPException(413, say("the request is too large"))
    return body


def _parsed(kind: type[AnyWish], document: Any) -> AnyWish:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        raise HTTPException(400, first_refusal(error)) from error


def _number(text: str | None) -> int | None:
    """The last event number that a browser reports; `None` if it is not a valid number."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text)


def _who(request: Request) -> Person:
    person = request.scope[PERSON]
    assert isinstance(person, Person), "the guard lets nobody else in"
    return person


def _language(request: Request) -> Language:
    """The language of the page that sent the request."""
    return named(request.query_params.get("lang", ""))


def _problem(why: str) -> dict[str, Any]:
    """An error and its translations."""
    return {"error": why, "told": translations([why])}


async def _as_json(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(_problem(error.detail), error.status_code, headers=error.headers)


async def _unknown(request: Request, error: Exception) -> Response:
    return JSONResponse(_problem(say("there is no run of that name")), 404)


async def _not_comparable(request: Request, error: Exception) -> Response:
    assert isinstance(error, ComparisonError)
    return JSONResponse(_problem(error.message), 422)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, LoadstoneError)
    return JSONResponse(_problem(error.message), 500)
