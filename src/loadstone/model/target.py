"""A database endpoint under test: its address, its protocol options, and separately its password.

A `Target` can be written anywhere, since it has no field for a password. `Credentials` are never
written: their text and JSON forms are blank.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import Field, SecretStr

from loadstone.model import libpq
from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.model.error_codes import Family as FamilyName
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say

TlsMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]

TlsVersion = Literal["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]
"""The versions of TLS, by the servers' names for them."""

Compression = Literal["off", "zlib", "zstd"]

ChannelBinding = Literal["disable", "prefer", "require"]
"""Whether a login to PostgreSQL is bound to its TLS session: `tls-server-end-point`, RFC 5929."""

PORTS = {MYSQL: 3306, POSTGRESQL: 5432}
"""The default port of each family."""


def is_off(switch: bool) -> bool:
    """Whether a switch has its default."""
    return not switch


def is_preferred(binding: str) -> bool:
    """Whether it is the default, which is not written."""
    return binding == "prefer"


class Tls(Frozen):
    """Whether the connection is encrypted, and what the server must prove."""

    mode: TlsMode = "preferred"
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    fingerprint: str | None = None
    """SHA-256 of the only accepted certificate, as 64 lower-case hexadecimal digits."""
    ciphers: tuple[str, ...] = ()
    """Allowed ciphers, by OpenSSL's names; empty: client and server negotiate one."""
    versions: tuple[TlsVersion, ...] = ()
    """Allowed versions; empty: 1.2 and 1.3. Older ones are only used where they are named."""
    direct: bool = Field(default=False, exclude_if=is_off)
    """Whether the handshake comes first, without asking the server for it: PostgreSQL 17 on. Not
    written unless set."""

    channel_binding: ChannelBinding = Field(default="prefer", exclude_if=is_preferred)
    """Whether the login is bound to the TLS session, for PostgreSQL only. Not written if it is
    `prefer`."""

    @property
    def must(self) -> bool:
        """Whether an unencrypted connection is refused."""
        return self.mode in ("required", "verify-ca", "verify-identity")

    @property
    def proves_server(self) -> bool:
        """Whether an established TLS connection proves the identity of the server."""
        return self.fingerprint is not None or self.mode in ("verify-ca", "verify-identity")

    @property
    def implied(self) -> TlsMode:
        """The mode if none is named: options about certificates imply that they are verified."""
        if self.ca is not None:
            return "verify-ca"
        return "preferred" if self.fingerprint is None else "required"

    @property
    def with_mode(self) -> Tls:
        """These settings, with the implied mode if none was named."""
        if "mode" in self.model_fields_set or self.implied == "preferred":
            return self
        return self.model_copy(update={"mode": self.implied})


def is_none(value: object) -> bool:
    """Whether there is nothing to write."""
    return value is None


def is_first(family: str) -> bool:
    """Whether it is the default family, which is not written."""
    return family == MYSQL


