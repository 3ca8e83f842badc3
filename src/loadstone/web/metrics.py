"""Metrics of running runs in the OpenMetrics format, for Prometheus to scrape."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.requests import Request
from starlette.responses import Response

from loadstone.web.diagnosis import diagnoses
from loadstone.web.followed import Diagnose, Followed
from loadstone.web.series import FAMILIES, RunCounts

MEDIA_TYPE = CONTENT_TYPE_LATEST


def exposition(runs: Iterable[RunCounts]) -> str:
    """The metric families of all runs, in the text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Runs(list(runs)))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.decode()


class _Runs(Collector):
    def __init__(self, runs: list[RunCounts]) -> None:
        self._runs = runs

    def collect(self) -> Iterator[Metric]:
        """Each family, with its lines for all runs."""
        for family in FAMILIES:
            made = Metric(family.name, family.about, family.kind, family.unit)
            for run in self._runs:
                for suffix, labels, value in family.lines(run):
                    made.add_sample(f"{family.name}{suffix}", {"run": run.run, **labels}, value)
            yield made


class Metrics:
    """Answers scrapes; each continues to read a journal where the last one stopped."""

    def __init__(self, runs: Callable[[], Iterable[Path]], diagnose: Diagnose = diagnoses) -> None:
        """`runs` returns the folders of the runs to report, `diagnose` their findings."""
        self._runs = runs
        self._diagnose = diagnose
        self._known: dict[Path, Followed] = {}
        self._one_at_a_time = asyncio.Lock()

    async def response(self, request: Request) -> Response:
        """The exposition at this moment."""
        async with self._one_at_a_time:
            text = await asyncio.to_thread(self._text)
        return Response(text, media_type=MEDIA_TYPE)

    def _text(self) -> str:
        runs = list(self._runs())
        self._known = {run: self._known.get(run) or Followed(run, self._diagnose) for run in runs}
        return exposition(self._known[run].read_on() for run in runs)
