"""What a user specified about one target, before option files and the environment are read."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.frozen import Frozen

DEFAULT_SCHEMA = "sbtest"
"""The schema if nothing names one, as sysbench's."""


class EndpointRequest(Frozen):
    """The command line's options for one target; an option that was not given is `None`."""

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
    tls_version: str | None = None
    compression: str | None = None
    server_public_key: Path | None = None
    defaults_file: Path | None = None
    ask_password: bool = False
    enable_cleartext_plugin: bool = False
    is_settled: bool = False
    """The URL is one that was recorded: its host was chosen before, whatever the environment says
    about hosts now."""
