"""Prometheus exporters as sources; a host's figures get the same names as those from /proc.

They serve managed databases, whose hosts nobody may log in to. What is not exported is not
evaluated: a node exporter knows nothing about the server's process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.exposition import Sample, gauges_among, samples
from loadstone.observe.latest import Figures, space
from loadstone.observe.procfs import keep_paging, whole_disks
from loadstone.observe.scrape import Exporter, RefusedQuery, Scraped
from loadstone.observe.source import SourceError

_CPU = "node_cpu_seconds_total"
_MODES = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}
_COUNTERS = {
    "node_context_switches_total": "context_switches",
    "node_forks_total": "forks",
    "node_pressure_cpu_waiting_seconds_total": "pressure.cpu.some_s",
    "node_pressure_io_waiting_seconds_total": "pressure.io.some_s",
    "node_pressure_io_stalled_seconds_total": "pressure.io.full_s",
    "node_pressure_memory_waiting_seconds_total": "pressure.memory.some_s",
    "node_pressure_memory_stalled_seconds_total": "pressure.memory.full_s",
    "node_netstat_Tcp_OutSegs": "tcp.segments_out",
    "node_netstat_Tcp_RetransSegs": "tcp.retransmits",
}
_GAUGES = {
    "node_procs_running": "run_queue",
    "node_procs_blocked": "blocked",
    "node_load1": "load_1m",
    "node_load5": "load_5m",
    "node_load15": "load_15m",
    "node_memory_MemTotal_bytes": "memory.total_bytes",
    "node_memory_MemFree_bytes": "memory.free_bytes",
    "node_memory_MemAvailable_bytes": "memory.available_bytes",
    "node_memory_Cached_bytes": "memory.cached_bytes",
    "node_memory_Dirty_bytes": "memory.dirty_bytes",
    "node_memory_Writeback_bytes": "memory.writeback_bytes",
}
_NOW = "node_disk_io_now"
_DISK = {
    "node_disk_reads_completed_total": "reads",
    "node_disk_read_bytes_total": "read_bytes",
    "node_disk_read_time_seconds_total": "read_s",
    "node_disk_writes_completed_total": "writes",
    "node_disk_written_bytes_total": "written_bytes",
    "node_disk_write_time_seconds_total": "write_s",
    "node_disk_io_time_seconds_total": "io_s",
    "node_disk_io_time_weighted_seconds_total": "weighted_s",
    "node_disk_flush_requests_total": "flushes",
    "node_disk_flush_requests_time_seconds_total": "flush_s",
    _NOW: "in_flight",
}
_NIC = {
    "node_network_receive_bytes_total": "bytes_in",
    "node_network_receive_packets_total": "packets_in",
    "node_network_receive_errs_total": "errors_in",
    "node_network_receive_drop_total": "drops_in",
    "node_network_transmit_bytes_total": "bytes_out",
    "node_network_transmit_packets_total": "packets_out",
    "node_network_transmit_errs_total": "errors_out",
    "node_network_transmit_drop_total": "drops_out",
}
_SPEED = "node_network_speed_bytes"
_PAGING = {f"node_vmstat_{name}": name for name in ("pswpin", "pswpout", "pgfault", "pgmajfault")}
_SWAP = ("node_memory_SwapTotal_bytes", "node_memory_SwapFree_bytes")
_FREE, _SIZE = "node_filesystem_avail_bytes", "node_filesystem_size_bytes"
GROWING = frozenset((_CPU, *_COUNTERS, *_DISK, *_NIC, *_PAGING)) - {_NOW}
"""Names of totals; a node exporter declares each as a counter, or without a type."""
NEVER_FALLING = GROWING - {_CPU}
"""Those that fall only where they start again; the kernel's idle times sometimes decrease."""
_RDS = re.compile("node_cpu_average|rdsosmetrics_.+")
"""What rds_exporter alone has."""
_NODE = frozenset((_CPU, _SPEED, *_SWAP, *_COUNTERS, *_GAUGES, *_DISK, *_NIC, *_PAGING))
SERIES = "|".join(sorted({*_NODE, _FREE, _SIZE, _RDS.pattern}))
"""All names that are used, or tell which exporter it is: a regular expression."""
_THEIRS = {ours: theirs for names in (_COUNTERS, _DISK, _NIC) for theirs, ours in names.items()}
_NODE_COLLECTORS = (
    "cpu",
    "diskstats",
    "filesystem",
    "loadavg",
    "meminfo",
    "netclass",
    "netdev",
    "netstat",
    "pressure",
    "stat",
    "vmstat",
)


