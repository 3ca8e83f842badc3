"""Builds endpoints from the command line, libpq's environment, service and password files.

Each fact comes from the first place that has it: a command-line option, the URL, the service, the
environment, a default. The password comes from a prompt if requested, the URL,
`LOADSTONE_PASSWORD`, the service, `PGPASSWORD`, or the password file; otherwise it is empty.
Several hosts make several endpoints, which differ in what is known by host.

Sources: https://www.postgresql.org/docs/current/libpq-envars.html
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from loadstone.model import libpq
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, plain, say
from loadstone.model.target import (
    Credentials,
    Endpoint,
    Target,
)
from loadstone.model.target_url import (
    TargetUrlError,
    checked_negotiation,
    fingerprint,
    parse_target_url,
    port_in,
    service_in,
    tls_mode,
    tls_versions,
    unmet_demand,
)
from loadstone.postgresql import words
from loadstone.postgresql.administration import APPLICATION
from loadstone.postgresql.choosing import chosen
from loadstone.postgresql.encryption import on_a_socket, tls_with
from loadstone.postgresql.hosts import CHOICE, each_host, take_apart, wish_of
from loadstone.postgresql.passfile import Wanted, password_in, why_ignored
from loadstone.postgresql.services import service_of
from loadstone.servers.abilities import ForeignOption
from loadstone.servers.candidates import Candidates
from loadstone.servers.endpoint_request import DEFAULT_SCHEMA, EndpointRequest
from loadstone.servers.errors import TargetError
from loadstone.servers.redact import PASSWORD_VARIABLE, PGPASSWORD, taken_environment

_USUAL_SOCKETS = (Path("/run/postgresql"), Path("/var/run/postgresql"), Path("/tmp"))
"""Folders of the socket: those of Debian's and Red Hat's packages, and PostgreSQL's own."""

_VARIABLES = {
    "PGHOST": "host",
    "PGHOSTADDR": "hostaddr",
    "PGPORT": "port",
    "PGUSER": "user",
    "PGDATABASE": "dbname",
    "PGSSLMODE": "sslmode",
    "PGSSLNEGOTIATION": "sslnegotiation",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
    "PGSSLCRL": "sslcrl",
    "PGSSLCRLDIR": "sslcrldir",
    "PGSSLCERTMODE": "sslcertmode",
    "PGSSLMINPROTOCOLVERSION": libpq.LOWEST_TLS,
    "PGSSLMAXPROTOCOLVERSION": libpq.HIGHEST_TLS,
    "PGCHANNELBINDING": libpq.CHANNEL_BINDING,
    "PGREQUIREAUTH": "require_auth",
    "PGREQUIREPEER": "requirepeer",
    "PGGSSENCMODE": "gssencmode",
    "PGAPPNAME": libpq.APPLICATION_NAME,
    "PGPASSFILE": "passfile",
    "PGTARGETSESSIONATTRS": "target_session_attrs",
    "PGLOADBALANCEHOSTS": "load_balance_hosts",
    "PGCONNECT_TIMEOUT": "connect_timeout",
    "PGOPTIONS": libpq.STARTUP_OPTIONS,
}
"""Parameters of libpq by the variables that set them."""


_OF_LOGINS = ("compression", "server_public_key", "defaults_file")
FOREIGN_OPTIONS = frozenset(
    ("--mysqld-exporter", "--storage-engine", "--no-binlog", "--method infile")
    + tuple(f"--{name.replace('_', '-')}" for name in _OF_LOGINS)
)
"""Options of commands that only MySQL's servers have."""


class Surroundings(Frozen):
    """The other places to look in; tests provide their own."""

    environment: Mapping[str, str]
    home: Path
    socket_folders: tuple[Path, ...] = _USUAL_SOCKETS

    @classmethod
    def here(cls) -> Surroundings:
        """This process's environment and this machine's usual places."""
        return cls(environment={**taken_environment(), **os.environ}, home=Path.home())

    @property
    def service_files(self) -> tuple[Path, ...]:
        """The files with services, the user's first."""
        own = self.environment.get("PGSERVICEFILE")
        folder = self.environment.get("PGSYSCONFDIR", "/etc/postgresql-common")
        return (
            Path(own) if own else self.home / ".pg_service.conf",
            Path(folder) / "pg_service.conf",
        )