class Target(Frozen):
    """One endpoint; `socket` wins over host and port. There is no field for a password."""

    host: str = "localhost"
    port: int | None = Field(default=None, ge=1, le=65535)
    socket: Path | None = None
    user: str | None = None
    database: str | None = None
    tls: Tls = Tls()
    compression: tuple[Compression, ...] = ()
    """Kinds in order of preference; empty, or only `off`: not compressed."""
    server_public_key: Path | None = None
    family: FamilyName = Field(default=MYSQL, exclude_if=is_first)
    """The server's family, from the scheme of the URL; the default one is not written."""
    startup_options: str | None = Field(default=None, exclude_if=is_none)
    """What a PostgreSQL server gets at each login as on its own command line (libpq's `options`,
    `-c work_mem=8MB`); not written where there are none."""
    application_name: str | None = Field(default=None, exclude_if=is_none)
    """The name that the load's sessions have in a PostgreSQL server's lists; `None`: `loadstone`.
    Not written where none is named."""

    @property
    def place(self) -> str:
        """The address for messages: `db1:3306`, or the socket's path."""
        if self.socket is not None:
            return str(self.socket)
        return f"{_bracketed(self.host)}:{self.tcp_port}"

    @property
    def tcp_port(self) -> int:
        """The port, or the default one if none is named."""
        return self.port or PORTS[self.family]

    @property
    def is_local(self) -> bool:
        """Whether the address is a unix socket or loopback (which may also be a tunnel)."""
        if self.socket is not None or self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The URL without a password: parsing it gives an equal target."""
        user = f"{quote(self.user, safe='')}@" if self.user is not None else ""
        port = f":{self.port}" if self.port is not None else ""
        database = f"/{quote(self.database, safe='')}" if self.database is not None else ""
        options = "&".join(f"{name}={quote(text, safe='/,')}" for name, text in self._options())
        return f"{self.family}://{user}{_bracketed(self.host)}{port}{database}" + (
            f"?{options}" if options else ""
        )

    def _options(self) -> list[tuple[str, str]]:
        binding = self.tls.channel_binding
        pairs: list[tuple[str, object]] = [
            ("tls", self.tls.mode if {self.tls.mode, self.tls.implied} != {"preferred"} else None),
            ("tls-ca", self.tls.ca),
            ("tls-cert", self.tls.cert),
            ("tls-key", self.tls.key),
            ("tls-fingerprint", self.tls.fingerprint),
            ("tls-version", ",".join(self.tls.versions) or None),
            (libpq.NEGOTIATION, "direct" if self.tls.direct else None),
            (libpq.CHANNEL_BINDING, None if is_preferred(binding) else binding),
            ("compression", ",".join(self.compression) or None),
            ("socket", self.socket),
            ("server-public-key", self.server_public_key),
            (libpq.STARTUP_OPTIONS, self.startup_options),
            (libpq.APPLICATION_NAME, self.application_name),
        ]
        return [(name, str(value)) for name, value in pairs if value is not None]

    def __str__(self) -> str:
        return self.url


class Credentials(Frozen):
    """The password and its source; the text and JSON forms are blank."""

    password: SecretStr = SecretStr("")
    source: Message = say("none given")
    may_go_in_clear: bool = False
    """Whether the password itself may be sent to any server that asks for it within TLS. Never part
    of a target: naming a server does not mean trusting it."""

    def reveal(self) -> str:
        """The password itself, only for use at login."""
        return self.password.get_secret_value()


class Endpoint(Frozen):
    """A target with its credentials: all that a connection needs."""

    target: Target
    credentials: Credentials = Credentials()
    server_is_here: bool = False
    """Whether the listener on that loopback address is known to be a server on this machine, and
    not the end of a tunnel: then it may ask for the password itself, as over a socket."""
    chosen: Message | None = None
    """Why this one of several hosts is used, and not the others; `None`: no other was named."""

    def for_engine(self) -> dict[str, object]:
        """The engine's form (docs/engine.md) with the password: only for the plan, never stored."""
        target = self.target
        more = {"startup_options": target.startup_options} if target.startup_options else {}
        if target.application_name:
            more["application_name"] = target.application_name
        return more | {
            "family": target.family,
            "host": target.host,
            "port": target.tcp_port,
            "socket": _text(target.socket),
            "user": target.user or "",
            "password": self.credentials.reveal(),
            "database": target.database or "",
            "tls": {
                "mode": target.tls.mode,
                "ca": _text(target.tls.ca),
                "cert": _text(target.tls.cert),
                "key": _text(target.tls.key),
                "fingerprint": target.tls.fingerprint,
                "ciphers": list(target.tls.ciphers),
                "versions": list(target.tls.versions),
                "direct": target.tls.direct,
                "channel_binding": target.tls.channel_binding,
            },
            "compression": list(target.compression),
            "server_public_key": _text(target.server_public_key),
            "allow_clear_password": self.credentials.may_go_in_clear,
            "server_is_here": self.server_is_here,
        }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
