"""Attaches figures of a managed database's host to a run that has ended.

They come from a console's export, or from a Prometheus server that scrapes a cloud's exporter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from statistics import median

from loadstone.model.attached import (
    MOST_POINTS,
    Attached,
    AttachedFile,
    AttachedMetric,
    AttachedStep,
)
from loadstone.model.figure import Count, Seconds
from loadstone.model.limits import Limits, values_of
from loadstone.model.message import Message, say
from loadstone.model.quantity import LONGEST_S
from loadstone.model.result import Result
from loadstone.observe.cloud_series import known_series, read_series
from loadstone.observe.export_file import (
    MOST_BYTES,
    STATISTICS,
    Chosen,
    ExportError,
    Series,
    check_value,
    chosen,
    parse,
)
from loadstone.observe.export_units import factor_of
from loadstone.observe.prometheus_api import shown
from loadstone.runs import run_folder
from loadstone.runs.attached import read_attached
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import RunLog, read_log
from loadstone.runs.summaries import utc

_HALF_HOUR_S = 1800.0
_LEAST_GRANULARITY_S = 0.001


@dataclass(frozen=True)
class AttachRequest:
    """What to attach, and how to read it."""

    file: Path | None = None
    """The export; `None`: none is attached."""
    url: str | None = None
    """A Prometheus server's, with the labels of the database's series."""
    series: Path | None = None
    """Names of more series of exporters in that server."""
    late_s: float | None = None
    """By how much later than its time a value was scraped, where it has the time of a scrape."""
    local: tzinfo | None = None
    """The zone of times that name none."""
    granularity_s: float | None = None
    """How long a time each value stands for; `None`: as far apart as the values are."""
    ends: bool = False
    """Whether a value's time is the end of the time it stands for, rather than its start."""
    named: tuple[tuple[str, str], ...] = ()
    """Metrics that are figures of other names."""
    limits: Limits = Limits()
    """Limits of the server's host that the user states, in addition to earlier ones."""


@dataclass(frozen=True)
class _Clock:
    """The run's clock."""

    began_unix_s: float
    ended_unix_s: float

    @property
    def lasted_s(self) -> float:
        return self.ended_unix_s - self.began_unix_s


def attach(run: Path, asked: AttachRequest) -> tuple[Result, AttachedFile | None]:
    """Add a file, or limits, to a run; a file of the same name that it has already is replaced.

    Raises:
        ExportError: it cannot be read as an export, or has no value from the time of the run.
        StoreError: the run still runs, or cannot be read or written.
    """
    if run_folder.is_running(run):
        raise StoreError(
            say("{run} is still running: attach to it when it has ended", run=run.name)
        )
    log = read_log(run)
    clock = _clock(log, run)
    file = _file(asked, clock)
    before = read_attached(run) or Attached(steps=(), files=())
    others = [one for one in before.files if file is None or one.file != file.file]
    attached = Attached(
        steps=tuple(_steps(log)),
        files=(*others, file) if file else tuple(others),
        limits=before.limits | values_of(asked.limits),
    )
    return run_folder.keep_attached(run, attached), file


def _file(asked: AttachRequest, clock: _Clock) -> AttachedFile | None:
    """What the export or the server has of the time of the run."""
    if asked.url is not None:
        return _from_prometheus(asked.url, asked, clock)
    if asked.file is None:
        return None
    name = asked.file.name
    series = parse(_content(asked.file), name, asked.local)
    named = dict(asked.named)
    _check_named(named, series, name)
    _check_statistics(named, series, name)
    return _attached(
        name, series, clock, list(_metrics(series, name, asked, (clock, chosen(named))))
    )


def _from_prometheus(url: str, asked: AttachRequest, clock: _Clock) -> AttachedFile:
    known = known_series(asked.series)
    between = (clock.began_unix_s, clock.ended_unix_s)
    series = read_series(url, known, between, asked.late_s)
    name = shown(url)
    metrics = [
        metric
        for one in series
        for metric in _metrics(
            [one],
            name,
            replace(asked, granularity_s=known[one.name].seconds, ends=False),
            (clock, lambda of: (known[of].figure, known[of].factor)),
        )
    ]
    return _attached(name, series, clock, metrics)


def _attached(
    name: str, series: Sequence[Series], clock: _Clock, metrics: Sequence[AttachedMetric]
) -> AttachedFile:
    _check_metrics(metrics, series, clock, name)
    return AttachedFile(file=name, metrics=tuple(metrics))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ExportError(
            say("cannot read {path}: {why}", path=path, why=error.strerror or str(error))
        ) from error


def _clock(log: RunLog, run: Path) -> _Clock:
    if log.begin is None:
        raise StoreError(say("{run} recorded nothing: there is nothing to attach to", run=run.name))
    return _Clock(log.begin.unix_s, log.begin.unix_s + log.last_at_s)


def _steps(log: RunLog) -> Iterator[AttachedStep]:
    assert log.begin is not None  # checked with the clock
    for step in log.steps:
        yield AttachedStep(
            step=step.step.number,
            started_at=utc(log.begin.unix_s + step.begin.at_s),
            load_began_s=step.load_began_s,
        )


def _check_named(named: dict[str, str], series: Sequence[Series], file: str) -> None:
    there = [one.name for one in series]
    for name in named:
        if name not in there:
            raise ExportError(
                say("{file}: there is no metric '{name}' in it", file=file, name=name),
                say("it has {first} and {number} in all", first=there[0], number=len(there)),
            )


