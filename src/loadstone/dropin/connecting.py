"""The server that a command line names, by libpq's rules.

What the command line does not say comes from the environment, a service and the password file, as
for all targets of PostgreSQL; without a database it is the user's name.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping

from pydantic import SecretStr

from loadstone.dropin.conninfo import PASSWORD, query_of
from loadstone.families import FAMILIES
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.message import plain
from loadstone.model.target import Credentials, Endpoint
from loadstone.runner.endpoints import known
from loadstone.servers.endpoint_request import EndpointRequest


def endpoint_of(parameters: Mapping[str, str]) -> Endpoint:
    """The server with the login, from libpq's parameters; of several hosts, the first that will do.

    Raises:
        TargetUrlError: a parameter cannot be read.
        TargetError: none of several hosts will do, or a service or password file cannot be read.
    """
    rest = {name: text for name, text in parameters.items() if name != PASSWORD}
    request = EndpointRequest(url=f"postgresql://{query_of(rest.items())}")
    meant = FAMILIES[POSTGRESQL].candidates(request, getpass.getpass)
    password = parameters.get(PASSWORD)
    return meant.choose([_completed(each, password) for each in meant.endpoints])


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
