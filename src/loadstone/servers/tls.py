"""TLS of connections for administration: what a server must prove, in the terms of `ssl`."""

from __future__ import annotations

import hashlib
import ssl
import warnings
from collections.abc import Iterable, Mapping
from typing import ClassVar

from loadstone.model.message import Joined, say
from loadstone.model.target import Tls, TlsVersion
from loadstone.servers.errors import TargetError

MODERN: tuple[TlsVersion, ...] = ("TLSv1.2", "TLSv1.3")
"""The versions that are used where none is named."""

_VERSIONS: Mapping[TlsVersion, ssl.TLSVersion] = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


def context_for(tls: Tls, named: Iterable[TlsVersion]) -> ssl.SSLContext:
    """The context for these versions, and what is between them.

    Raises:
        TargetError: as `tls_context`.
    """
    context = tls_context(tls)
    versions = sorted(_VERSIONS[name] for name in named)
    with warnings.catch_warnings():
        # Old ones are deprecated, and asked for.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = versions[0], versions[-1]
    return context


class _Pinned(ssl.SSLSocket):
    """Aborts a handshake with any other certificate before a byte of the login is sent."""

    fingerprint: ClassVar[str]

    def do_handshake(self, block: bool = False) -> None:
        super().do_handshake(block)
        shown = hashlib.sha256(self.getpeercert(binary_form=True) or b"").hexdigest()
        if shown != self.fingerprint:
            error = ssl.SSLCertVerificationError("another fingerprint")
            error.verify_message = say(
                "its fingerprint is not the one that was given: {fingerprint}", fingerprint=shown
            )
            raise error


def tls_context(tls: Tls) -> ssl.SSLContext:
    """The TLS context that checks what the connection must prove.

    Raises:
        TargetError: a certificate or key cannot be read, or no authority was given to verify
            against.
    """
    if tls.mode in ("verify-ca", "verify-identity") and tls.ca is None:
        # A certificate of any of the system's authorities would do for any host: it proves nothing
        # here.
        raise TargetError(
            "tls_failed",
            say(
                "--tls {mode} needs the authority that signed the server's certificate",
                mode=tls.mode,
            ),
            say("--tls-ca with its PEM file; or --tls required with --tls-fingerprint"),
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.mode == "verify-identity"
    verify = tls.mode in ("verify-ca", "verify-identity")
    if tls.fingerprint is not None:
        context.sslsocket_class = type("_Pinned", (_Pinned,), {"fingerprint": tls.fingerprint})
    context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    try:
        if tls.ca is not None:
            context.load_verify_locations(tls.ca)
        if tls.cert is not None:
            context.load_cert_chain(tls.cert, tls.key)
    except OSError as error:
        files = [str(path) for path in (tls.ca, tls.cert, tls.key) if path is not None]
        raise TargetError(
            "tls_failed",
            say(
                "cannot use the TLS files {files}: {reason}",
                files=Joined(files),
                reason=error.strerror or str(error),
            ),
            say("PEM files are needed: --tls-ca, --tls-cert and its --tls-key"),
        ) from error
    return context
