"""Figures of a managed database's host, from a Prometheus server that scrapes its cloud's exporter.

Such exporters have means of minutes, as gauges. What counts is the time of a mean, not that of the
scrape which fetched it: an exporter that keeps the cloud's times gives whole periods, another one
the times of its scrapes, which come later by as much as only its operator knows.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.resources import files
from math import isfinite
from operator import ne
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, PositiveFloat, ValidationError

from loadstone.model.attached import FIGURES
from loadstone.model.figure import Seconds
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.model.nearest import nearest
from loadstone.observe.export_file import ExportError, Series
from loadstone.observe.prometheus_api import PrometheusApi

_BUNDLED = "cloud_series.toml"

_SERIES = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")

_SAME_S = 0.001
"""Prometheus keeps milliseconds."""

_MOST_DELAY_S = 900.0
"""How much later than its time a value may have been scraped, at most: clouds hold minutes back."""


def _known(figure: str) -> str:
    if figure not in FIGURES:
        near = nearest(figure, FIGURES) or say("docs/observing.md lists them")
        raise ValueError(say("there is no figure '{name}': {near}", name=figure, near=near))
    return figure


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(
            say("'{text}' is no regular expression: {why}", text=text, why=str(error))
        ) from None
    return text


class CloudSeries(Frozen):
    """What a series of an exporter is."""

    figure: Annotated[str, AfterValidator(_known)]
    factor: PositiveFloat = 1.0
    """Its unit in the unit of the figure."""
    seconds: PositiveFloat
    """The time that a value is the mean of."""
    labels: dict[str, Annotated[str, AfterValidator(_expression)]] = {}
    """Which of the series of that name: a regular expression of each of these labels."""

    def is_of(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels is meant."""
        return all(
            re.fullmatch(expression, labels.get(label, ""))
            for label, expression in self.labels.items()
        )


def known_series(more: Path | None = None) -> Mapping[str, CloudSeries]:
    """The series that are known by name: those of a file, and those that come with Loadstone.

    Where a server has several that are the same figure, the first one counts.

    Raises:
        ExportError: the file cannot be read, or an entry of it is none.
    """
    bundled = _read(files(__package__).joinpath(_BUNDLED).read_text(), _BUNDLED)
    if more is None:
        return bundled
    try:
        own = _read(more.read_text(), more.name)
        return {**own, **{name: one for name, one in bundled.items() if name not in own}}
    except OSError as error:
        why = error.strerror or str(error)
        raise ExportError(say("cannot read {path}: {why}", path=more, why=why)) from error
    except UnicodeDecodeError as error:
        raise ExportError(say("{file}: it is not text in UTF-8", file=more.name)) from error


def _read(text: str, file: str) -> dict[str, CloudSeries]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExportError(say("{file}: {why}", file=file, why=str(error))) from None
    return {name: _entry(name, entry, file) for name, entry in document.items()}


def _entry(name: str, entry: Any, file: str) -> CloudSeries:
    if not _SERIES.fullmatch(name):
        raise ExportError(say("{file}: '{name}' is no name of a series", file=file, name=name))
    try:
        return CloudSeries.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join([name, *map(str, first["loc"])])
        cause = first.get("ctx", {}).get("error")
        raise ExportError(
            say(
                "{file}: {key}: {why}",
                file=file,
                key=key,
                why=cause.args[0] if isinstance(cause, ValueError) else first["msg"],
            ),
            say('an entry is [NAME_OF_A_SERIES] with figure = "cpu_percent" and seconds = 60'),
        ) from None


def read_series(
    url: str,
    known: Mapping[str, CloudSeries],
    between: tuple[float, float],
    late_s: float | None = None,
) -> list[Series]:
    """The known series that the URL's labels choose, at the times that their values begin.

    Args:
        url: as of `PrometheusApi`.
        known: which series are read.
        between: the first and the last Unix time of interest.
        late_s: by how much later than its time a value is scraped, where the exporter does not
            keep the cloud's times.

    Raises:
        PlaceError: the URL is none, or has no labels.
        SourceError: the server does not answer, or is no Prometheus server.
        ExportError: it has none of these series, or the times of its values are not known.
    """
    longest_s = max(one.seconds for one in known.values())
    since, until = between[0] - longest_s, between[1] + longest_s + _MOST_DELAY_S + (late_s or 0.0)
    with closing(PrometheusApi(url)) as api:
        names = "|".join(sorted(known))
        query = f'{{{api.labels},__name__=~"{names}"}}[{round((until - since) * 1000)}ms]'
        found = [one for one in api.ask(query, at=until) if _is_known(one["metric"], known)]
        series = list(_each(_once(found, known), known, late_s, api.place))
        if not series:
            raise ExportError(
                say(
                    "{place} has no series of a cloud's exporter with {labels} from the time of "
                    "the run",
                    place=api.place,
                    labels=api.labels,
                ),
                say("--series FILE names the series of other exporters (docs/observing.md)"),
            )
        return series


def _is_known(labels: Mapping[str, str], known: Mapping[str, CloudSeries]) -> bool:
    return known[labels["__name__"]].is_of(labels)


def _once(found: list[dict[str, Any]], known: Mapping[str, CloudSeries]) -> list[dict[str, Any]]:
    """The series without those whose figure one of an earlier name is."""
    there = {one["metric"]["__name__"] for one in found}
    names = {known[name].figure: name for name in reversed(list(known)) if name in there}
    return [one for one in found if one["metric"]["__name__"] in names.values()]


def _each(
    found: list[dict[str, Any]],
    known: Mapping[str, CloudSeries],
    late_s: float | None,
    place: str,
) -> Iterator[Series]:
    names = [one["metric"]["__name__"] for one in found]
    for name, one in zip(names, found, strict=True):
        if names.count(name) > 1:
            raise ExportError(
                say("{place} has several series {name}: add a label", place=place, name=name)
            )
        # Some exporters say NaN where the cloud has no value.
        points = {float(at): float(text) for at, text in one["values"] if isfinite(float(text))}
        if not points:
            continue
        seconds = known[name].seconds
        if late_s is None and not all(_begins_a_period(at, seconds) for at in points):
            raise ExportError(
                say(
                    "{place}: the values of {name} have the times of scrapes, not those of the "
                    "means of {time}: nobody knows how much earlier these are",
                    place=place,
                    name=name,
                    time=Seconds(seconds),
                ),
                say("have the exporter keep the cloud's times, or say by how much with --late"),
            )
        periods = _by_period(points, seconds, late_s or 0.0)
        values = [points[at] for at in sorted(points)]
        # A cloud may correct the mean of a period once.
        if sum(map(ne, values, values[1:])) > 2 * len(periods):
            raise ExportError(
                say(
                    "{place}: {name} changes more often than once in {time}, so its values are no "
                    "means of that",
                    place=place,
                    name=name,
                    time=Seconds(seconds),
                ),
                say("say its interval with --series (docs/observing.md)"),
            )
        yield Series(name, periods)


def _begins_a_period(at: float, seconds: float) -> bool:
    return min(at % seconds, seconds - at % seconds) <= _SAME_S


def _by_period(points: Mapping[float, float], seconds: float, late_s: float) -> dict[float, float]:
    """A value for each period; scrapes repeat the latest one until there is another."""
    return {(at - late_s + _SAME_S) // seconds * seconds: points[at] for at in sorted(points)}
