"""Parses a console's export: a CSV file with times, metrics and values.

It has a row for each value (columns time, metric, value), or a column for each metric; lines of
something else may stand before that. The file
comes from elsewhere, so its size is limited, and what is wrong in it is named with its line.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from loadstone.model.attached import FIGURES, LONGEST_NAME, MOST_METRICS, figure_of
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.figure import Count
from loadstone.model.message import Message, say
from loadstone.observe.export_units import Unit, measured

MOST_BYTES = 64 << 20
_LONGEST_CELL = 10_000
_MOST_CELLS = 2_000_000
"""The most values of a file, each of which takes about a hundred bytes of memory."""
_MOST_TIMES = 100_000
"""The most times that are remembered."""
_MOST_BEFORE = 50
"""The most lines before the names of the columns."""
_GREATEST = 1e20
"""No measured value is greater, as in the files of runs."""

_TIMES = ("time", "timestamp", "datetime", "date", "date/time", "time (utc)", "timestamp (utc)")
_TIMES_AS_SET = frozenset(_TIMES)
_UTC = ("time (utc)", "timestamp (utc)")
_METRICS = ("metric", "metric name", "metric_name", "metricname", "name", "series")
_VALUES = ("value", "average", "avg", "mean")
_EXTREMES = ("maximum", "max", "minimum", "min")
_SUMS = ("sum", "samplecount", "sample count")
_UNITS = ("unit", "units")
STATISTICS = frozenset((*_VALUES, *_EXTREMES, *_SUMS))
"""Names of columns, in lower case, that do not say which metric the values are of."""
_NOTHING = frozenset(("", "-", "--", "null", "none", "nan", "n/a", "na"))
_EPOCH = re.compile(r"(\d{9,10}(?:\.\d+)?)|(\d{12,13})")
_EPOCH_BEGAN = datetime.fromtimestamp(0, UTC)
_SLASHES = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?=\D|$)")
_OFFSET = re.compile(r"[+-]\d{2}:?\d{2}")


class ExportError(LoadstoneError):
    """The file is not an export that can be read; the message has its name and the line."""

    exit_code = ExitCode.USAGE


class ZoneError(ValueError):
    """There is no such time zone."""


@dataclass
class Series:
    """One metric's values by time."""

    name: str
    values: dict[float, float] = field(default_factory=dict)
    """By UNIX time, in seconds."""
    missing: int = 0
    """Rows without a value."""
    unit: Unit = ""
    """What the values count, where they were written with a unit."""

    def in_order(self) -> list[tuple[float, float]]:
        """The values in the order of time."""
        return sorted(self.values.items())


def zone(text: str) -> tzinfo:
    """The time zone of a name or an offset: `UTC`, `Europe/Berlin`, `+02:00`.

    Raises:
        ZoneError: there is none of this name here.
    """
    if _OFFSET.fullmatch(text):
        try:
            found = datetime.strptime(text, "%z").tzinfo
        except ValueError:
            found = None
    else:
        try:
            found = UTC if text.upper() in ("UTC", "Z") else ZoneInfo(text)
        except (ValueError, OSError, LookupError):
            found = None
    if found is None:
        raise ZoneError(
            say("there is no time zone '{text}': write UTC, +02:00 or Europe/Berlin", text=text)
        )
    return found


def parse(content: bytes, name: str, local: tzinfo | None = None) -> list[Series]:
    """The metrics of a file; `local` is the zone of times that name none.

    Raises:
        ExportError: it is no such file; a message names the line.
    """
    if len(content) > MOST_BYTES:
        raise ExportError(
            say("{file}: it is larger than {most} MB", file=name, most=MOST_BYTES >> 20)
        )
    rows = _Rows(_text(content, name), name)
    heads = rows.heads()
    try:
        columns = _Columns.of(heads)
    except ValueError as error:
        raise rows.wrong(error.args[0]) from None
    times = _Times(local, {head.lower() for head in heads} & set(_UTC))
    found: dict[str, Series] = {}
    for cells in rows:
        try:
            columns.take(cells, times, found)
        except ValueError as error:
            raise rows.wrong(error.args[0]) from None
    if not any(series.values for series in found.values()):
        raise ExportError(say("{file}: it has no values", file=name))
    return [series for series in found.values() if series.values]


def _text(content: bytes, name: str) -> str:
    # Spreadsheets write UTF-16 with a byte order mark.
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise ExportError(say("{file}: it is not text in UTF-8", file=name)) from None


class _Heads(dict[str, int]):
    """The columns by name."""


