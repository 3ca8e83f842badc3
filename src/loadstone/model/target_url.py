"""Reads the URL of a target.

    mysql://user@db1:3306/sbtest?tls=verify-ca&tls-ca=/etc/ssl/ca.pem
    mysql://user@localhost/sbtest                       the unix socket, as the field expects
    mysql://user@/sbtest?socket=/run/mysqld/mysqld.sock
    mysql://user@[2001:db8::1]:3306/sbtest
    mysql://user@db1/sbtest?compression=zstd,zlib       the first one that the server supports
    postgresql://user@db1:5432/sbtest?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem
    postgresql://user@/sbtest?host=/run/postgresql      the folder of the unix socket

The password in it is kept apart from then on, and appears in no error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from loadstone.model import libpq
from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.hints import write
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import (
    PORTS,
    ChannelBinding,
    Compression,
    Target,
    Tls,
    TlsMode,
    TlsVersion,
)

SCHEMES = {"mysql": MYSQL, "mariadb": MYSQL, "postgresql": POSTGRESQL, "postgres": POSTGRESQL}
"""The families of servers, by the scheme of a URL."""

_OF_ALL = ("tls", "tls-ca", "tls-cert", "tls-key", "tls-fingerprint", "tls-version", "socket")
_URL_OPTIONS = {
    MYSQL: (*_OF_ALL, "compression", "server-public-key"),
    POSTGRESQL: (
        *(*_OF_ALL, *libpq.NAMES, *libpq.WITHOUT_OPTION),
        *(libpq.NEGOTIATION, libpq.STARTUP_OPTIONS, libpq.APPLICATION_NAME),
        *(libpq.CHANNEL_BINDING, libpq.LOWEST_TLS, libpq.HIGHEST_TLS),
    ),
}


class TargetUrlError(LoadstoneError):
    """The text is not the URL of a target. The error's message never contains a password."""

    exit_code = ExitCode.USAGE


class CompressionError(TargetUrlError):
    """The text is not a list of compression kinds."""


def parse_target_url(url: str, *, is_all: bool = True) -> tuple[Target, SecretStr | None]:
    """Split a URL into the target and the password that it contained.

    No password (`user@`) is `None`; an empty one (`user:@`) is an empty secret. If the URL is not
    `is_all` that is known, other places may still say the TLS mode that its certificates imply.

    Raises:
        TargetUrlError: the URL is wrong; the message does not contain the password.
    """
    try:
        return _parsed(url, is_all)
    except TargetUrlError as error:
        if error.hint != _EXAMPLES[MYSQL]:
            raise
        raise TargetUrlError(error.message, _EXAMPLES[family_in(url)]) from error


def _parsed(url: str, is_all: bool) -> tuple[Target, SecretStr | None]:
    parts = split_url(url)
    family = SCHEMES[parts.scheme.lower()]
    options = _options_of(parts, family)
    user, password = _login_of(parts)
    database = unquote(parts.path.removeprefix("/"))
    if "/" in parts.path.removeprefix("/"):
        raise _bad(say("one schema after the host is enough, not {path}", path=repr(parts.path)))
    given: dict[str, object] = {
        "family": family,
        "host": _host_of(parts),
        "port": _port_of(parts),
        "socket": _path(options, "socket"),
        "user": user,
        "database": database or None,
        "tls": _tls_of(options, is_all),
        "compression": compression(options["compression"]) if "compression" in options else None,
        "server_public_key": _path(options, "server-public-key"),
        "startup_options": options.get(libpq.STARTUP_OPTIONS),
        "application_name": options.get(libpq.APPLICATION_NAME),
    }
    if family == POSTGRESQL:
        given |= _as_libpq(given, options)
    # What is not in the URL stays unset: an option file may still set it.
    target = Target.model_validate({key: value for key, value in given.items() if value})
    return target, password


def service_in(url: str) -> str | None:
    """The service that the URL of a PostgreSQL server names; `None` if it names none.

    Raises:
        TargetUrlError: as `parse_target_url`.
    """
    parts = split_url(url)
    return _options_of(parts, SCHEMES[parts.scheme.lower()]).get("service")


def family_in(url: str) -> str:
    """The family that a URL's scheme names; the default one if it has no known scheme."""
    return SCHEMES.get(url.strip().partition("://")[0].lower(), MYSQL)


def password_span(text: str) -> tuple[int, int] | None:
    """The span of the password of the first URL in the text; `None` if it has none.

    The text before `://` does not matter, so `--target=URL` works. The login ends at the last `@`
    and its password starts after the first `:`, since people paste passwords without quoting them.
    """
    _, separator, rest = text.partition("://")
    login, at, _ = rest.rpartition("@")
    user, colon, password = login.partition(":")
    if not (separator and at and colon):
        return None
    start = len(text) - len(rest) + len(user) + 1
    return start, start + len(password)