def _check_statistics(named: dict[str, str], series: Sequence[Series], file: str) -> None:
    """Refuse a file that does not say which metric its values are of, unless the user does."""
    first = series[0].name
    if not named and all(one.name.lower() in STATISTICS for one in series):
        raise ExportError(
            say(
                "{file}: its column {name} is a statistic of a metric that it does not name: say "
                "which figure it is with --metric {name}=FIGURE, such as disk_write_iops",
                file=file,
                name=first,
            )
        )


def _metrics(
    series: Sequence[Series], file: str, asked: AttachRequest, known: tuple[_Clock, Chosen]
) -> Iterator[AttachedMetric]:
    """The metrics with values around the time of the run, on its clock."""
    kept, (clock, figure_of) = 0, known
    for one in series:
        points = one.in_order()
        granularity_s = asked.granularity_s or _granularity(points, clock)
        if granularity_s is None:
            raise ExportError(
                say(
                    "{file}: {metric} has one value only, which does not say how long a time it "
                    "stands for: add --granularity",
                    file=file,
                    metric=one.name,
                )
            )
        shift = clock.began_unix_s + (granularity_s if asked.ends else 0.0)
        near = _near([(at - shift, value) for at, value in points], granularity_s, clock)
        kept += len(near)
        if kept > MOST_POINTS:
            raise ExportError(
                say(
                    "{file}: more than {most} values are from the time of the run",
                    file=file,
                    most=Count(MOST_POINTS),
                )
            )
        if near:
            yield _metric(one.name, near, granularity_s, _in_unit(one, figure_of, file), file)


_Points = list[tuple[float, float]]
"""Times in seconds since the start of the run, and values."""


def _near(points: _Points, granularity_s: float, clock: _Clock) -> _Points:
    """The values that stand for some of the time of the run."""
    before_s = min(granularity_s, LONGEST_S)
    return [(at, value) for at, value in points if -before_s < at < clock.lasted_s]


def _in_unit(one: Series, figure_of: Chosen, file: str) -> tuple[str | None, float]:
    """The figure that a metric is, and its unit in the figure's: the written one, if there is."""
    figure, factor = figure_of(one.name)
    if figure is None or not one.unit:
        return figure, factor
    written = factor_of(one.unit, figure)
    if written is None:
        raise ExportError(
            say(
                "{file}: the values of {metric} are in {unit}, as those of {figure} never are",
                file=file,
                metric=one.name,
                unit=one.unit,
                figure=figure,
            )
        )
    return figure, written


def _metric(
    name: str, points: _Points, granularity_s: float, is_figure: tuple[str | None, float], file: str
) -> AttachedMetric:
    figure, factor = is_figure
    if figure:
        _check_values(file, name, figure, points)
    return AttachedMetric(
        name=name,
        figure=figure,
        factor=factor,
        granularity_s=granularity_s,
        from_s=tuple(round(at, 3) for at, _ in points),
        values=tuple(value for _, value in points),
    )


def _granularity(points: Sequence[tuple[float, float]], clock: _Clock) -> float | None:
    """How far apart the values are; consoles keep old ones coarser, so first those of the run."""
    times = [at for at, _ in points]
    there = [at for at in times if clock.began_unix_s <= at <= clock.ended_unix_s]
    for among in (there, times):
        apart = [later - sooner for sooner, later in zip(among, among[1:], strict=False)]
        if apart:
            return max(median(apart), _LEAST_GRANULARITY_S)
    return None


def _check_values(
    file: str, metric: str, figure: str, points: Iterable[tuple[float, float]]
) -> None:
    for _, value in points:
        try:
            check_value(metric, figure, value)
        except ValueError as error:
            raise ExportError(say("{file}: {why}", file=file, why=error.args[0])) from None


def _check_metrics(
    metrics: Sequence[AttachedMetric], series: Sequence[Series], clock: _Clock, file: str
) -> None:
    """Refuse a file without a value of the run, and two metrics that are one figure."""
    if not metrics:
        raise _elsewhere(series, clock, file)
    by_field: dict[str, str] = {}
    for one in metrics:
        known = one.known
        if known is None or known.field is None:
            continue
        other = by_field.setdefault(known.field, one.name)
        if other != one.name:
            raise ExportError(
                say(
                    "{file}: {first} and {second} are both the host's {figure}: leave one out",
                    file=file,
                    first=other,
                    second=one.name,
                    figure=known.field,
                )
            )


def _elsewhere(series: Sequence[Series], clock: _Clock, file: str) -> ExportError:
    """The error for a file of other times, with a hint where a time zone explains it."""
    times = [at for one in series for at in one.values]
    first, last = min(times), max(times)
    said = say(
        "{file}: its values are from {first} to {last}, the run from {began} to {ended}",
        file=file,
        first=_when(first),
        last=_when(last),
        began=_when(clock.began_unix_s),
        ended=_when(clock.ended_unix_s),
    )
    return ExportError(said, _zone_hint(first, last, clock))


def _when(unix_s: float) -> str:
    try:
        return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{unix_s:.0f} s"


def _zone_hint(first: float, last: float, clock: _Clock) -> Message | None:
    """That another time zone would fit: its offset is a multiple of half an hour, up to 14 h."""
    for halves in range(1, 29):
        for shift in (halves * _HALF_HOUR_S, -halves * _HALF_HOUR_S):
            if first + shift <= clock.ended_unix_s and last + shift >= clock.began_unix_s:
                return say(
                    "moved by {hours} they would fit: --timezone says which zone they are in",
                    hours=Seconds(abs(shift)),
                )
    return None
