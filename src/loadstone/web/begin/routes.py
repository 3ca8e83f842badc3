"""What the page may ask to begin work: choices, checks, dry runs, starts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from loadstone.model.frozen import Frozen
from loadstone.model.language import Lang
from loadstone.model.message import Message, say, say_in
from loadstone.model.refusals import first_refusal
from loadstone.model.target import Target
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.web.access import PERSON
from loadstone.web.audit import Audit
from loadstone.web.begin.begun import Asked, Begun, TooMany, fresh_id
from loadstone.web.begin.dry_run import NoAnswer, Said, Tickets, said_by
from loadstone.web.begin.forms import (
    THROWAWAY,
    Form,
    ProveForm,
    RecipeForm,
    RunForm,
    TargetText,
    command_line,
)
from loadstone.web.begin.offers import Offers
from loadstone.web.listing import RunList, UnknownRun
from loadstone.web.localize import translations
from loadstone.web.people import Person

AT_ONCE = 2
"""Dry runs and checks at the same time: each starts a process."""

_TICKET = 64


class _Check(Frozen):
    target: TargetText
    language: Lang = "en"


class _Look(Frozen):
    form: Form
    language: Lang = "en"


class _Start(_Look):
    ticket: Annotated[str, Field(max_length=_TICKET)]


Body = Callable[[Request], Awaitable[Any]]
"""Reads the JSON document of a request."""


class BeginRoutes:
    """The routes of one folder of runs."""

    def __init__(self, runs: RunList, offers: Offers, body: Body) -> None:
        self.begun = Begun(runs.runs)
        self.audit = Audit(runs.runs)
        self._runs = runs
        self._offers = offers
        self._body = body
        self._tickets = Tickets()
        self._asking = asyncio.Semaphore(AT_ONCE)

    def routes(self) -> Sequence[Route]:
        """The routes; each checks the person's rights itself."""
        return [
            Route("/api/begin", self._choices),
            Route("/api/begin/check", self._check, methods=["POST"]),
            Route("/api/begin/look", self._look, methods=["POST"]),
            Route("/api/begin/start", self._start, methods=["POST"]),
            Route("/api/begun", self._list),
            Route("/api/begun/{id}/stop", self._stop, methods=["POST"]),
            Route("/api/runs/{run}/ask", self._asking_of),
        ]

    async def _choices(self, request: Request) -> Response:
        person = _who(request)
        if not person.may_run:
            raise HTTPException(403, _MAY_NOT_BEGIN)
        before = [] if person.targets is not None else self._targets_before()
        offered = await asyncio.to_thread(self._offers.for_person, person.targets, before)
        return JSONResponse(offered)

    def _targets_before(self) -> list[str]:
        acts = (self.begun.find(each["id"]) for each in self.begun.lines())
        return [url for act in acts if act for url in act.targets if url != THROWAWAY]

    async def _check(self, request: Request) -> Response:
        asked = _parsed(_Check, await self._body(request))
        person = await self._allowed(request, "check", (asked.target,))
        words = ("check", f"--target={asked.target}")
        await self._noted(person, "check", "asked", command=command_line(words))
        said = await self._said(words, asked.language)
        return JSONResponse(_as_json(words, said))

    async def _look(self, request: Request) -> Response:
        asked = _parsed(_Look, await self._body(request))
        form = asked.form
        targets = await asyncio.to_thread(self._targets, form)
        person = await self._allowed(request, f"look at {form.kind}", targets)
        words = form.words(self._runs.runs)
        dry = (*words, "--dry-run")
        # Looking, too, logs in to servers.
        await self._noted(person, f"look at {form.kind}", "asked", command=command_line(dry))
        said = await self._said(dry, asked.language)
        # The dry run of an experiment lists what it changes on a target, and asks for no consent.
        is_asked = isinstance(form, RecipeForm) and targets != (THROWAWAY,)
        may_start = said.code == 0 and (form.yes or not is_asked)
        ticket = self._tickets.of(person.name, words) if may_start else None
        shown = _as_json(words, said)
        needs_yes = shown["needs_yes"] or is_asked
        is_more = _proves(form) and not form.yes and said.offers_more
        return JSONResponse(
            {**shown, "needs_yes": needs_yes, "more_with_yes": is_more, "ticket": ticket}
        )

    async def _start(self, request: Request) -> Response:
        asked = _parsed(_Start, await self._body(request))
        form, act = asked.form, f"begin {asked.form.kind}"
        targets = await asyncio.to_thread(self._targets, form)
        person = await self._allowed(request, act, targets)
        words = form.words(self._runs.runs)
        command = command_line(words)
        if not self._tickets.is_of(asked.ticket, person.name, words):
            await self._noted(person, act, "refused", command=command)
            raise HTTPException(409, say("look first at what this will do: it was not shown yet"))
        now = time.time()
        begun = Asked(
            id=fresh_id(now), kind=form.kind, words=words, targets=targets, who=person.name,
            unix_s=now, run=form.run if isinstance(form, ProveForm) else None,
        )  # fmt: skip
        await self._noted(person, act, "started", command=command, id=begun.id)
        try:
            await asyncio.to_thread(self.begun.start, begun, asked.language)
        except TooMany as error:
            await self._noted(person, act, "refused", command=command, id=begun.id)
            why = say("too many commands are at work: wait for one, or stop one")
            raise HTTPException(429, why) from error
        except StoreError:
            await self._noted(person, act, "failed", command=command, id=begun.id)
            raise
        return JSONResponse({"id": begun.id, "command": command}, 202)

    async def _list(self, request: Request) -> Response:
        lines = await asyncio.to_thread(self.begun.lines)
        return JSONResponse({"begun": lines, "told": translations(each["said"] for each in lines)})

    async def _stop(self, request: Request) -> Response:
        which = request.path_params["id"]
        known = await asyncio.to_thread(self.begun.find, which)
        if known is None:
            raise HTTPException(404, say("nothing of that name was started here"))
        person = _who(request)
        if not (person.may_run and (person.targets is None or known.who == person.name)):
            await self._noted(person, "stop", "refused", id=which)
            raise HTTPException(403, say("you may stop only what you started"))
        await self._noted(person, "stop", "asked", id=which)
        if not await asyncio.to_thread(self.begun.stop, which):
            raise HTTPException(409, say("it is over"))
        return JSONResponse({"asked": which}, 202)

    async def _asking_of(self, request: Request) -> Response:
        """The command that asks something of a run under way, without what is asked."""
        words = ("runs", "ask", _found(self._runs, request.path_params["run"]).name)
        return JSONResponse({"command": command_line((*words, f"--out={self._runs.runs}"))})

    async def _said(self, words: Sequence[str], language: str) -> Said:
        async with self._asking:
            try:
                return await said_by(words, language)
            except NoAnswer as error:
                why = say("loadstone did not answer in time: is the server reachable?")
                raise HTTPException(504, why) from error

    def _targets(self, form: RunForm | RecipeForm | ProveForm) -> tuple[str, ...]:
        """The targets of a form.

        Raises:
            HTTPException: there is no such recipe, run or place.
        """
        match form:
            case RunForm():
                return form.targets
            case RecipeForm():
                return self._places(form)
            case ProveForm():
                return self._targets_of_run(form.run)

    def _places(self, form: RecipeForm) -> tuple[str, ...]:
        kinds = self._offers.kinds_of(form.recipe)
        if kinds is None:
            raise HTTPException(404, say("there is no such recipe"))
        for name, value in form.given.items():
            _check_value(name, value, kinds.get(name, ""))
        places = (value for name, value in form.given.items() if kinds.get(name) == "place")
        return tuple(value for value in places if "://" in value) or (THROWAWAY,)

    def _targets_of_run(self, name: str) -> tuple[str, ...]:
        """What a run reached: of one that was begun here, what was asked for."""
        run = _found(self._runs, name)
        return self.begun.targets_of(run.name) or _recorded_targets(run)

    async def _allowed(self, request: Request, act: str, targets: Sequence[str]) -> Person:
        """The person, who may do that.

        Raises:
            HTTPException: the person's rights do not allow it; a line says so.
        """
        person = _who(request)
        if person.may_run and person.may_reach(targets):
            return person
        await self._noted(person, act, "refused", targets=list(targets))
        why = say("you may not use this target") if person.may_run else _MAY_NOT_BEGIN
        raise HTTPException(403, why)

    async def _noted(self, person: Person, act: str, outcome: str, **more: Any) -> None:
        await asyncio.to_thread(self.audit.note, person.name, act, outcome, **more)