class NodeExporter:
    """A host as seen by its node exporter."""

    def __init__(
        self,
        name: SourceName,
        url: str,
        data_disk: str | None = None,
        datadir: str | None = None,
    ) -> None:
        """Store the place; nothing is requested yet.

        Args:
            name: the source's name.
            url: such as `http://db1:9100/metrics`.
            data_disk: the disk that holds the data, if known: an exporter does not report it.
            datadir: the server's data folder; it decides which file system's space is reported.

        Raises:
            PlaceError: `url` is not the URL of an exporter.
        """
        self.name = name
        self._data_disk = data_disk
        self._datadir = datadir
        self._choosing = Choosing(url, _NODE_COLLECTORS)
        self._grows = False
        """Whether its totals are known to be totals."""
        self._falls = Falls()

    def read(self) -> Reading:
        """Read the host's current figures.

        Raises:
            SourceError: it does not answer, it is not a node exporter, or its totals are none.
        """
        scraped = self._choosing.get()
        if not self._grows:
            self._check_types(scraped.text)
        into = host_of(scraped.text, self._data_disk, self._datadir)
        if not into.counters:
            raise SourceError(say("{place}: this is no node exporter", place=self._choosing.place))
        self._grows = True
        self._falls.check(into.counters, self._choosing.place)
        return Reading(scraped.at_s, into.counters, into.gauges, into.facts)

    def _check_types(self, text: str) -> None:
        """Refuse an exporter that has rates or amounts under the names of totals, as some have.

        The growth of such a value is no figure at all.

        Raises:
            SourceError: it is rds_exporter, or a name of a total is a gauge there.
        """
        refuse_rds(text, self._choosing.place)
        gauge = next(gauges_among(text, GROWING.__contains__), None)
        if gauge is not None:
            raise no_total(self._choosing.place, gauge)

    def close(self) -> None:
        """Close the connection."""
        self._choosing.close()


def no_total(place: str, name: str) -> SourceError:
    """The growth of such a series is no figure."""
    return SourceError(
        say(
            "{place}: {name} is a gauge there, a rate or an amount, where a node exporter has a "
            "total: it is not used; loadstone runs attach adds such figures",
            place=place,
            name=name,
        )
    )


def refuse_rds(text: str, place: str) -> None:
    """Refuse rds_exporter, which declares amounts of an interval as counters of a node exporter.

    Raises:
        SourceError: names the series.
    """
    if next(samples(text, is_of_rds), None) is None:
        return
    names = {one.name for one in samples(text, GROWING.__contains__)} or {"node_cpu_average"}
    raise SourceError(
        say(
            "{place}: this is rds_exporter, where {names} are of its latest interval only and no "
            "totals, whatever their type: it is not used; add its figures after the run with "
            "loadstone runs attach last URL",
            place=place,
            names=", ".join(sorted(names)),
        )
    )


def is_of_rds(name: str) -> bool:
    """Whether only rds_exporter has a series of this name."""
    return _RDS.fullmatch(name) is not None


class Falls:
    """Notices what has a total's name and is a rate or an amount.

    A counter starts again with its device or its host, and grows from there. What falls twice
    without having grown in between is no counter.
    """

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._fell: set[str] = set()
        self._refused: str | None = None

    def check(self, counters: Mapping[str, float], place: str) -> None:
        """Compare a reading's counters with those of the one before.

        Raises:
            SourceError: one of them is none, now or at an earlier reading.
        """
        for name, value in counters.items():
            # Cores come and go, and the kernel's idle times sometimes decrease.
            if not name.startswith("cpu."):
                theirs = _THEIRS.get(name) or _THEIRS.get(name.rpartition(".")[2]) or name
                self.take(name, value, theirs)
        self.refuse(place)

    def take(self, series: str, value: float, name: str) -> None:
        """Keep one value of a series; a message calls it `name`."""
        before = self._last.get(series, value)
        self._last[series] = value
        if value > before:
            self._fell.discard(series)
        elif value < before and series in self._fell:
            self._refused = self._refused or name
        elif value < before:
            self._fell.add(series)

    def refuse(self, place: str) -> None:
        """Refuse the exporter if a value was none of a total.

        Raises:
            SourceError: names the series.
        """
        if self._refused:
            raise SourceError(
                say(
                    "{place}: {name} falls again and again, as no total does: it is a rate or an "
                    "amount, and not used; loadstone runs attach adds such figures",
                    place=place,
                    name=self._refused,
                )
            )


