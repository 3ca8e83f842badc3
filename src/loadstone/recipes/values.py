"""Parses the values of `--set key=` and translates them into the text of an experiment file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Template

from loadstone.config import values as given
from loadstone.config.values import InvalidValue
from loadstone.model.hints import write, write_either, write_one_of
from loadstone.model.message import Joined, say
from loadstone.model.target_url import SCHEMES, TargetUrlError, tls_versions
from loadstone.recipes.recipe import Kind, Parameter, RecipeRefused
from loadstone.sandbox.programs import SERVERS, families_of_program, is_server_name

SANDBOX = "sandbox"
"""The value of a place without a target."""

_SCHEMES = tuple(f"{scheme}://" for scheme in SCHEMES)


def read(name: str, parameter: Parameter, text: str) -> dict[str, str]:
    """The value's replacements in the experiment, by name.

    Raises:
        RecipeRefused: the value is invalid; the message says what to write instead.
    """
    try:
        if parameter.kind == "choice":
            return {name: json.dumps(text), **_choice(parameter, text)}
        if parameter.kind == "place":
            return {name: _place(parameter, text)}
        if parameter.kind == "size":
            # Servers' own units differ; all of PostgreSQL's settings of memory take bytes.
            in_bytes = json.dumps(f"{given.size_bytes(text)}B")
            return {name: json.dumps(text), f"{name}_in_bytes": in_bytes}
        return {name: READERS[parameter.kind](text)}
    except InvalidValue as unfit:
        said = (
            say("{given}: {wrong}", given=_given(name, text), wrong=unfit.what)
            if text
            else say("{name} is not set: {wrong}", name=name, wrong=unfit.what)
        )
        raise RecipeRefused(said, unfit.write) from None


def _given(name: str, text: str) -> str:
    """The option as users write it: a server's URL mostly follows --target."""
    return f"--{name} {text}" if name == "target" and is_target(text) else f"--set {name}={text}"


def is_target(text: str) -> bool:
    """Whether a place is an existing server, which we do not start."""
    return text.startswith(_SCHEMES)


def families_of(parameter: Parameter, text: str) -> tuple[str, ...]:
    """The families that a server's name or program belongs to; none if it is about no server."""
    if parameter.kind == "server" or is_server_name(text):
        return families_of_program(text)
    return ()


def _choice(parameter: Parameter, text: str) -> Mapping[str, str]:
    # A server may be named with its version: what it needs is the same.
    name = text.partition("-")[0] if is_server_name(text) else text
    if name not in parameter.choices:
        known = Joined(parameter.choices)
        raise InvalidValue(
            say("it is not one of {known}", known=known), write_one_of(parameter.choices)
        )
    return parameter.choices[name]


def _place(parameter: Parameter, text: str) -> str:
    below = f"{parameter.table}." if parameter.table else ""
    if is_target(text):
        given.target(text)
        return _literally(f"[{below}target]\nurl = {json.dumps(text)}")
    if text == SANDBOX and parameter.sandbox:
        return parameter.sandbox.strip()
    if parameter.root is not None and _is_folder(text):
        # The run may be resumed from another working directory.
        whole = Path(text).expanduser().absolute()
        folder = _literally(json.dumps(str(given.folder(str(whole)))))
        return Template(parameter.root).safe_substitute(folder=folder).strip()
    ways = [
        say('a URL, "mysql://user@host:3306/schema"'),
        *([say("the folder of another system (tools/get-debian)")] if parameter.root else []),
        *([SANDBOX] if parameter.sandbox else []),
    ]
    what = (
        say("it names no server")
        if text
        else say("it is {what}, and has no default", what=parameter.about)
    )
    raise InvalidValue(what, write_either(ways))


def _is_folder(text: str) -> bool:
    """Whether it is written as a path: it starts with `~`, or has a slash and is no URL."""
    return text.startswith("~") or ("/" in text and "://" not in text)


def _literally(text: str) -> str:
    """Escape dollar signs, because a place's text is itself filled."""
    return text.replace("$", "$$")


def _checked(reader: Callable[[object], object]) -> Callable[[str], str]:
    """A reader that checks the value and keeps it as written, in quotes."""

    def read(text: str) -> str:
        reader(text)
        return json.dumps(text)

    return read


def _count(text: str) -> str:
    return str(given.count(text))


def _even(text: str) -> str:
    found = given.count(text)
    if found % 2:
        raise InvalidValue(
            say("variants are interleaved in both orders, AB and BA, so it must be even"),
            write(str(found + 1)),
        )
    return str(found)


def _ladder(text: str) -> str:
    return json.dumps(given.levels(text))


def _server(text: str) -> str:
    if not is_server_name(text) and not text.startswith("/"):
        raise InvalidValue(
            say("it is not a server"),
            say("write {known} or the path of a server program", known=Joined(SERVERS)),
        )
    return json.dumps(text)


def _workload(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", text):
        raise InvalidValue(say("it is not a workload"), write("oltp_read_write"))
    return json.dumps(text)


def _tls_version(text: str) -> str:
    try:
        return json.dumps(",".join(tls_versions(text)))
    except TargetUrlError as unfit:
        raise InvalidValue(unfit.message, write("TLSv1.2,TLSv1.3")) from None


READERS: Mapping[Kind, Callable[[str], str]] = {
    "bytes": lambda text: str(given.size_bytes(text)),
    "cores": lambda text: str(given.cores(text)),
    "count": _count,
    "even": _even,
    "ladder": _ladder,
    "phases": _checked(given.phases),
    "rate": _checked(given.bits_per_s),
    "server": _server,
    "time": _checked(given.seconds),
    "tls-version": _tls_version,
    "warmup": _checked(given.warmup),
    "workload": _workload,
}
"""The reader for each kind; for choices, places and sizes see `read`."""
