"""The words of libpq, PostgreSQL's client library, for what URLs and targets say in ours.

Sources: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

NAMES: Mapping[str, str] = {
    "sslmode": "tls",
    "sslrootcert": "tls-ca",
    "sslcert": "tls-cert",
    "sslkey": "tls-key",
}
"""The options of a target's URL, by the parameters of libpq that mean the same."""

WITHOUT_OPTION = ("host", "port", "user", "dbname", "service")
"""Further parameters that a URL may have as options: they name what its other parts also can."""

STARTUP_OPTIONS = "options"
"""The parameter with settings for the session, as the server has them on its command line."""

NEGOTIATION = "sslnegotiation"
"""The parameter that says how a connection gets to TLS: `postgres` asks the server for it first,
`direct` starts with the handshake (servers from PostgreSQL 17 on)."""

APPLICATION_NAME = "application_name"
"""The parameter with the name that sessions have in the server's lists."""

CHANNEL_BINDING = "channel_binding"
"""The parameter that says whether a login is bound to its TLS session."""

LOWEST_TLS, HIGHEST_TLS = "ssl_min_protocol_version", "ssl_max_protocol_version"
"""The parameters that limit the versions of TLS."""

LOWEST_TLS_BY_DEFAULT = "TLSv1.2"

SYSTEM_AUTHORITIES = "system"
"""The value of `sslrootcert` that means the authorities that the system trusts."""

WITHOUT_EFFECT = frozenset(
    ("fallback_application_name", "client_encoding", "sslcompression", "sslsni")
    + ("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count")
    + ("tcp_user_timeout", "krbsrvname", "gsslib", "gssdelegation")
)
"""Parameters that change neither which server is reached nor what it must prove."""

_DEMANDS: Mapping[str, tuple[str, ...]] = {
    "require_auth": (),
    "requirepeer": (),
    "sslcrl": (),
    "sslcrldir": (),
    "sslcertmode": ("allow",),
    "gssencmode": ("disable", "prefer"),
}
"""Parameters that ask for a check that is not made here, with the values that ask for none."""

_DIRECT = {"postgres": False, "direct": True}
_TLS_MODES = {
    "disable": "disabled",
    "allow": "preferred",
    "prefer": "preferred",
    "require": "required",
    "verify-full": "verify-identity",
}
_SOCKET = ".s.PGSQL."


def has_no_effect(name: str, value: str) -> bool:
    """Whether a parameter changes neither which server is reached nor what it must prove."""
    return name in WITHOUT_EFFECT or (name in _DEMANDS and not is_unmet_demand(name, value))


def is_unmet_demand(name: str, value: str) -> bool:
    """Whether a parameter asks for a check that is not made here: then it must not be ignored."""
    return name in _DEMANDS and value not in ("", *_DEMANDS[name])


def tls_mode_of(sslmode: str) -> str:
    """The TLS mode that a value of `sslmode` means; an unknown value as it is.

    `allow` means TLS only where the server insists on it, which is never better than `preferred`.
    """
    return _TLS_MODES.get(sslmode, sslmode)


def is_direct(sslnegotiation: str) -> bool | None:
    """Whether a value of `sslnegotiation` means direct TLS; `None`: there is no such value."""
    return _DIRECT.get(sslnegotiation)


def socket_in(place: Path, port: int) -> Path:
    """The server's Unix socket in a folder; a path that is already a socket's stays as it is."""
    return place if place.name.startswith(_SOCKET) else place / f"{_SOCKET}{port}"
