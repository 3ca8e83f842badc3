"""Builds an endpoint from the command line, the environment and option files.

Each fact comes from the first place that has it: a command-line option, the URL, the option file
(`--defaults-file`, else `~/.my.cnf`), a default. The password comes from a prompt if requested, the
URL, `LOADSTONE_PASSWORD`, or the option file; otherwise it is empty, which is allowed. That it may
be sent in clear can only be said on the command line or in MySQL's own variable.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import SecretStr

from loadstone.model.frozen import Frozen
from loadstone.model.message import Joined, plain, say
from loadstone.model.target import (
    Credentials,
    Endpoint,
    Target,
    Tls,
)
from loadstone.model.target_url import (
    TargetUrlError,
    compression,
    fingerprint,
    parse_target_url,
    tls_mode,
    tls_versions,
)
from loadstone.mysql.errors import target_error
from loadstone.mysql.optionfile import read_option_file
from loadstone.servers.candidates import Candidates
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.errors import TargetError
from loadstone.servers.redact import PASSWORD_VARIABLE, taken_environment

_CLEARTEXT_VARIABLE = "LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN"
_SYSTEM_OPTION_FILES = (Path("/etc/my.cnf"), Path("/etc/mysql/my.cnf"))
_USUAL_SOCKETS = (
    Path("/run/mysqld/mysqld.sock"),
    Path("/var/run/mysqld/mysqld.sock"),
    Path("/var/lib/mysql/mysql.sock"),
    Path("/tmp/mysql.sock"),
)


class Surroundings(Frozen):
    """The other places to look in; tests provide their own."""

    environment: Mapping[str, str]
    home: Path
    sockets: tuple[Path, ...] = _USUAL_SOCKETS
    system_option_files: tuple[Path, ...] = _SYSTEM_OPTION_FILES

    @classmethod
    def here(cls) -> Surroundings:
        """This process's environment and this machine's usual places."""
        return cls(environment={**taken_environment(), **os.environ}, home=Path.home())


def resolve_endpoint(
    request: EndpointRequest,
    prompt: Callable[[str], str] = getpass.getpass,
    surroundings: Surroundings | None = None,
) -> Endpoint:
    """The endpoint that the request means.

    `prompt` is only called if a password prompt was requested.

    Raises:
        TargetUrlError: the URL or an option cannot be read.
        TargetError: an option file or the server's key cannot be read, or there is no socket
            although localhost means one.
    """
    around = surroundings or Surroundings.here()
    target, in_url = parse_target_url(request.url) if request.url else (Target(), None)
    options, source = _option_file(request, around)
    target = _located(_with_options(_with_request(target, request), options), options, around)
    _check_key(target.server_public_key)
    if request.ask_password:
        password = SecretStr(prompt(f"Password of {target.user} at {target.place}: "))
        credentials = Credentials(password=password, source=say("the prompt"))
    else:
        credentials = _credentials(in_url, around, options, source)
    if request.enable_cleartext_plugin or may_go_in_clear(around):
        credentials = credentials.model_copy(update={"may_go_in_clear": True})
    return Endpoint(target=target, credentials=credentials)


def candidates(
    request: EndpointRequest, prompt: Callable[[str], str] = getpass.getpass
) -> Candidates:
    """The one endpoint that the request means.

    Raises:
        TargetUrlError, TargetError: as `resolve_endpoint`.
    """
    return Candidates((resolve_endpoint(request, prompt),))


def may_go_in_clear(around: Surroundings) -> bool:
    """Whether the password may be sent in clear, by the variable of MySQL's client library."""
    return around.environment.get(_CLEARTEXT_VARIABLE, "")[:1] in ("1", "Y", "y")


def _check_key(path: Path | None) -> None:
    """Check the key now: the engine only reads it at each login, which would be late."""
    if path is None:
        return
    try:
        path.read_bytes()
    except OSError as error:
        raise TargetError(
            "public_key_needed",
            say(
                "cannot read the --server-public-key {path}: {reason}",
                path=str(path),
                reason=error.strerror,
            ),
            say("the server has it in public_key.pem; with --tls verify-ca it is not needed"),
        ) from error


def _option_file(request: EndpointRequest, around: Surroundings) -> tuple[dict[str, str], Path]:
    if request.defaults_file is not None:
        return read_option_file(request.defaults_file), request.defaults_file
    own = around.home / ".my.cnf"
    return (read_option_file(own) if own.is_file() else {}), own


