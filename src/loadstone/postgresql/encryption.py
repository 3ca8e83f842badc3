"""What libpq's parameters and the user's own files say of TLS, and of what a login must prove.

Sources: https://www.postgresql.org/docs/current/libpq-ssl.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from loadstone.model import libpq
from loadstone.model.message import say
from loadstone.model.target import Tls, TlsMode
from loadstone.model.target_url import (
    channel_binding,
    checked_authorities,
    tls_direct,
    tls_mode,
    tls_span,
    unmet_demand,
)
from loadstone.servers.errors import TargetError

_NAMED_BUNDLE = "SSL_CERT_FILE"
"""The variable by which OpenSSL, and so libpq, takes another file for the system's."""

_BUNDLES = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
    Path("/etc/ssl/ca-bundle.pem"),
    Path("/etc/ssl/cert.pem"),
)
"""The authorities that a system trusts, in one file: Debian's and Ubuntu's, Red Hat's, SUSE's,
Alpine's. Both clients read the same file, whatever OpenSSL they were built with."""


def tls_with(
    tls: Tls, parameters: Mapping[str, str], home: Path, environment: Mapping[str, str]
) -> Tls:
    """TLS as libpq has it: with the user's own files if no others are named.

    Raises:
        TargetUrlError: a value cannot be read, or asks for what is not done.
        TargetError: the system's authorities are meant, and this system has no file with them.
    """
    own = home / ".postgresql"
    found = _with_parameters(tls, parameters)
    more: dict[str, object] = {}
    has_own = (own / "root.crt").is_file()
    if found.mode == "required" and found.fingerprint is None and (found.ca or has_own):
        more["mode"] = "verify-ca"  # as libpq does: an authority that is there is asked
    verifies = found.mode.startswith("verify-") or "mode" in more
    if verifies and found.ca is None and has_own:
        more["ca"] = own / "root.crt"
    if verifies and (own / "root.crl").is_file():
        raise unmet_demand(str(own / "root.crl"))
    pair = (own / "postgresql.crt", own / "postgresql.key")
    if found.mode != "disabled" and found.cert is None and all(map(Path.is_file, pair)):
        more |= {"cert": pair[0], "key": pair[1]}
    if _means_the_system(found):
        more["ca"] = _system_authorities(environment)
    return found.model_copy(update=more)


def on_a_socket(tls: Tls, parameters: Mapping[str, str]) -> Tls:
    """What is left of it on a Unix socket: as for libpq there is no TLS, whatever asks for it.

    A login that has to be bound to TLS is refused there, so that wish stays.

    Raises:
        TargetUrlError: a value cannot be read.
    """
    binding = _with_parameters(tls, parameters).channel_binding
    return Tls() if binding == "prefer" else Tls(channel_binding=binding)


def _with_parameters(tls: Tls, parameters: Mapping[str, str]) -> Tls:
    given = {name: value for name, value in _given(parameters).items() if value is not None}
    update = {name: given[name] for name in given if name not in tls.model_fields_set}
    found = Tls.model_validate(tls.model_dump(exclude_unset=True) | update)
    if _means_the_system(found):
        return _checked_by_name(found)
    if "mode" not in tls.model_fields_set and tls.implied != "preferred":
        # Another place's mode may be stricter than what the URL's certificates imply, not weaker.
        stricter = max(found.mode, tls.implied, key=get_args(TlsMode).index)
        found = found.model_copy(update={"mode": stricter})
    return found


def _given(parameters: Mapping[str, str]) -> dict[str, object]:
    def read(name: str, by: Callable[[str], object]) -> object:
        return by(parameters[name]) if name in parameters else None

    return {
        "mode": read("sslmode", lambda text: tls_mode(libpq.tls_mode_of(text))),
        "ca": parameters.get("sslrootcert"),
        "cert": parameters.get("sslcert"),
        "key": parameters.get("sslkey"),
        "direct": read(libpq.NEGOTIATION, tls_direct),
        "channel_binding": read(libpq.CHANNEL_BINDING, channel_binding),
        "versions": tls_span(parameters),
    }


def _means_the_system(tls: Tls) -> bool:
    return tls.ca == Path(libpq.SYSTEM_AUTHORITIES)


def _checked_by_name(tls: Tls) -> Tls:
    """With the mode that the system's authorities need, if none was named.

    Raises:
        TargetUrlError: a weaker one was named.
    """
    mode: TlsMode = tls.mode if "mode" in tls.model_fields_set else "verify-identity"
    checked_authorities(mode)
    return tls.model_copy(update={"mode": mode})


def _system_authorities(environment: Mapping[str, str]) -> Path:
    named = environment.get(_NAMED_BUNDLE)
    for path in (Path(named),) if named else _BUNDLES:
        if path.is_file():
            return path
    raise TargetError(
        "tls_failed",
        say("sslrootcert=system: this system has no file with the authorities that it trusts"),
        say("name one with sslrootcert, or with SSL_CERT_FILE"),
    )
