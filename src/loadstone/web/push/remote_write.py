"""Prometheus remote write: compressed protobuf over HTTP.

The specification is "Prometheus Remote-Write 1.0", prometheus.io/docs/specs/prw/remote_write_spec/.
"""

from __future__ import annotations

import http.client
import struct
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any

import cramjam
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from loadstone import __version__
from loadstone.web.push.sender import ANSWER_S, PushFailed
from loadstone.web.series import Point

STALE: float = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
"""The value that ends a series: queries then find nothing, in place of the last value."""

Series = tuple[tuple[str, str], ...]
"""The labels of a series, with its name as `__name__`, sorted as the specification wants them."""

_Field = descriptor_pb2.FieldDescriptorProto
_MESSAGES = {
    "Label": (("name", 1, _Field.TYPE_STRING), ("value", 2, _Field.TYPE_STRING)),
    "Sample": (("value", 1, _Field.TYPE_DOUBLE), ("timestamp", 2, _Field.TYPE_INT64)),
    "TimeSeries": (("labels", 1, "Label"), ("samples", 2, "Sample")),
    "WriteRequest": (("timeseries", 1, "TimeSeries"),),
}
"""The messages of the specification: each field's name, number and type; messages are repeated."""


def _write_request() -> type[Any]:
    """The class of the request, without generated code."""
    file = descriptor_pb2.FileDescriptorProto(
        name="loadstone/remote_write.proto", package="loadstone.prometheus", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, of in fields:
            if isinstance(of, str):
                message.field.add(
                    name=field,
                    number=number,
                    label=_Field.LABEL_REPEATED,
                    type=_Field.TYPE_MESSAGE,
                    type_name=f".{file.package}.{of}",
                )
            else:
                message.field.add(name=field, number=number, label=_Field.LABEL_OPTIONAL, type=of)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"{file.package}.WriteRequest")
    made: type[Any] = message_factory.GetMessageClass(found)
    return made


_WriteRequest = _write_request()


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for this server alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RemoteWrite:
    """Pushes to a receiver of remote write."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._headers = {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "snappy",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
            "User-Agent": f"loadstone/{__version__}",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._sent: set[Series] = set()

    def send(self, points: Sequence[Point], unix_ms: int) -> None:
        """Push the values; a series that has none any more ends."""
        values = {series_of(point): point.value for point in points}
        gone = dict.fromkeys(self._sent - values.keys(), STALE)
        self._post(request(values | gone, unix_ms))
        self._sent = set(values)

    def end(self, unix_ms: int) -> None:
        """End all series."""
        if self._sent:
            self._post(request(dict.fromkeys(self._sent, STALE), unix_ms))
            self._sent = set()

    def _post(self, body: bytes) -> None:
        asked = urllib.request.Request(self._url, body, self._headers)
        try:
            with urllib.request.build_opener(_Stays).open(asked, timeout=ANSWER_S):
                pass
        except urllib.error.HTTPError as error:
            said = error.read(200).decode(errors="replace").strip()
            raise PushFailed(f"{error.code} {error.reason}: {said}".rstrip(": ")) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise PushFailed(str(getattr(error, "reason", "") or error)) from error


def series_of(point: Point) -> Series:
    """The series of a value. A label without text is no label."""
    labels = {name: text for name, text in point.labels.items() if text}
    return tuple(sorted({"__name__": point.name, **labels}.items()))


def request(values: dict[Series, float], unix_ms: int) -> bytes:
    """The body of a request with a value of each series."""
    asked = _WriteRequest()
    for series, value in values.items():
        _add(asked.timeseries.add(), series, value, unix_ms)
    return bytes(cramjam.snappy.compress_raw(asked.SerializeToString()))


def _add(made: Any, labels: Iterable[tuple[str, str]], value: float, unix_ms: int) -> None:
    for name, text in labels:
        made.labels.add(name=name, value=text)
    made.samples.add(value=value, timestamp=unix_ms)