def _with_request(target: Target, request: EndpointRequest) -> Target:
    update: dict[str, object] = {
        name: value
        for name in ("host", "port", "socket", "user", "database", "server_public_key")
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
    given = {name: value for name, value in tls.items() if value is not None}
    if given:
        update["tls"] = target.tls.model_copy(update=given)
    if request.compression is not None:
        update["compression"] = compression(request.compression)
    return target.model_copy(update=update)


def _with_options(target: Target, options: dict[str, str]) -> Target:
    """Complete the target from the option file."""
    update: dict[str, object] = {}
    known = target.model_fields_set
    if "host" not in known and target.socket is None and options.get("host"):
        update["host"] = options["host"]
    if "user" not in known:
        update["user"] = options.get("user") or _login_name()
    if "database" not in known and options.get("database"):
        update["database"] = options["database"]
    target = target.model_copy(update=update)
    is_local = target.host == "localhost" and target.port is None
    if target.socket is None and not is_local and target.port is None and options.get("port"):
        target = target.model_copy(update={"port": _port(options["port"])})
    if "compression" not in known and (asked := _compression_of(options)):
        target = target.model_copy(update={"compression": compression(asked)})
    return target.model_copy(update={"tls": _tls_with(target.tls, options).with_mode})


def _tls_with(tls: Tls, options: dict[str, str]) -> Tls:
    given = {
        "mode": _tls_mode_of(options),
        "ca": options.get("ssl-ca"),
        "cert": options.get("ssl-cert"),
        "key": options.get("ssl-key"),
    }
    update = {
        name: value
        for name, value in given.items()
        if value is not None and name not in tls.model_fields_set
    }
    return Tls.model_validate(tls.model_dump(exclude_unset=True) | update)


def _tls_mode_of(options: dict[str, str]) -> str | None:
    """The TLS mode from MySQL's `ssl-mode`, or from MariaDB's switches."""
    if "ssl-mode" in options:
        return tls_mode(options["ssl-mode"])
    if "skip-ssl" in options or _is_off(options.get("ssl")):
        return "disabled"
    if "ssl-verify-server-cert" in options and not _is_off(options["ssl-verify-server-cert"]):
        return "verify-identity"
    return "required" if "ssl" in options else None


def _compression_of(options: dict[str, str]) -> str | None:
    """MySQL's `compression-algorithms`, or the older switch, which accepts any algorithm."""
    if "compression-algorithms" in options:
        return options["compression-algorithms"]
    if "compress" in options and not _is_off(options["compress"]):
        return "zlib,off"
    return None


def _is_off(value: str | None) -> bool:
    return value is not None and value.lower() in ("0", "off", "false", "no")


def _located(target: Target, options: dict[str, str], around: Surroundings) -> Target:
    """`localhost` without a port means the unix socket; anything else is TCP."""
    if target.socket is not None or target.host != "localhost" or target.port is not None:
        return target
    named = options.get("socket")
    places = (Path(named),) if named else local_sockets(around)
    for place in places:
        if place.is_socket():
            return target.model_copy(update={"socket": place})
    raise target_error(
        "no_socket",
        say(
            "localhost means the unix socket, and there is none (looked for {paths})",
            paths=Joined(map(str, places)),
        ),
        say("127.0.0.1 means TCP; another socket: mysql://user@localhost/schema?socket=PATH"),
        2002,
    )


def local_sockets(around: Surroundings) -> tuple[Path, ...]:
    """The possible sockets for `localhost`: the configured one, or the usual places."""
    named = around.environment.get("MYSQL_UNIX_PORT") or next(
        filter(None, map(_socket_in, around.system_option_files)), None
    )
    return (Path(named),) if named else around.sockets


def _socket_in(path: Path) -> str | None:
    try:
        return read_option_file(path).get("socket")
    except TargetError:
        return None


def _credentials(
    in_url: SecretStr | None, around: Surroundings, options: dict[str, str], file: Path
) -> Credentials:
    if in_url is not None:
        return Credentials(password=in_url, source=say("the URL"))
    if PASSWORD_VARIABLE in around.environment:
        password = SecretStr(around.environment[PASSWORD_VARIABLE])
        return Credentials(password=password, source=plain(PASSWORD_VARIABLE))
    if "password" in options:
        return Credentials(password=SecretStr(options["password"]), source=plain(str(file)))
    return Credentials()


def _port(text: str) -> int:
    if text.isdigit() and 0 < int(text) <= 65535:
        return int(text)
    raise TargetUrlError(
        say("the option file's port is {value}", value=repr(text)),
        say("it must be a number from 1 to 65535"),
    )


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
