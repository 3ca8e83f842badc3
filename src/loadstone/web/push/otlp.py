"""OTLP over HTTP, by the SDK of OpenTelemetry: gauges, and cumulative sums for what is counted."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
from opentelemetry.sdk.resources import Resource

from loadstone import __version__
from loadstone.web.push.sender import ANSWER_S, PushFailed
from loadstone.web.series import Point

Observed = Callable[[CallbackOptions], Iterable[Observation]]


class Otlp:
    """Pushes to a receiver of OTLP."""

    def __init__(self, url: str, token: str | None, run: str) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._said = _Said()
        self._exporter = OTLPMetricExporter(endpoint=url, headers=headers, timeout=ANSWER_S)
        self._reader = InMemoryMetricReader()
        resource = Resource({"service.name": "loadstone", "service.instance.id": run})
        self._provider = MeterProvider([self._reader], resource=resource, shutdown_on_exit=False)
        self._meter = self._provider.get_meter("loadstone", __version__)
        self._points: dict[str, list[Point]] = {}
        self._known: set[str] = set()

    def send(self, points: Sequence[Point], unix_ms: int) -> None:
        """Push the values; the SDK states the moment itself."""
        self._points = defaultdict(list)
        for point in points:
            self._points[point.name].append(point)
            self._meet(point)
        made = self._reader.get_metrics_data()
        if made is None:
            return
        self._said.what = ""
        if self._exporter.export(made) is not MetricExportResult.SUCCESS:
            raise PushFailed(self._said.what or "the receiver did not take them")

    def end(self, unix_ms: int) -> None:
        """Nothing tells a receiver of OTLP that a series ends."""
        self._provider.shutdown()
        self._exporter.shutdown()
        self._said.close()

    def _meet(self, point: Point) -> None:
        """Make the instrument of a series' name when it is there for the first time."""
        if point.name in self._known:
            return
        self._known.add(point.name)
        make = (
            self._meter.create_observable_counter
            if point.is_counter
            else self._meter.create_observable_gauge
        )
        make(point.name, [self._observed(point.name)])

    def _observed(self, name: str) -> Observed:
        def observed(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(one.value, dict(one.labels)) for one in self._points.get(name, [])]

        return observed


class _Said(logging.Handler):
    """Keeps what the exporter logs: it says only there why a receiver took nothing."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.what = ""
        self._logger = logging.getLogger("opentelemetry")
        self._logger.addHandler(self)
        self._logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the last line."""
        self.what = record.getMessage()

    def close(self) -> None:
        """Log as before."""
        self._logger.removeHandler(self)
        self._logger.propagate = True
        super().close()
