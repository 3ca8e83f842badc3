"""The certificate and the key with which the page's server speaks TLS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"
_KEY = "PRIVATE KEY-----"


class TlsRefused(LoadstoneError):
    """The certificate or the key cannot be used."""

    exit_code = ExitCode.USAGE


class _Encrypted(Exception):
    """The key is encrypted with a passphrase."""


@dataclass(frozen=True)
class TlsFiles:
    """Files in PEM form: a certificate, with those of its issuers behind it, and its key."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """What a server needs to accept connections: TLS 1.2 and above, with these files.

        Raises:
            TlsRefused: a file cannot be read, lacks what it is for, or the key is not that of the
                certificate.
        """
        if _CERTIFICATE not in _content(self.certificate):
            raise TlsRefused(
                say("{file} has no certificate in PEM form", file=str(self.certificate))
            )
        if _KEY not in _content(self.key):
            raise TlsRefused(say("{file} has no private key in PEM form", file=str(self.key)))
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            made.load_cert_chain(self.certificate, self.key, _no_passphrase)
        except _Encrypted:
            raise TlsRefused(
                say("the key in {file} is encrypted", file=str(self.key)),
                say(
                    "{command} writes an unencrypted copy",
                    command=f"openssl pkey -in {self.key} -out KEY",
                ),
            ) from None
        except ssl.SSLError as error:
            raise self._refused(error) from error
        return made

    def _refused(self, error: ssl.SSLError) -> TlsRefused:
        if error.reason == "KEY_VALUES_MISMATCH":
            return TlsRefused(
                say(
                    "the key in {key} is not that of the certificate in {certificate}",
                    key=str(self.key),
                    certificate=str(self.certificate),
                )
            )
        return TlsRefused(
            say(
                "cannot use {certificate} with {key}: {why}",
                certificate=str(self.certificate),
                key=str(self.key),
                why=error.reason or str(error),
            )
        )


def _content(file: Path) -> str:
    try:
        return file.read_text("latin-1")
    except OSError as error:
        why = error.strerror or str(error)
        raise TlsRefused(say("cannot read {file}: {why}", file=str(file), why=why)) from error


def _no_passphrase() -> str:
    """Called for the passphrase of a key: without it OpenSSL would ask on the terminal."""
    raise _Encrypted
