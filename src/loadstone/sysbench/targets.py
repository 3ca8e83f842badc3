"""The servers given by the options of a driver."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from loadstone.dropin.connecting import endpoint_of
from loadstone.dropin.conninfo import parameters_of
from loadstone.lab.protection.whereabouts import with_listener
from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.model.errors import LoadstoneError
from loadstone.model.message import plain
from loadstone.model.target import (
    Compression,
    Credentials,
    Endpoint,
    Target,
    Tls,
)
from loadstone.model.target_url import compression
from loadstone.mysql.credentials import Surroundings, local_sockets, may_go_in_clear
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.settings import Compat
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values

# Files that sysbench 1.0 looks for, as it has no options for them.
_FILES_OF_1_0 = {
    "mysql_ssl_key": "client-key.pem",
    "mysql_ssl_cert": "client-cert.pem",
    "mysql_ssl_ca": "cacert.pem",
}


NOT_INITIALISED = "failed to initialize the DB driver"


class NotPlaced(LoadstoneError):
    """No server is named, which a driver says when it is to connect."""


@dataclass(frozen=True)
class Place:
    """A server, and its name in sysbench's messages."""

    endpoint: Endpoint
    called: str


def family_of_driver(given: Values) -> str:
    """The family of the servers that the driver connects to."""
    return POSTGRESQL if given.text("db_driver") == "pgsql" else MYSQL


def places_of(given: Values, compat: Compat) -> tuple[Place, ...]:
    """The servers: one for each socket, or for each host with each port.

    Raises:
        Fatal: a port is invalid.
        NotPlaced: libpq's parameters cannot be read, or none of several hosts will do.
    """
    if family_of_driver(given) == POSTGRESQL:
        return (_of_postgresql(given),)
    sockets = given.words("mysql_socket")
    if sockets:
        return tuple(
            Place(_endpoint(given, compat, socket=Path(socket)), f"socket '{socket}'")
            for socket in sockets
        )
    hosts, ports = given.words("mysql_host") or ["localhost"], given.words("mysql_port") or ["3306"]
    return tuple(_by_host(given, compat, host, port) for host in hosts for port in ports)


def _by_host(given: Values, compat: Compat, host: str, port: str) -> Place:
    """A server by host and port; `localhost` means the unix socket, as in all MySQL clients."""
    number = values.lenient_int(port)
    called = f"host '{host}', port {number}"
    if host == "localhost":
        return Place(_endpoint(given, compat, socket=_local_socket()), called)
    if not 0 < number < 65536:
        raise Fatal(f"Invalid value for --mysql-port: '{port}'")
    return Place(_endpoint(given, compat, host=host, port=number), called)


def _of_postgresql(given: Values) -> Place:
    """The server of PostgreSQL's driver, which leaves an empty option to libpq.

    As there, `--pgsql-db` may be all parameters of the connection; an option goes before them.

    Raises:
        NotPlaced: the parameters cannot be read, or none of several hosts will do.
    """
    options = {name: given.text(f"pgsql_{name}") for name in _OF_LIBPQ}
    if not given.is_given("pgsql_sslmode"):
        del options["sslmode"]
    try:
        parameters = parameters_of(given.text("pgsql_db"))
        parameters |= {name: text for name, text in options.items() if text}
        _check_port(parameters.get("port", ""))
        endpoint = endpoint_of(parameters)
    except LoadstoneError as error:
        raise NotPlaced(f"Connection to database failed: {error.message}\n") from error
    return Place(endpoint, endpoint.target.place)


def _check_port(text: str) -> None:
    """Raise NotPlaced in libpq's words if one of the ports is none."""
    for port in text.split(","):
        if port and not 0 < values.lenient_int(port) < 65536:
            raise NotPlaced(f'invalid port number: "{port}"')


_OF_LIBPQ = ("host", "port", "user", "password", "sslmode")
"""Options of the driver, without their prefix: libpq's parameters have the same names."""


def _local_socket() -> Path:
    """The first socket that exists; else the first of the list, for the error message."""
    usual = local_sockets(Surroundings.here())
    return next((place for place in usual if place.is_socket()), usual[0])


def _endpoint(given: Values, compat: Compat, **place: object) -> Endpoint:
    known = {
        "user": given.text("mysql_user"),
        "database": given.text("mysql_db"),
        "tls": _tls(given, compat),
        "compression": _compression(given),
    }
    return with_listener(
        Endpoint(
            target=Target.model_validate(known | place),
            credentials=Credentials(
                password=SecretStr(given.text("mysql_password")),
                source=plain("--mysql-password"),
                may_go_in_clear=may_go_in_clear(Surroundings.here()),
            ),
        )
    )


def _compression(given: Values) -> tuple[Compression, ...]:
    """The compression: `on` is zlib if the server has it; named algorithms are required."""
    if not given.switch("mysql_compression"):
        return ()
    named = given.is_given("mysql_compression_algorithms")
    return compression(given.text("mysql_compression_algorithms")) if named else ("zlib", "off")


def _tls(given: Values, compat: Compat) -> Tls:
    mode = values.tls_mode(given.text("mysql_ssl"))
    if mode is None or mode == "disabled":
        return Tls(mode="disabled")
    files = {
        key.removeprefix("mysql_ssl_"): path
        for key, usual in _FILES_OF_1_0.items()
        if (path := _file(given, key, usual if compat == "1.0" else None))
    }
    ciphers = [name for name in re.split("[:, ]+", given.text("mysql_ssl_cipher")) if name]
    return Tls.model_validate({"mode": mode, "ciphers": ciphers, **files})


def _file(given: Values, key: str, usual: str | None) -> Path | None:
    if text := given.text(key):
        return Path(text)
    return Path(usual) if usual and Path(usual).is_file() else None


def check_driver(given: Values, command: str, *more: str) -> None:
    """Check that the driver and its mode exist.

    Raises:
        Fatal: they do not.
    """
    problem = driver_problem(given.text("db_driver"), given.text("db_ps_mode"))
    if problem:
        raise Fatal(problem, f"`{command}' function failed: {NOT_INITIALISED}", *more)


def driver_problem(driver: str, ps_mode: str) -> str | None:
    """What is wrong with the driver and its mode, in sysbench's words; `None` if nothing is."""
    if not driver:
        named = "Use --db-driver=name to specify which one to use"
        return f"Multiple DB drivers are available. {named}"
    if driver not in ("mysql", "pgsql"):
        return f"invalid database driver name: '{driver}'"
    if ps_mode not in ("auto", "disable"):
        return f"Invalid value for db-ps-mode: {ps_mode}"
    return None
