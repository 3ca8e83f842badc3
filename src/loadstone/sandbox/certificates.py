"""The sandbox's own certificate authority, with a certificate for its server and a client."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

KeyKind = Literal["ec", "rsa"]
"""The kinds of keys: today's, and what TLS libraries read until 2019."""

_RSA_BITS = 2048
_VALID_FOR = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class Certificates:
    """The files that both ends of a TLS connection in a sandbox need."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The authority's certificate, which a client trusts."""
        return self.folder / "ca.pem"

    def cert(self, end: str) -> Path:
        """The certificate of the `server` or the `client` end."""
        return self.folder / f"{end}-cert.pem"

    def key(self, end: str) -> Path:
        """The private key of the `server` or the `client` end."""
        return self.folder / f"{end}-key.pem"


@dataclass(frozen=True)
class _Authority:
    name: x509.Name
    key: Key
    kind: KeyKind


def make_certificates(folder: Path, kind: KeyKind = "ec") -> Certificates:
    """Write a new set. The server's certificate is valid for localhost, 127.0.0.1 and ::1."""
    from cryptography import x509

    folder.mkdir(mode=0o700)
    files = Certificates(folder)
    authority = _make_authority(files.ca, kind)
    names = x509.SubjectAlternativeName(
        [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.IPAddress(ipaddress.ip_address("::1")),
        ]
    )
    _make_leaf(files, "server", authority, names)
    client = x509.SubjectAlternativeName([x509.DNSName("loadstone-client")])
    _make_leaf(files, "client", authority, client)
    return files


def fingerprint_of(certificate: Path) -> str:
    """The certificate's SHA-256 as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.read_text())).hexdigest()


def _new_key(kind: KeyKind) -> Key:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if kind == "rsa":
        return rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS)
    return ec.generate_private_key(ec.SECP256R1())


def _make_authority(place: Path, kind: KeyKind) -> _Authority:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    key = _new_key(kind)
    name = _name("Loadstone sandbox CA")
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    certificate = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    place.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return _Authority(name, key, kind)


def _make_leaf(
    files: Certificates, end: str, authority: _Authority, names: x509.SubjectAlternativeName
) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = _new_key(authority.kind)
    role = ExtendedKeyUsageOID.SERVER_AUTH if end == "server" else ExtendedKeyUsageOID.CLIENT_AUTH
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    certificate = (
        _builder(_name(f"Loadstone sandbox {end}"), authority.name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([role]), critical=False)
        .add_extension(issuer_id, critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    files.cert(end).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    formats = serialization.PrivateFormat
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        # PKCS #8 is unknown to yaSSL, which MySQL 5.7 was built with.
        formats.TraditionalOpenSSL if authority.kind == "rsa" else formats.PKCS8,
        serialization.NoEncryption(),
    )
    descriptor = os.open(files.key(end), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret)


def _name(text: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: x509.Name, issuer: x509.Name, key: PublicKey) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _VALID_FOR)
    )
