"""The server that a command line names, by libpq's rules.

The last word of the command line may be a database's name, or all parameters of the connection: a
URL, or `name=value …` (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING).
What is missing comes from the environment, as for all targets of PostgreSQL; without a database it
is the user's name.
"""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, unquote, urlencode

from pydantic import SecretStr

from loadstone.families import FAMILIES
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.errors import LoadstoneError
from loadstone.model.message import plain
from loadstone.model.target import Credentials, Endpoint
from loadstone.model.target_url import split_url
from loadstone.pgbench import startup
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.settings import Place
from loadstone.postgresql.services import WITHOUT_EFFECT
from loadstone.runner.endpoints import known
from loadstone.servers.endpoint_request import EndpointRequest

_SCHEMES = ("postgresql://", "postgres://")
_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)")
_ESCAPED = re.compile(r"\\(.)")
_PASSWORD = "password"
_OPTIONS = "options"
_NOT_IN_URLS = {_PASSWORD, _OPTIONS, *WITHOUT_EFFECT}


@dataclass(frozen=True)
class Meant:
    """The server of a command line, and what each session there executes first."""

    endpoint: Endpoint
    startup: tuple[str, ...] = ()


def meant_by(place: Place, environment: Mapping[str, str]) -> Meant:
    """The server with the login; its options from the parameters, or from `PGOPTIONS`.

    Raises:
        Failed: the parameters cannot be read, or none of several hosts will do.
    """
    return Meant(endpoint_of(place), startup.statements(_options(place), environment))


def _options(place: Place) -> str | None:
    """The parameter `options`, with which all goes well that `endpoint_of` has read."""
    database = place.database or ""
    if not database.startswith(_SCHEMES):
        return _parameters(database).get(_OPTIONS)
    said = dict(_pair(each) for each in split_url(database).query.split("&") if each)
    return said.get(_OPTIONS)


def endpoint_of(place: Place) -> Endpoint:
    """The server with the login; of several hosts, the first that will do.

    Raises:
        Failed: the parameters cannot be read, or none of several hosts will do.
    """
    try:
        url, password = _url(place)
        meant = FAMILIES[POSTGRESQL].candidates(EndpointRequest(url=url), getpass.getpass)
        return meant.choose([_completed(each, password) for each in meant.endpoints])
    except Failed:
        raise
    except LoadstoneError as error:
        raise Failed(error.message, hint=error.hint or "") from error


def _url(place: Place) -> tuple[str, str | None]:
    """The server as a URL, and a password that is not in it.

    What the last word says goes before options, as for libpq.

    Raises:
        Failed: the parameters cannot be read.
        TargetUrlError: the URL cannot be read.
    """
    options = {"host": place.host, "port": place.port, "user": place.user}
    given = {name: value for name, value in options.items() if value}
    database = place.database or ""
    if not database.startswith(_SCHEMES):
        parameters = given | _parameters(database)
        password = parameters.pop(_PASSWORD, None)
        parameters.pop(_OPTIONS, None)
        return f"postgresql://{_query(parameters.items())}", password
    parts = split_url(database)
    said = [_pair(each) for each in parts.query.split("&") if each]
    named = _named_in(parts) | {name for name, _ in said}
    said += [(name, value) for name, value in given.items() if name not in named]
    passwords = [value for name, value in said if name == _PASSWORD]
    kept = [(name, value) for name, value in said if name not in _NOT_IN_URLS]
    url = f"{parts.scheme}://{parts.netloc}{parts.path}{_query(kept)}"
    return url, passwords[-1] if passwords else None


def _pair(text: str) -> tuple[str, str]:
    """Name and value of a URL's parameter; a plus is one, as for libpq."""
    name, _, value = text.partition("=")
    return unquote(name), unquote(value)


def _query(parameters: Iterable[tuple[str, str]]) -> str:
    found = urlencode(list(parameters), quote_via=quote)
    return f"?{found}" if found else ""


def _named_in(parts: SplitResult) -> set[str]:
    """The parameters that a URL names in front of its database."""
    login, _, places = parts.netloc.rpartition("@")
    named = {"host"} if places else set()
    named |= {"port"} if re.search(r":\d+($|,)", places) else set()
    return named | ({"user"} if login else set())


def _parameters(database: str) -> dict[str, str]:
    """The parameters of `name=value …`; a text without `=` is a database's name."""
    if "=" not in database:
        return {"dbname": database} if database else {}
    found: dict[str, str] = {}
    at = 0
    while at < len(database.rstrip()):
        pair = _PAIR.match(database, at)
        if pair is None:
            raise Failed(
                "the parameters of the connection are not written as name=value name='value'"
            )
        value = pair[2] if pair[2] is not None else pair[3]
        found[pair[1]] = _ESCAPED.sub(r"\1", value)
        at = pair.end()
    return {name: text for name, text in found.items() if text and name not in WITHOUT_EFFECT}


def _completed(endpoint: Endpoint, password: str | None) -> Endpoint:
    """With what the parameters say of the password; without a database it is the user's name."""
    target = endpoint.target
    update: dict[str, object] = {}
    if not target.database:
        update["target"] = target.model_copy(update={"database": target.user})
    if password is not None:
        given = Credentials(password=SecretStr(password), source=plain("password="))
        update["credentials"] = given
    return known(endpoint.model_copy(update=update))