def candidates(
    request: EndpointRequest,
    prompt: Callable[[str], str] = getpass.getpass,
    surroundings: Surroundings | None = None,
) -> Candidates:
    """The endpoints that the request names, one for each host.

    `prompt` is only called if a password prompt was requested.

    Raises:
        TargetUrlError: the URL or an option cannot be read, or is not one for PostgreSQL.
        TargetError: a service or password file cannot be read, or there is no such service.
    """
    around = surroundings or Surroundings.here()
    _refuse_options_of_others(request)
    url, of_hosts = take_apart(request.url) if request.url else ("", {})
    target, in_url = (
        parse_target_url(url, is_all=False) if url else (Target(family=POSTGRESQL), None)
    )
    target = _with_request(target, request)
    parameters = _parameters(service_in(url) if url else None, around)
    parameters = _of_hosts(target, of_hosts, parameters, is_settled=request.is_settled)
    hosts = each_host(parameters)
    targets = [_completed(target, host, around) for host in hosts]
    known: Credentials | None = None
    if request.ask_password:
        places = ", ".join(one.place for one in targets)
        password = SecretStr(prompt(f"Password of {targets[0].user} at {places}: "))
        known = Credentials(password=password, source=say("the prompt"))
    endpoints = []
    for one, host in zip(targets, hosts, strict=True):
        credentials = known or _credentials(in_url, around, host, one)
        if request.enable_cleartext_plugin:
            credentials = credentials.model_copy(update={"may_go_in_clear": True})
        endpoints.append(Endpoint(target=_at_address(one, host), credentials=credentials))
    return Candidates(tuple(endpoints), partial(chosen, wish=wish_of(parameters)))


def _refuse_options_of_others(request: EndpointRequest) -> None:
    """Refuse options that mean nothing here, rather than to ignore them."""
    for name in _OF_LOGINS:
        if getattr(request, name) is not None:
            raise ForeignOption(words.server, f"--{name.replace('_', '-')}")


def _parameters(named: str | None, around: Surroundings) -> dict[str, str]:
    """Libpq's parameters from the environment, and from the service, which goes first.

    Raises:
        TargetUrlError: a variable asks for a check that is not made.
        TargetError: as `service_of`.
    """
    for variable, name in _VARIABLES.items():
        if libpq.is_unmet_demand(name, around.environment.get(variable, "")):
            raise unmet_demand(variable)
    of_environment = {
        name: value
        for variable, name in _VARIABLES.items()
        if (value := around.environment.get(variable))
    }
    service = named or around.environment.get("PGSERVICE")
    return of_environment | (service_of(service, around.service_files) if service else {})


def _of_hosts(
    target: Target,
    in_url: Mapping[str, str],
    parameters: Mapping[str, str],
    *,
    is_settled: bool,
) -> dict[str, str]:
    """The parameters with what is said about hosts: a host of the URL or an option goes first."""
    if is_settled:
        parameters = {name: parameters[name] for name in parameters if name not in CHOICE}
    found: dict[str, str] = {**parameters, **in_url}
    if target.socket is not None:
        found["host"] = str(target.socket)
    elif "host" in target.model_fields_set:
        found["host"] = target.host
    if target.port is not None:
        found["port"] = str(target.port)
    return found


def _with_request(target: Target, request: EndpointRequest) -> Target:
    """The target with the options of the command line, which go before its URL."""
    update: dict[str, object] = {
        name: value
        for name in ("host", "port", "socket", "user", "database")
        if (value := getattr(request, name)) is not None
    }
    if "host" in update and "socket" not in update:
        update["socket"] = None
    tls: dict[str, object] = {
        "mode": tls_mode(request.tls) if request.tls is not None else None,
        "ca": request.tls_ca,
        "cert": request.tls_cert,
        "key": request.tls_key,
        "fingerprint": fingerprint(request.tls_fingerprint) if request.tls_fingerprint else None,
        "versions": tls_versions(request.tls_version) if request.tls_version else None,
    }
    if given := {name: value for name, value in tls.items() if value is not None}:
        update["tls"] = target.tls.model_copy(update=given)
    return target.model_copy(update=update)