def _proves(form: RunForm | RecipeForm | ProveForm) -> bool:
    """Whether trials are begun, each of which may need consent of its own."""
    return isinstance(form, ProveForm) or (isinstance(form, RunForm) and form.prove)


_MAY_NOT_BEGIN = say("this page was not started with --may-run, or you may only watch")


def _who(request: Request) -> Person:
    person = request.scope[PERSON]
    assert isinstance(person, Person), "the guard lets nobody else in"
    return person


def _check_value(name: str, value: str, kind: str) -> None:
    """Refuse a value of a recipe's parameter that names a file, or has a password.

    Raises:
        HTTPException: it does.
    """
    if not value.isprintable():
        raise HTTPException(400, _about(name, say("there are control characters in it")))
    if kind == "place" and "://" in value:
        _parsed(_Check, {"target": value})
    elif kind not in _WITH_SLASHES and ("/" in value or "\\" in value):
        why = say("a path is not accepted on the page: use the command line")
        raise HTTPException(400, _about(name, why))


def _about(name: str, why: Message) -> Message:
    return say_in("joined", "{first}: {second}", first=name, second=why)


_WITH_SLASHES = ("ladder", "phases", "rate")
"""The kinds of parameters whose values may have slashes, and never name a file: `1..4000/10`."""


def _found(runs: RunList, name: str) -> Path:
    """The folder of a run.

    Raises:
        HTTPException: there is none of that name.
    """
    try:
        return runs.find(name)
    except UnknownRun as error:
        raise HTTPException(404, say("there is no run of that name")) from error


def _recorded_targets(run: Path) -> tuple[str, ...]:
    """The targets of a run's plan.

    Raises:
        HTTPException: it has none, so that nobody can be allowed to reach them.
    """
    plan = run_folder.load(run).run.plan or {}
    found = tuple(Target.model_validate(each).url for each in plan.get("targets", ()))
    if not found:
        raise HTTPException(400, say("the run does not say which server it was about"))
    return found


def _parsed(kind: type[Any], document: Any) -> Any:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        raise HTTPException(400, first_refusal(error)) from error


def _as_json(words: Sequence[str], said: Said) -> dict[str, Any]:
    return {
        "command": command_line(words),
        "text": said.text,
        "code": said.code,
        "needs_yes": said.needs_yes,
    }