def without_password(url: str) -> str:
    """The text with the password replaced by `***`, whether or not it is a valid URL."""
    span = password_span(url)
    return f"{url[: span[0]]}***{url[span[1] :]}" if span else url


def without_passwords_in(text: str) -> str:
    """A sentence that may contain a URL as typed, with the password replaced by `***`.

    URLs that certainly have no password are kept, whatever follows them.
    """
    for found in re.finditer("://", text):
        if not _NO_PASSWORD.match(text, found.start()):
            return text[: found.start()] + without_password(text[found.start() :])
    return text


# `://user@host:3306` up to the end of the word, with no `@` after the host.
_NO_PASSWORD = re.compile(
    r"://(?:[^\s:@/]*@)?(?:\[[^\]\s@]*\]|[^\s:@/?\[]*)(?::\d+)?"
    r"(?=[/?)'\",.;]|:?(?:\s|$))[^\s@]*(?!\S)"
)


def split_url(url: str) -> SplitResult:
    """The parts of a URL with a known scheme, whose login is quoted.

    Raises:
        TargetUrlError: it cannot be read; the message does not contain the password.
    """
    url = url.strip()
    scheme, separator, _ = url.partition("://")
    if not separator:
        raise _bad(
            say(
                "it does not start with {url}",
                url=Joined((f"{family}://" for family in PORTS), "choices"),
            )
        )
    if scheme.lower() not in SCHEMES:
        if not scheme.isalnum():  # it may be a password
            raise _bad(say("the scheme is not {known}", known=Joined(PORTS, "choices")))
        raise _bad(
            say(
                "the scheme is '{scheme}', not {known}",
                scheme=scheme,
                known=Joined(PORTS, "choices"),
            )
        )
    try:
        parts = urlsplit(_with_marks_in_the_login_quoted(url))
    except ValueError:  # its text may repeat the password
        raise _bad(say("the part between // and the schema cannot be read")) from None
    if parts.fragment:
        raise _bad(say("a # must be written as %23"))
    return parts


def _with_marks_in_the_login_quoted(url: str) -> str:
    """Quote `/`, `?` and `#` in a login with a password, where they are part of it."""
    span = password_span(url)
    if span is None:
        return url
    begin = url.index("://") + len("://")
    user, password = (_marks_quoted(url[begin : span[0] - 1]), _marks_quoted(url[slice(*span)]))
    return f"{url[:begin]}{user}:{password}{url[span[1] :]}"


def _marks_quoted(text: str) -> str:
    for mark in "/?#@[]\t\r\n":
        text = text.replace(mark, f"%{ord(mark):02X}")
    return text


def _options_of(parts: SplitResult, family: str) -> dict[str, str]:
    """The options by our names; those of libpq in ours, and only those that change something."""
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options: dict[str, str] = {}
    for name, value in pairs:
        name = _spelled(name, family)
        if family == POSTGRESQL and libpq.is_unmet_demand(name, value):
            raise unmet_demand(name)
        if family == POSTGRESQL and libpq.has_no_effect(name, value):
            continue
        if name not in _URL_OPTIONS[family]:
            known = Joined(_URL_OPTIONS[family])
            said = say("it has no option '{name}' (there are {known})", name=name, known=known)
            raise _bad(said)
        ours = libpq.NAMES.get(name, name)
        if ours in options:
            raise _bad(say("{name} is given twice", name=name))
        if not value:
            raise _bad(say("{name} has no value", name=name))
        options[ours] = libpq.tls_mode_of(value) if name == "sslmode" else value
    if family == POSTGRESQL and options.get("tls-ca") == libpq.SYSTEM_AUTHORITIES:
        options.setdefault("tls", "verify-identity")
        checked_authorities(tls_mode(options["tls"]))
    return options


def _spelled(name: str, family: str) -> str:
    """The option as it is listed, whether it was written with dashes or underscores."""
    dashes, underscores = name.replace("_", "-"), name.replace("-", "_")
    return dashes if family != POSTGRESQL or dashes in _URL_OPTIONS[family] else underscores


def unmet_demand(name: str) -> TargetUrlError:
    """The error for a parameter or variable of libpq that asks for a check that is not made."""
    return TargetUrlError(
        say("{name} asks for a check that Loadstone does not make", name=name),
        say("leave it out; sslmode=verify-full and channel_binding=require are checked"),
    )