def _completed(target: Target, parameters: Mapping[str, str], around: Surroundings) -> Target:
    """The target with what neither URL nor options say."""
    known = target.model_fields_set
    update: dict[str, object] = {}
    port = target.port
    if port is None and "port" in parameters:
        update["port"] = port = port_in(parameters["port"])
    if "user" not in known:
        update["user"] = parameters.get("user") or _login_name()
    if "database" not in known and "dbname" in parameters:
        update["database"] = parameters["dbname"]
    if target.startup_options is None and libpq.STARTUP_OPTIONS in parameters:
        update["startup_options"] = parameters[libpq.STARTUP_OPTIONS]
    update["application_name"] = _application_name(target, parameters)
    completed = target.model_copy(
        update=update | _place_of(target, parameters, around, port or target.tcp_port)
    )
    if completed.socket is not None and "hostaddr" not in parameters:
        return completed.model_copy(update={"tls": on_a_socket(target.tls, parameters)})
    tls = tls_with(target.tls, parameters, around.home, around.environment).with_mode
    return completed.model_copy(update={"tls": checked_negotiation(tls)})


def _application_name(target: Target, parameters: Mapping[str, str]) -> str | None:
    """The name of the load's sessions, which must not be that of sessions that only look at it."""
    found = target.application_name or parameters.get(libpq.APPLICATION_NAME)
    if found == APPLICATION:
        raise TargetUrlError(
            say("application_name is {name}, which is what Loadstone's own are called", name=found),
            say("give the load's sessions another name"),
        )
    return found


def _place_of(
    target: Target, parameters: Mapping[str, str], around: Surroundings, port: int
) -> dict[str, object]:
    """Host and socket: without a host, the socket in a usual folder, else this machine's TCP."""
    host = parameters.get("host", "")
    if target.socket is not None:
        return {"socket": libpq.socket_in(target.socket, port)}
    if "host" in target.model_fields_set:
        return {}
    if host.startswith("/"):
        return {"socket": libpq.socket_in(Path(host), port)}
    if host:
        return {"host": host}
    there = (libpq.socket_in(folder, port) for folder in around.socket_folders)
    found = next((socket for socket in there if socket.is_socket()), None)
    return {} if found is None else {"socket": found}


def _at_address(target: Target, parameters: Mapping[str, str]) -> Target:
    """The target at the address that goes before its name, which then only names the password."""
    address = parameters.get("hostaddr")
    if address is None or address == target.host:
        return target
    if target.tls.mode == "verify-identity":
        raise TargetUrlError(
            say(
                "hostaddr {address}: its certificate would have to name {host}, which is not"
                " looked for at another address",
                address=address,
                host=target.host,
            ),
            say("leave hostaddr and PGHOSTADDR out, or use --tls verify-ca"),
        )
    return target.model_copy(update={"host": address, "socket": None})


def _credentials(
    in_url: SecretStr | None, around: Surroundings, parameters: Mapping[str, str], target: Target
) -> Credentials:
    if in_url is not None:
        return Credentials(password=in_url, source=say("the URL"))
    for variable in (PASSWORD_VARIABLE, PGPASSWORD):
        if variable == PGPASSWORD and "password" in parameters:
            break
        if variable in around.environment:
            password = SecretStr(around.environment[variable])
            return Credentials(password=password, source=plain(variable))
    if "password" in parameters:
        return Credentials(
            password=SecretStr(parameters["password"]), source=say("the service file")
        )
    return _in_password_file(around, parameters, target)


def _in_password_file(
    around: Surroundings, parameters: Mapping[str, str], target: Target
) -> Credentials:
    path = Path(parameters.get("passfile") or around.home / ".pgpass")
    try:
        ignored: Message | None = why_ignored(path)
        found = None if ignored else password_in(path, _wanted(target, around))
    except OSError as error:
        raise TargetError(
            "options",
            say(
                "cannot read the password file {path}: {reason}",
                path=str(path),
                reason=error.strerror or str(error),
            ),
            say("PGPASSFILE names another file"),
        ) from error
    if ignored:
        return Credentials(source=ignored)
    if found is None:
        return Credentials()
    return Credentials(password=SecretStr(found), source=plain(str(path)))


def _wanted(target: Target, around: Surroundings) -> Wanted:
    hosts = {target.host}
    if target.socket is not None:
        folder = target.socket.parent
        hosts = {str(folder)} | ({"localhost"} if folder in around.socket_folders else set())
    return Wanted(hosts, target.tcp_port, target.database or DEFAULT_SCHEMA, target.user or "")


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
