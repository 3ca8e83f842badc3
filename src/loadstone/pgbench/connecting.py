"""The server that a command line names.

The last word of the command line may be a database's name, or all parameters of the connection.
"""

from __future__ import annotations

from loadstone.dropin import connecting
from loadstone.dropin.conninfo import parameters_of
from loadstone.model.errors import LoadstoneError
from loadstone.model.target import Endpoint
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.settings import Place


def endpoint_of(place: Place) -> Endpoint:
    """The server with the login; of several hosts, the first that will do.

    What the last word says goes before options, as for libpq.

    Raises:
        Failed: the parameters cannot be read, or none of several hosts will do.
    """
    options = {"host": place.host, "port": place.port, "user": place.user}
    given = {name: value for name, value in options.items() if value}
    try:
        parameters = given | parameters_of(place.database or "")
        return connecting.endpoint_of(parameters, application_name="pgbench")
    except LoadstoneError as error:
        raise Failed(error.message, hint=error.hint or "") from error
