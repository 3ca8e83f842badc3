"""Figures of a server's host that came from elsewhere, such as a console's export, after a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.model.nearest import nearest

MOST_METRICS = 200
"""The most metrics of one file."""

LONGEST_NAME = 200
"""The most characters of a metric's name."""

MOST_DRAWN = 24
"""The most metrics that a report draws."""

MOST_POINTS = 200_000
"""The most values of one file that are kept."""


@dataclass(frozen=True)
class Known:
    """A figure of a host that rules and ceilings use."""

    field: str | None
    """The field of `HostFigures`; `None`: it has none of its own."""
    factor: float = 1.0
    """The unit of its name, in the unit of the field."""
    most: float | None = None
    """The highest possible value, in the unit of its name."""

    def in_field(self, value: float) -> float:
        """The value in the unit of the field."""
        return 1 - value / 100 if self.field == "cpu_idle" else value * self.factor


FIGURES: Mapping[str, Known] = {
    "cpu_percent": Known("cpu_idle", most=100.0),
    "disk_write_iops": Known("disk_write_iops"),
    "disk_read_iops": Known("disk_read_iops"),
    "disk_iops": Known(None),
    "disk_write_bytes": Known("disk_write_bytes_per_s"),
    "disk_read_bytes": Known("disk_read_bytes_per_s"),
    "disk_write_await_ms": Known("disk_write_await_ms"),
    "disk_read_await_ms": Known("disk_read_await_ms"),
    "disk_queue": Known("disk_queue"),
    "disk_busy_percent": Known("disk_busy", 0.01, most=100.0),
    "net_in_bytes": Known("net_bytes_in_per_s"),
    "net_out_bytes": Known("net_bytes_out_per_s"),
    "net_in_mbit": Known("net_bytes_in_per_s", 125_000.0),
    "net_out_mbit": Known("net_bytes_out_per_s", 125_000.0),
    "memory_available_bytes": Known("memory_available_bytes"),
}
"""The figures by the names that metrics of a file may have; bytes and operations are a second's."""

ALIASES: Mapping[str, tuple[str, float]] = {
    "cpuutilization": ("cpu_percent", 1.0),
    "writeiops": ("disk_write_iops", 1.0),
    "readiops": ("disk_read_iops", 1.0),
    "writethroughput": ("disk_write_bytes", 1.0),
    "readthroughput": ("disk_read_bytes", 1.0),
    "writelatency": ("disk_write_await_ms", 1000.0),
    "readlatency": ("disk_read_await_ms", 1000.0),
    "diskqueuedepth": ("disk_queue", 1.0),
    "networkreceivethroughput": ("net_in_bytes", 1.0),
    "networktransmitthroughput": ("net_out_bytes", 1.0),
    "freeablememory": ("memory_available_bytes", 1.0),
}
"""Names that consoles use (Amazon CloudWatch's of RDS), in lower case: the figure, and its unit in
the unit of that figure."""

_At = Annotated[float, Field(ge=-1e9, le=1e9)]


class AttachedMetric(Frozen):
    """The values of one metric of a file around the time of the run."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    """Its name in the file."""
    figure: str | None = None
    """The figure that it is; `None`: it is only drawn."""
    factor: PositiveFloat = 1.0
    """Its unit in the unit of the figure."""
    granularity_s: PositiveFloat
    """The length of time that each value stands for."""
    from_s: tuple[_At, ...]
    """When each of these times begins, in seconds since the start of the run."""
    values: tuple[float, ...]

    @property
    def known(self) -> Known | None:
        """The figure that it is, as far as this version knows it."""
        return FIGURES.get(self.figure or "")

    def intervals(self) -> list[tuple[float, float, float]]:
        """Start, end and value of each; it ends sooner than usual where the next one begins."""
        ends = [*self.from_s[1:], float("inf")]
        return [
            (begin, min(begin + self.granularity_s, end), value)
            for begin, end, value in zip(self.from_s, ends, self.values, strict=False)
        ]


class AttachedFile(Frozen):
    """One file, with all of its metrics that have values around the time of the run."""

    file: str
    metrics: Annotated[tuple[AttachedMetric, ...], Field(max_length=MOST_METRICS)]


class AttachedStep(Frozen):
    """Where a step is on the run's clock."""

    step: int
    started_at: str
    """As in its result: a step that is measured again, after a run was resumed, starts later."""
    load_began_s: _At
    """When its load began, in seconds since the start of the run."""


class Attached(Frozen):
    """attached.json."""

    version: Literal[1] = 1
    steps: tuple[AttachedStep, ...]
    files: tuple[AttachedFile, ...]
    limits: dict[str, PositiveFloat] = {}
    """Limits of the server's host that the user stated after the run, by the fields of `Limits`."""


def drawn_of(attached: Attached) -> list[tuple[AttachedFile, AttachedMetric]]:
    """The metrics that a report draws, those that are figures of the host first."""
    found = [(file, metric) for file in attached.files for metric in file.metrics]
    return sorted(found, key=lambda pair: pair[1].known is None)[:MOST_DRAWN]


def figure_of(name: str) -> tuple[str | None, float]:
    """The figure that a metric of this name is, and its unit in that figure's; `None`: none is."""
    if name in FIGURES:
        return name, 1.0
    return ALIASES.get(name.replace(" ", "").replace("_", "").lower(), (None, 1.0))


def named_figure(text: str) -> tuple[str, str]:
    """Parse `Disk writes (avg)=disk_write_iops`: a metric of a file, and the figure that it is.

    Raises:
        ValueError: there is no such figure.
    """
    name, equals, figure = text.rpartition("=")
    if not equals or not name.strip():
        raise ValueError(say("'{text}': write METRIC=FIGURE", text=text))
    if figure not in FIGURES:
        near = nearest(figure, FIGURES) or say("docs/observing.md lists them")
        raise ValueError(say("there is no figure '{name}': {near}", name=figure, near=near))
    return name.strip(), figure