class _Rows:
    """The rows below the heads, and the line that each is on."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._before, delimiter = _start(text)
        lines = io.StringIO(text, newline="")
        for _ in range(self._before):
            lines.readline()
        self._reader = csv.reader(lines, delimiter=delimiter, strict=True)
        self._cells = 0

    def heads(self) -> _Heads:
        """The first row."""
        row = next((cells for cells in self if any(cells)), [])
        names = [cell.strip() for cell in row]
        if len(set(names)) < len(names):
            twice = next(one for one in names if names.count(one) > 1)
            raise self.wrong(say("there are two columns '{name}'", name=twice))
        if len(names) > MOST_METRICS + 1:
            raise self.wrong(say("more than {most} columns", most=MOST_METRICS))
        heads = _Heads((cell, at) for at, cell in enumerate(names) if cell)
        if _column(heads, _TIMES) is None or len(heads) < 2:
            raise self.wrong(
                say("the first line has no column 'time' next to another column"),
                say("columns are time, metric and value, or time and one for each metric"),
            )
        return heads

    def __iter__(self) -> Iterator[list[str]]:
        while True:
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self.wrong(say("it is not CSV: {why}", why=str(error))) from None
            self._cells += max(len(cells) - 1, 1)
            if self._cells > _MOST_CELLS:
                raise self.wrong(say("more than {most} values", most=Count(_MOST_CELLS)))
            if any(len(cell) > _LONGEST_CELL for cell in cells):
                raise self.wrong(
                    say("a cell has more than {most} characters", most=Count(_LONGEST_CELL))
                )
            if any(cell.strip() for cell in cells):
                yield cells

    def wrong(self, why: Message | str, hint: Message | None = None) -> ExportError:
        """The error on the current line."""
        line = self._before + max(self._reader.line_num, 1)
        said = say("{file}, line {line}: {why}", file=self._file, line=line, why=why)
        return ExportError(said, hint)


def _start(text: str) -> tuple[int, str]:
    """How many lines stand before the names of the columns, and what separates these."""
    lines = io.StringIO(text, newline="")
    for before in range(_MOST_BEFORE + 1):
        line = lines.readline(_LONGEST_CELL)
        for delimiter in ",;\t":
            names = [cell.strip(' "\r\n').lower() for cell in line.split(delimiter)]
            if not _TIMES_AS_SET.isdisjoint(names) and sum(map(bool, names)) > 1:
                return before, delimiter
    first = text.lstrip("\n\r").partition("\n")[0]
    return 0, max(",;\t", key=first.count)


def _column(heads: _Heads, names: Sequence[str]) -> int | None:
    return next((at for head, at in heads.items() if head.lower() in names), None)


@dataclass(frozen=True)
class _Columns:
    """Where a row has what."""

    time: int
    one: tuple[int, int] | None
    """The columns of a metric's name and of its value; `None`: each metric has its own column."""
    metrics: tuple[tuple[str, int], ...]
    unit: int | None
    """The column of the values' unit."""
    extreme: str = ""
    """The statistic that the values of `one` are, where they are no averages."""

    @classmethod
    def of(cls, heads: _Heads) -> _Columns:
        """Find the columns by their names.

        Raises:
            ValueError: metrics have several statistics, none of which is an average.
        """
        time = _column(heads, _TIMES)
        assert time is not None  # checked with the heads
        metric, unit = _column(heads, _METRICS), _column(heads, _UNITS)
        value = _column(heads, _VALUES)
        extreme = "" if metric is None or value is not None else _extreme(heads)
        value = heads[extreme] if extreme else value
        one = None if metric is None or value is None else (metric, value)
        metrics = tuple(each for each in heads.items() if each[1] not in (time, unit))
        return cls(time, one, metrics, unit, extreme)

    def take(self, cells: list[str], times: _Times, found: dict[str, Series]) -> None:
        """Keep one row's values.

        Raises:
            ValueError: a cell is wrong, or missing.
        """
        at = times.read(_cell(cells, self.time))
        unit = "" if self.unit is None else _cell(cells, self.unit)
        unit = "" if unit.lower() in _NOTHING else unit
        if self.one is None:
            for name, column in self.metrics:
                _keep(name, at, (_cell(cells, column), unit), found)
            return
        name = _cell(cells, self.one[0])
        if not name:
            raise ValueError(say("the row names no metric"))
        if self.extreme:
            name = f"{name} ({self.extreme})"
        _keep(name, at, (_cell(cells, self.one[1]), unit), found)


