"""The server that a command line names, by libpq's rules.

The last word of the command line may be a database's name, or all parameters of the connection: a
URL, or `name=value …` (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING).
What is missing comes from the environment, as for all targets of PostgreSQL; without a database it
is the user's name.
"""

from __future__ import annotations

import getpass
import re
from pathlib import Path
from urllib.parse import quote, urlencode

from pydantic import SecretStr

from loadstone.families import FAMILIES
from loadstone.lab.protection.whereabouts import with_listener
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.errors import LoadstoneError
from loadstone.model.message import plain
from loadstone.model.target import Credentials, Endpoint, port_in
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.settings import Place
from loadstone.servers.endpoint_request import EndpointRequest

_SCHEMES = ("postgresql://", "postgres://")
_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)")
_ESCAPED = re.compile(r"\\(.)")
_PASSWORD = "password"


def endpoint_of(place: Place) -> Endpoint:
    """The server with the login.

    Raises:
        Failed: the parameters cannot be read, or none of several hosts can be used.
    """
    parameters = _parameters(place.database or "")
    password = parameters.pop(_PASSWORD, None)
    meant = FAMILIES[POSTGRESQL].candidates
    try:
        found = meant(_request(place, parameters), prompt=getpass.getpass)
        return found.choose([_completed(each, password) for each in found.endpoints])
    except LoadstoneError as error:
        raise Failed(error.message, hint=error.hint or "") from error


def _completed(endpoint: Endpoint, password: str | None) -> Endpoint:
    if password is not None:
        given = Credentials(password=SecretStr(password), source=plain("password="))
        endpoint = endpoint.model_copy(update={"credentials": given})
    return with_listener(_with_database(endpoint))


def _request(place: Place, parameters: dict[str, str]) -> EndpointRequest:
    # A host that is a folder has the server's unix socket.
    is_folder = bool(place.host and place.host.startswith("/"))
    return EndpointRequest(
        url=_url(place.database or "", parameters),
        host=None if is_folder else place.host or None,
        socket=Path(place.host) if is_folder and place.host else None,
        user=place.user or None,
        port=port_in(place.port) if place.port else None,
    )


def _url(database: str, parameters: dict[str, str]) -> str:
    if database.startswith(_SCHEMES):
        return database
    return f"postgresql://?{urlencode(parameters, quote_via=quote)}"


def _parameters(database: str) -> dict[str, str]:
    """The parameters of `name=value …`; a text without `=` is a database's name."""
    if database.startswith(_SCHEMES) or not database:
        return {}
    if "=" not in database:
        return {"dbname": database}
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
    return {name: value for name, value in found.items() if value}


def _with_database(endpoint: Endpoint) -> Endpoint:
    target = endpoint.target
    if target.database:
        return endpoint
    return endpoint.model_copy(
        update={"target": target.model_copy(update={"database": target.user})}
    )