def host_of(text: str, data_disk: str | None, datadir: str | None) -> Figures:
    """All figures of a host, with its disk and interface where there is only one."""
    into = node_figures(text)
    disk = data_disk or _only(into, "disk.", ".writes")
    if disk is not None:
        into.facts["data_disk"] = disk
    nic = _only(into, "nic.", ".bytes_out")
    if nic is not None:
        into.facts["traffic_nic"] = nic
    into.gauges |= data_space(text, datadir)
    return into


def _only(figures: Figures, kind: str, figure: str) -> str | None:
    """The only disk or interface; `None` if there are several, as the right one is unknown."""
    names = [
        name[len(kind) : -len(figure)]
        for name in figures.counters
        if name.startswith(kind) and name.endswith(figure)
    ]
    others = [name for name in names if name != "lo"]
    return others[0] if len(others) == 1 else None


class Choosing:
    """Asks an exporter for selected collectors, which is cheaper; for all if it refuses."""

    def __init__(self, url: str, collectors: tuple[str, ...]) -> None:
        self._exporter = Exporter(url)
        self._query = "&".join(f"{quote('collect[]')}={name}" for name in collectors)
        self.place = self._exporter.place

    def get(self) -> Scraped:
        """One scrape."""
        try:
            return self._exporter.get(self._query)
        except RefusedQuery:  # a collector is disabled
            self._query = ""
            return self._exporter.get("")

    def close(self) -> None:
        """Close the connection."""
        self._exporter.close()


def node_figures(text: str) -> Figures:
    """Convert a node exporter's text to the names used for /proc."""
    into = Figures()
    paging: dict[str, float] = {}
    swap: dict[str, float] = {}
    disks: dict[str, dict[str, float]] = {}
    for sample in samples(text, _NODE.__contains__):
        name, value, device = sample.name, sample.value, sample.labels.get("device")
        if name in _COUNTERS:
            into.counters[_COUNTERS[name]] = value
        elif name in _GAUGES:
            into.gauges[_GAUGES[name]] = value
        elif name in _PAGING:
            paging[_PAGING[name]] = value
        elif name in _SWAP:
            swap[name] = value
        elif name == _CPU:
            _cpu(sample, into)
        elif device is not None:
            _device(sample, device, disks, into)
    _whole_disks(disks, into)
    keep_paging(paging, into)
    if len(swap) == len(_SWAP):
        into.gauges["memory.swap_used_bytes"] = swap[_SWAP[0]] - swap[_SWAP[1]]
    cores = sum(name.count(".") == 2 and name.endswith(".idle_s") for name in into.counters)
    if cores:
        into.facts["cores_online"] = str(cores)
    return into


def data_space(text: str, datadir: str | None) -> dict[str, float]:
    """The space of the file system that holds a folder: the one mounted closest above it."""
    if datadir is None:
        return {}
    found: dict[str, dict[str, float]] = {}
    for sample in samples(text, (_FREE, _SIZE).__contains__):
        place = sample.labels.get("mountpoint", "")
        if f"{datadir.rstrip('/')}/".startswith(f"{place.rstrip('/')}/"):
            found.setdefault(place, {})[sample.name] = sample.value
    nearest = found.get(max(found, key=len, default=""), {})
    if len(nearest) < 2:
        return {}
    return space(nearest[_FREE], nearest[_SIZE], 1.0)


def _cpu(sample: Sample, into: Figures) -> None:
    core, mode = sample.labels.get("cpu", ""), sample.labels.get("mode", "")
    if mode not in _MODES or not core.isdecimal():
        return
    whole = f"cpu.{mode}_s"
    into.counters[f"cpu.{core}.{mode}_s"] = sample.value
    into.counters[whole] = into.counters.get(whole, 0.0) + sample.value


def _device(sample: Sample, device: str, disks: dict[str, dict[str, float]], into: Figures) -> None:
    if sample.name in _DISK:
        disks.setdefault(device, {})[_DISK[sample.name]] = sample.value
    elif sample.name in _NIC:
        into.counters[f"nic.{device}.{_NIC[sample.name]}"] = sample.value
    elif sample.value > 0:  # below zero for an interface whose speed is unknown
        into.facts[f"nic.{device}.speed_mbit"] = f"{sample.value * 8 / 1e6:.0f}"


def _whole_disks(disks: dict[str, dict[str, float]], into: Figures) -> None:
    for disk in whole_disks(disks):
        for figure, value in disks[disk].items():
            kind = into.gauges if figure == "in_flight" else into.counters
            kind[f"disk.{disk}.{figure}"] = value