def checked_authorities(mode: TlsMode) -> None:
    """Refuse the system's authorities where any of them could vouch for any host.

    Raises:
        TargetUrlError: the host's name would not be checked, which libpq refuses as well.
    """
    if mode != "verify-identity":
        raise TargetUrlError(
            say("sslrootcert=system needs sslmode=verify-full, and --tls is {mode}", mode=mode),
            say("use sslmode=verify-full, or name the server's own authority with sslrootcert"),
        )


def _as_libpq(given: Mapping[str, object], options: dict[str, str]) -> dict[str, object]:
    """What the options of a PostgreSQL server's URL say of its host, port, user and database."""
    for name in ("host", "port", "user", "database"):
        word = "dbname" if name == "database" else name
        if given[name] is not None and word in options:
            raise _bad(say("{name} is given twice", name=word))
    host, port = given["host"] or options.get("host"), given["port"]
    if isinstance(host, str) and "," in host:
        raise _bad(_SEVERAL)
    if port is None and "port" in options:
        port = port_in(options["port"])
    folder = host if isinstance(host, str) and host.startswith("/") else given["socket"]
    return {
        "host": None if folder is host else host,
        "port": port,
        "socket": None if folder is None else Path(str(folder)),
        "user": given["user"] or options.get("user"),
        "database": given["database"] or options.get("dbname"),
    }


def port_in(text: str) -> int:
    """A port as text.

    Raises:
        TargetUrlError: it is not one.
    """
    if not (text.isdecimal() and 0 < int(text) <= 65535):
        raise _bad(_NO_PORT)
    return int(text)


def _login_of(parts: SplitResult) -> tuple[str | None, SecretStr | None]:
    user = unquote(parts.username) if parts.username else None
    password = SecretStr(unquote(parts.password)) if parts.password is not None else None
    return user, password


def _host_of(parts: SplitResult) -> str | None:
    if "," in parts.netloc.rpartition("@")[2]:
        raise _bad(_SEVERAL)
    # urlsplit makes `hostname` lower case, which is right for names and harmless for addresses.
    if parts.hostname and "%2f" in parts.hostname:  # the folder of a socket, in its own case
        return unquote(parts.netloc.rpartition("@")[2].partition(":")[0])
    return unquote(parts.hostname) if parts.hostname else None


