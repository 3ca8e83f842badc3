"""What a person said about one target, before it is looked up where else that may stand."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.frozen import Frozen


class EndpointRequest(Frozen):
    """What the command line said about one target; what it left out is `None`."""

    url: str | None = None
    host: str | None = None
    port: int | None = None
    socket: Path | None = None
    user: str | None = None
    database: str | None = None
    tls: str | None = None
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_fingerprint: str | None = None
    compression: str | None = None
    server_public_key: Path | None = None
    defaults_file: Path | None = None
    ask_password: bool = False
    enable_cleartext_plugin: bool = False
