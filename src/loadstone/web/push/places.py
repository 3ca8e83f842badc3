"""Where metrics are pushed to: the URLs of receivers, checked before anything starts."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.web.extras import ExtraMissing, first_missing

TOKEN = "LOADSTONE_PUSH_TOKEN"
"""The environment variable with the token that receivers get as `Authorization: Bearer`."""

Kind = Literal["otlp", "remote-write"]

_PATHS: dict[Kind, str] = {"otlp": "/v1/metrics", "remote-write": "/api/v1/write"}
"""The path of a receiver whose URL has none."""

_NEEDS: dict[Kind, tuple[str, ...]] = {
    "otlp": ("opentelemetry.sdk.metrics", "opentelemetry.exporter.otlp.proto.http"),
    "remote-write": ("cramjam", "google.protobuf"),
}


class PushRefused(LoadstoneError):
    """Metrics cannot be pushed there; nothing was started."""

    exit_code = ExitCode.USAGE


class PushPlace(Frozen):
    """A receiver."""

    kind: Kind
    url: str
    """Its whole URL, without a password."""


def place(kind: Kind, text: str) -> PushPlace:
    """The receiver at a URL; without a path it has the usual one.

    Raises:
        PushRefused: it is not the URL of a web server, or has a password in it.
        ExtraMissing: what pushes that way is not installed.
    """
    try:
        parts = urlsplit(text)
        is_place = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_place = is_place and parts.port != 0  # which checks the port, too
    except ValueError:
        is_place = False
    if not is_place:
        raise PushRefused(
            say("--{option} {text} is not the URL of a receiver", option=kind, text=text),
            say("write http://127.0.0.1:9090{path}", path=_PATHS[kind]),
        )
    if parts.username is not None or parts.password is not None:
        raise PushRefused(
            say("--{option} takes no user or password in the URL", option=kind),
            say("put a token into {variable}", variable=TOKEN),
        )
    _check_installed(kind)
    path = parts.path if parts.path.strip("/") else _PATHS[kind]
    return PushPlace(kind=kind, url=urlunsplit(parts._replace(path=path)))


def _check_installed(kind: Kind) -> None:
    package = first_missing(_NEEDS[kind])
    if package is not None:
        raise ExtraMissing(
            say(
                "{what} needs the Python package {package}, which is not installed",
                what=f"--{kind}",
                package=package,
            ),
            say("pip install 'loadstone[push]'"),
        )
