"""The server that a command line names, by libpq's rules.

What the command line does not say comes from the environment, a service and the password file, as
for all targets of PostgreSQL; without a database it is the user's name.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping

from pydantic import SecretStr

from loadstone.dropin.conninfo import PASSWORD, query_of
from loadstone.families import FAMILIES
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.message import plain
from loadstone.model.target import Endpoint
from loadstone.runner.endpoints import known
from loadstone.servers.endpoint_request import EndpointRequest

CLEARTEXT_VARIABLE = "LOADSTONE_CLEARTEXT_PASSWORD"
"""Allows the password itself to go to any server that asks for it within TLS: the programs that we
stand in for have no option for that, since they send it anywhere."""


def endpoint_of(parameters: Mapping[str, str], application_name: str | None = None) -> Endpoint:
    """The server with the login, from libpq's parameters; of several hosts, the first that will do.

    `application_name` is what the load's sessions are called if nothing else names them.

    Raises:
        TargetUrlError: a parameter cannot be read.
        TargetError: none of several hosts will do, or a service or password file cannot be read.
    """
    rest = {name: text for name, text in parameters.items() if name != PASSWORD}
    request = EndpointRequest(
        url=f"postgresql://{query_of(rest.items())}",
        enable_cleartext_plugin=os.environ.get(CLEARTEXT_VARIABLE, "")[:1] in ("1", "Y", "y"),
    )
    meant = FAMILIES[POSTGRESQL].candidates(request, getpass.getpass)
    password = parameters.get(PASSWORD)
    return meant.choose([_completed(each, password, application_name) for each in meant.endpoints])


def _completed(endpoint: Endpoint, password: str | None, application_name: str | None) -> Endpoint:
    """With what the parameters say of the password; without a database it is the user's name."""
    target = endpoint.target
    named = target.model_copy(
        update={
            "database": target.database or target.user,
            "application_name": target.application_name or application_name,
        }
    )
    credentials = endpoint.credentials
    if password is not None:
        given = {"password": SecretStr(password), "source": plain("password=")}
        credentials = credentials.model_copy(update=given)
    return known(endpoint.model_copy(update={"target": named, "credentials": credentials}))