def _extreme(heads: _Heads) -> str:
    """The only statistic of a file without averages; empty if it has none.

    Raises:
        ValueError: there are several, or it counts samples or adds them up.
    """
    there = [name for name in heads if name.lower() in (*_EXTREMES, *_SUMS)]
    if not there:
        return ""
    extremes = [name for name in there if name.lower() in _EXTREMES]
    if len(extremes) == 1:
        return extremes[0]
    raise ValueError(say("of {columns} none is an average: export that", columns=", ".join(there)))


def _cell(cells: list[str], column: int) -> str:
    if column >= len(cells):
        raise ValueError(say("the row has fewer cells than the first line"))
    return cells[column].strip()


def _keep(name: str, at: float, text: tuple[str, str], found: dict[str, Series]) -> None:
    series = found.get(name)
    if series is None:
        if len(found) >= MOST_METRICS:
            raise ValueError(say("more than {most} metrics", most=MOST_METRICS))
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise ValueError(say("a metric's name is too long, or cannot be printed"))
        series = found[name] = Series(name)
    measure = _number(*text)
    if measure is None:
        series.missing += 1
        return
    value, unit = measure
    if unit != series.unit and value:  # zero may be written without its unit
        if any(series.values.values()):
            raise ValueError(
                say(
                    "{metric} has values of different units, such as '{text}'",
                    metric=name,
                    text=text[0][:40],
                )
            )
        series.unit = unit
    if series.values.setdefault(at, value) != value:
        raise ValueError(
            say(
                "{metric} has a second value for this time: export one instance and one statistic",
                metric=name,
            )
        )


def _number(text: str, unit: str) -> tuple[float, Unit] | None:
    """The number and its unit; `None` if the cell says that there is none."""
    if text.lower() in _NOTHING:
        return None
    found = measured(f"{text} {unit}".strip())
    if found is None or not math.isfinite(found[0]) or abs(found[0]) > _GREATEST:
        raise ValueError(say("'{text}' is not a number such as 1234.5 or 1.2 MB/s", text=text[:40]))
    return found


def check_value(metric: str, figure: str, value: float) -> None:
    """Refuse what the figure cannot be.

    Raises:
        ValueError: it is below zero, or above the most that it can be.
    """
    most = FIGURES[figure].most
    if value < 0 or (most is not None and value > most):
        raise ValueError(
            say(
                "{metric} is {value}: no value of {figure}",
                metric=metric,
                value=f"{value:g}",
                figure=figure,
            )
        )


class _Times:
    """Reads times; the same ones come again with each metric."""

    def __init__(self, local: tzinfo | None, utc_columns: set[str]) -> None:
        self._local = local or (UTC if utc_columns else None)
        self._known: dict[str, float] = {}

    def read(self, text: str) -> float:
        """The UNIX time.

        Raises:
            ValueError: it is no time, or of no known zone.
        """
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _MOST_TIMES:
                self._known.clear()
            found = self._known[text] = self._parsed(text)
        return found

    def _parsed(self, text: str) -> float:
        if epoch := _EPOCH.fullmatch(text):
            return float(epoch[1]) if epoch[1] else float(epoch[2]) / 1000
        dashes = _SLASHES.sub(
            lambda day: f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}", text, count=1
        )
        try:
            # A space may stand before the offset or `UTC` after the time.
            moment = datetime.fromisoformat(_utc_at_end(dashes))
        except ValueError:
            raise ValueError(
                say("'{text}' is not a time such as 2026-01-31T12:00:00+01:00", text=text[:40])
            ) from None
        return (self._placed(moment, text) - _EPOCH_BEGAN).total_seconds()

    def _placed(self, moment: datetime, text: str) -> datetime:
        if moment.tzinfo is not None:
            return moment
        if self._local is None:
            raise ValueError(
                say(
                    "'{text}' has no offset from UTC: say with --timezone which zone it is in",
                    text=text,
                )
            )
        early = moment.replace(tzinfo=self._local, fold=0)
        if early.utcoffset() != moment.replace(tzinfo=self._local, fold=1).utcoffset():
            # Where clocks are changed, an hour of the day is there twice, or never.
            raise ValueError(
                say(
                    "'{text}' is there twice or never in that zone: export times with an offset",
                    text=text,
                )
            )
        return early


def _utc_at_end(text: str) -> str:
    for end in (" UTC", " GMT", " Z"):
        if text.endswith(end):
            return text.removesuffix(end) + "+00:00"
    return re.sub(r"\s+(?=[+-]\d{2}:?\d{2}$)", "", text)


Chosen = Callable[[str], tuple[str | None, float]]


def chosen(named: dict[str, str]) -> Chosen:
    """Which figure a metric is: as the user names it, else by its own name."""
    return lambda name: (named[name], 1.0) if name in named else figure_of(name)
