"""The seconds of one step from load, server and host, as panels one below the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.model.attached import Attached, AttachedMetric, drawn_of
from loadstone.model.figure import Seconds as Time
from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.runs.attached import began_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars

    Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """Lines of one unit from one source."""

    title: str
    times: Array
    """Seconds since the load started, the interval's end."""
    lines: Mapping[str, Array]
    """Values by the line's name; NaN where nothing was observed."""
    bars: bool = False
    """Counts that are mostly zero."""


@dataclass(frozen=True)
class Seconds:
    """The frames of a run, from which the panels of its steps are made."""

    load: polars.DataFrame
    server: polars.DataFrame
    host: polars.DataFrame
    words: Language
    attached: Attached | None = None
    """What was attached to the run."""

    def panels(self, step: StepResult) -> list[Panel]:
        """Panels of a step that have anything to show."""
        found = [
            *self._of_load(step),
            *self._of_server(step),
            *self._of_host(step),
            *self._of_attached(step),
        ]
        return [panel for panel in found if panel.lines]

    def _of_load(self, step: StepResult) -> Iterator[Panel]:
        words = self.words
        rows = _Rows(self.load.filter(self.load["step"] == step.step))
        if not rows.any:
            return
        yield rows.panel(words(say("events/s")), {words(say("TPS")): rows.column("tps")})
        latencies = {name: rows.column(f"{name}_ms") for name in ("p50", "p95", "p99")}
        yield rows.panel(words(say("latency, ms")), latencies)
        errors = {
            words(say("errors")): rows.column("errors"),
            words(say("reconnects")): rows.column("reconnects"),
            words(say("failed connects")): rows.column("connect_failures"),
            words(say("skipped")): rows.column("skipped"),
        }
        some = {name: each for name, each in errors.items() if each is not None and each.any()}
        yield rows.panel(words(say("errors each second")), some, bars=True)
        yield rows.panel(
            words(say("active users")), {words(say("events in progress")): rows.column("in_flight")}
        )

    def _of_server(self, step: StepResult) -> Iterator[Panel]:
        words = self.words
        rows = _Rows(_first_target(self.server, step.step, "server"))
        if not rows.any:
            return
        threads = {
            words(say("running")): rows.column("threads_running.now"),
            words(say("waiting for a row")): _first(
                rows.by_second("row_lock_time_s"), rows.column("row_lock_current_waits.now")
            ),
        }
        yield rows.panel(words(say("connections")), threads)
        syncs = rows.by_second("log_syncs")
        # PostgreSQL has one log, and counts transactions rather than COMMITs.
        has_binlog = rows.column("transactions_committed") is None
        commits = {
            words(say("Com_commit")): rows.by_second("com_commit"),
            words(say("commits")): rows.by_second("transactions_committed"),
            words(say("redo log syncs") if has_binlog else say("log syncs")): syncs,
            words(say("binlog syncs")): rows.by_second("binlog_syncs"),
        }
        yield rows.panel(words(say("commits and syncs a second")), commits)

    def _of_host(self, step: StepResult) -> Iterator[Panel]:
        words, host = self.words, step.host
        rows = _Rows(_first_target(self.host, step.step, "server-host"))
        if not rows.any or host is None:
            return
        cores = float(host.cores or 0) or None
        cpu = {
            words(say("user")): rows.share("cpu.user_s", cores),
            words(say("system")): rows.share("cpu.system_s", cores),
            words(say("waiting for disk")): rows.share("cpu.iowait_s", cores),
        }
        yield rows.panel(words(say("CPU, % of all cores")), cpu)
        disk = {
            words(say("writes")): rows.by_second(f"disk.{host.disk}.writes"),
            words(say("reads")): rows.by_second(f"disk.{host.disk}.reads"),
        }
        yield rows.panel(words(say("disk {disk}, operations/s", disk=host.disk)), disk)
        network = {
            words(say("in")): rows.by_second(f"nic.{host.nic}.bytes_in", 1e-6),
            words(say("out")): rows.by_second(f"nic.{host.nic}.bytes_out", 1e-6),
        }
        yield rows.panel(words(say("network {nic}, MB/s", nic=host.nic)), network)

    def _of_attached(self, step: StepResult) -> Iterator[Panel]:
        """A panel for each metric: their units differ, and are those of the file."""
        attached = self.attached
        began = began_of(step, attached) if attached else None
        if attached is None or began is None or step.window is None:
            return
        for file, metric in drawn_of(attached):
            times, values = _by_seconds(metric, began, step.window.to_s)
            title = say(
                "{metric}, means of {time} ({file})",
                metric=metric.name,
                time=Time(metric.granularity_s),
                file=file.file,
            )
            line = {} if _is_empty(values) else {metric.name: values}
            yield Panel(self.words(title), times, line)


def _by_seconds(metric: AttachedMetric, began: float, to_s: float) -> tuple[Array, Array]:
    """The ends of the seconds of a load, and the mean that each second is part of.

    All seconds of a mean have its value, as nobody knows how it was distributed.
    """
    import numpy as np

    times = np.arange(1.0, max(to_s, 1.0) + 0.5)
    values = np.full(len(times), np.nan)
    for from_s, end_s, value in metric.intervals():
        first, last = np.searchsorted(times - 0.5, (from_s - began, end_s - began))
        values[first:last] = value
    return times, values


def _first(*lines: Array | None) -> Array | None:
    """The first line that there is."""
    return next((line for line in lines if line is not None), None)


def _is_empty(values: Array) -> bool:
    import numpy as np

    return bool(np.isnan(values).all())


LEAST_S = 0.5
"""A shorter last second is dropped: its rate would look like a burst."""


class _Rows:
    """One source's rows of one step since its load started, in the order of time."""

    def __init__(self, rows: polars.DataFrame) -> None:
        self._rows = rows.filter(rows["second"] > 0).sort("second") if rows.height else rows
        ends = self._rows["second"].to_list() if self._rows.height > 1 else []
        if ends and ends[-1] - ends[-2] < LEAST_S:
            self._rows = self._rows.head(len(ends) - 1)

    @property
    def any(self) -> bool:
        return self._rows.height > 0

    def column(self, name: str) -> Array | None:
        """A column as numbers; `None` where there is no such column, or nothing in it."""
        import polars

        if name not in self._rows.columns:
            return None
        column = self._rows[name].cast(polars.Float64)
        if column.null_count() == column.len():
            return None
        found: Array = column.fill_null(float("nan")).to_numpy()
        return found

    def by_second(self, name: str, factor: float = 1.0) -> Array | None:
        """A counter's growth by second."""
        grown, interval = self.column(name), self.column("interval_s")
        return None if grown is None or interval is None else factor * grown / interval

    def share(self, name: str, cores: float | None) -> Array | None:
        """CPU time as a percentage of all cores."""
        found = self.by_second(name, 100.0)
        return None if found is None or cores is None else found / cores

    def panel(self, title: str, lines: Mapping[str, Array | None], *, bars: bool = False) -> Panel:
        """A panel of the lines that have data."""
        times = self.column("second")
        assert times is not None  # each row has its time
        known = {name: line for name, line in lines.items() if line is not None}
        return Panel(title, times, known, bars)


def _first_target(rows: polars.DataFrame, step: int, role: str) -> polars.DataFrame:
    if not rows.height:
        return rows
    return rows.filter((rows["step"] == step) & (rows["role"] == role) & (rows["target"] == 0))