def _port_of(parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError:
        raise _bad(_NO_PORT) from None
    if port == 0:
        raise _bad(_NO_PORT)
    return port


_SEVERAL = say("it names several hosts: one is enough")
_NO_PORT = say("the port is not a number from 1 to 65535")


def _tls_of(options: dict[str, str], is_all: bool) -> Tls | None:
    given: dict[str, object] = {
        "mode": tls_mode(options["tls"]) if "tls" in options else None,
        "ca": _path(options, "tls-ca"),
        "cert": _path(options, "tls-cert"),
        "key": _path(options, "tls-key"),
        "fingerprint": fingerprint(pin) if (pin := options.get("tls-fingerprint")) else None,
        "versions": _versions_of(options),
        "direct": tls_direct(options[libpq.NEGOTIATION]) if libpq.NEGOTIATION in options else None,
        "channel_binding": channel_binding(options[libpq.CHANNEL_BINDING])
        if libpq.CHANNEL_BINDING in options
        else None,
    }
    given = {key: value for key, value in given.items() if value is not None}
    if not given:
        return None
    found = Tls.model_validate(given)
    return checked_negotiation(found.with_mode) if is_all else found


def tls_mode(text: str) -> TlsMode:
    """The TLS mode with that name; MySQL's spelling `VERIFY_CA` is `verify-ca`.

    Raises:
        TargetUrlError: there is no such mode.
    """
    for mode in get_args(TlsMode):
        if text.lower().replace("_", "-") == mode:
            return mode  # type: ignore[no-any-return]
    known = Joined(get_args(TlsMode))
    raise _bad(say("tls is {value}, not one of {known}", value=repr(text), known=known))


def _versions_of(options: Mapping[str, str]) -> tuple[TlsVersion, ...] | None:
    limits = tls_span(options)
    if "tls-version" not in options:
        return limits
    if limits is not None:
        raise _bad(say("{name} is given twice", name="tls-version"))
    return tls_versions(options["tls-version"])


def tls_span(parameters: Mapping[str, str]) -> tuple[TlsVersion, ...] | None:
    """The versions within the limits that libpq's parameters set; `None`: they set none.

    Raises:
        TargetUrlError: a limit is no version, or there is none between them.
    """
    names = (libpq.LOWEST_TLS, libpq.HIGHEST_TLS)
    if not any(parameters.get(name) for name in names):
        return None
    known = {name.lower(): number for number, name in enumerate(get_args(TlsVersion))}
    usual = (libpq.LOWEST_TLS_BY_DEFAULT, get_args(TlsVersion)[-1])
    limits = []
    for name, default in zip(names, usual, strict=True):
        value = parameters.get(name) or default
        if value.lower() not in known:
            versions = Joined(get_args(TlsVersion))
            raise _bad(
                say(
                    "{name} is {value}, not one of {known}",
                    name=name,
                    value=repr(value),
                    known=versions,
                )
            )
        limits.append(known[value.lower()])
    found: tuple[TlsVersion, ...] = get_args(TlsVersion)[limits[0] : limits[1] + 1]
    if not found:
        raise _bad(say("{lowest} is above {highest}", lowest=names[0], highest=names[1]))
    return found


def channel_binding(text: str) -> ChannelBinding:
    """A value of libpq's parameter of that name.

    Raises:
        TargetUrlError: there is no such value.
    """
    for known in get_args(ChannelBinding):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise _bad(
        say(
            "{name} is {value}, not one of {known}",
            name=libpq.CHANNEL_BINDING,
            value=repr(text),
            known=Joined(get_args(ChannelBinding)),
        )
    )


def tls_direct(text: str) -> bool:
    """Whether a value of libpq's `sslnegotiation` means direct TLS.

    Raises:
        TargetUrlError: there is no such value.
    """
    found = libpq.is_direct(text)
    if found is None:
        raise _bad(
            say("sslnegotiation is {value}, neither postgres nor direct", value=repr(text)),
        )
    return found


def checked_negotiation(tls: Tls) -> Tls:
    """The settings as they are, unless TLS is to come first and not required.

    Raises:
        TargetUrlError: it is, which libpq refuses as well.
    """
    if tls.direct and not tls.must:
        raise TargetUrlError(
            say("sslnegotiation=direct needs TLS, and --tls is {mode}", mode=tls.mode),
            say("require TLS (sslmode=require), or leave sslnegotiation out"),
        )
    return tls


def tls_versions(text: str) -> tuple[TlsVersion, ...]:
    """The TLS versions in a list such as `TLSv1.1,TLSv1.2`, each once.

    Raises:
        TargetUrlError: one of them does not exist.
    """
    known = {name.lower(): name for name in get_args(TlsVersion)}
    named = [word.strip() for word in text.split(",")]
    for word in named:
        if word.lower() not in known:
            raise _bad(
                say(
                    "tls-version is {value}, not one of {known}",
                    value=repr(word),
                    known=Joined(get_args(TlsVersion)),
                )
            )
    return tuple(dict.fromkeys(known[word.lower()] for word in named))


def fingerprint(text: str) -> str:
    """Normalize a certificate's SHA-256; `openssl x509 -fingerprint` writes it with colons.

    Raises:
        TargetUrlError: it is not a SHA-256 fingerprint.
    """
    digits = text.replace(":", "").lower()
    if re.fullmatch("[0-9a-f]{64}", digits) is None:
        raise TargetUrlError(
            say(
                "{value} is not a certificate's SHA-256, which has 64 hexadecimal digits",
                value=repr(text),
            ),
            say("on the server: openssl x509 -noout -fingerprint -sha256 -in server-cert.pem"),
        )
    return digits


def compression(text: str) -> tuple[Compression, ...]:
    """Parse a list of compression kinds such as `zstd,zlib,off`; MySQL's `uncompressed` is `off`.

    Raises:
        CompressionError: a kind is unknown or repeated, or follows `off`, which every server
            supports.
    """
    kinds: list[Compression] = []
    for word in text.lower().split(","):
        name = {"uncompressed": "off"}.get(word.strip(), word.strip())
        known = next((kind for kind in get_args(Compression) if kind == name), None)
        if known is None:
            names = Joined(get_args(Compression))
            said = say(
                "{value} is not a kind of compression: there are {known}",
                value=repr(word),
                known=names,
            )
            raise CompressionError(said, _LIST)
        if known in kinds or "off" in kinds:
            said = say("{value} names a kind twice, or one after off", value=repr(text))
            raise CompressionError(said, _LIST)
        kinds.append(known)
    return tuple(kinds)


_LIST = say("write compression=zlib, or zstd,zlib for the first one that the server supports")


def _path(options: dict[str, str], name: str) -> Path | None:
    return Path(options[name]) if name in options else None


def _bad(what: Message) -> TargetUrlError:
    return TargetUrlError(
        say("not a target's URL: {reason}", reason=what),
        _EXAMPLES[MYSQL],
    )


_EXAMPLES = {
    MYSQL: write("mysql://user@host:3306/schema?tls=required"),
    POSTGRESQL: write("postgresql://user@host:5432/database?sslmode=require"),
}
"""A right URL of each family, for errors about wrong ones."""
