"""Figures of a step's sources over the window: rates, means, and the ones people quote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from loadstone.model.figure import Percent, Seconds
from loadstone.model.frozen import DEFERRED
from loadstone.model.message import Message, say
from loadstone.model.observed import COARSE_S, LEAST_COVERED, Observation, SourceName
from loadstone.model.result import (
    HostFigures,
    ObservingCost,
    ServerFigures,
    UpdatedColumns,
    Window,
)
from loadstone.model.transactions import CHANGES_MOST

_REFUSED = "not_evaluated."
_UPDATED = "updated_columns"
_TABLES = TypeAdapter(tuple[UpdatedColumns, ...], config=DEFERRED)


@dataclass
class SourceSums:
    """Sums of one source's observations; those partly in the window count with that part.

    Left out as a whole is one that overlaps a time in which the load was held back, and a mean of
    many seconds (`Observation.is_coarse`) of which some are outside.
    """

    seconds: float = 0.0
    deltas: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    delta_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    gauges: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    gauge_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    highest: dict[str, float] = field(default_factory=dict)
    longest_s: float = 0.0
    """The longest observation that overlaps the window, also of those left out."""
    cost_s: float = 0.0
    asked_s: float = 0.0
    totals: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Totals of all observations, from before the start of the load to after its end."""

    def add(self, seen: Observation, window: Window) -> None:
        """Add the next observation; its times count from the start of the load."""
        for name, delta in seen.deltas.items():
            self.totals[name] += delta
        overlap = min(seen.to_s, window.to_s) - max(seen.from_s, window.from_s)
        if overlap <= 0 or seen.seconds <= 0 or window.is_held(seen.from_s, seen.to_s):
            return
        self.longest_s = max(self.longest_s, seen.seconds)
        if seen.is_coarse and overlap < seen.seconds:
            return
        share = overlap / seen.seconds
        self.seconds += overlap
        self.cost_s += share * seen.cost_s
        self.asked_s += share * seen.asked_s
        for name, delta in seen.deltas.items():
            self.deltas[name] += share * delta
            self.delta_s[name] += overlap
        for name, value in seen.gauges.items():
            self.gauges[name] += overlap * value
            self.gauge_s[name] += overlap
            self.highest[name] = max(value, self.highest.get(name, value))

    def merge(self, other: SourceSums) -> None:
        """Add the counters of other seconds."""
        self.seconds += other.seconds
        for name, delta in other.deltas.items():
            self.deltas[name] += delta
        for name, seconds in other.delta_s.items():
            self.delta_s[name] += seconds

    def rate(self, name: str) -> float | None:
        """The rate per second, over the seconds in which the counter was available."""
        seconds = self.delta_s.get(name)
        return self.deltas[name] / seconds if seconds else None

    def mean(self, name: str) -> float | None:
        """The mean of a gauge."""
        seconds = self.gauge_s.get(name)
        return self.gauges[name] / seconds if seconds else None

    @property
    def rates(self) -> dict[str, float]:
        """All counters per second."""
        return {name: self.deltas[name] / self.delta_s[name] for name in sorted(self.deltas)}

    @property
    def means(self) -> dict[str, float]:
        """The means of all gauges; a connection state that was not seen counts as zero."""
        return {name: self.gauges[name] / self._seconds_of(name) for name in sorted(self.gauges)}

    def _seconds_of(self, name: str) -> float:
        return self.seconds if name.startswith("state.") else self.gauge_s[name]


def too_coarse(sums: SourceSums, window: Window) -> Message | None:
    """Why a source that is read seldom says nothing about the window; `None` if it does."""
    length = window.to_s - window.from_s
    if sums.longest_s <= COARSE_S or sums.seconds >= LEAST_COVERED * length:
        return None
    return say(
        "readings cover only {share} of the window, and one is a mean of {granularity}",
        share=Percent(sums.seconds / length),
        granularity=Seconds(sums.longest_s),
    )


def sums_of(
    observations: Iterable[Observation],
    load_began_s: float,
    window: Window,
    also: Callable[[Observation], None] | None = None,
) -> dict[SourceName, SourceSums]:
    """Add up a step's observations in one pass.

    `also` is called with each of them; their times count from the start of the load.
    """
    found: dict[SourceName, SourceSums] = {}
    for seen in observations:
        shifted = seen.model_copy(
            update={"from_s": seen.from_s - load_began_s, "to_s": seen.to_s - load_began_s}
        )
        found.setdefault(seen.source, SourceSums()).add(shifted, window)
        if also:
            also(shifted)
    return found


_OWN = "own_"
_COMMITS = "pg_stat_database.xact_commit"
# A busy session reports its counts once a second (PGSTAT_MIN_INTERVAL); a window may begin slowly.
_UNREPORTED_S = 2.0


def server_figures(
    sums: SourceSums,
    facts: Mapping[str, str],
    events_per_s: float | None,
    looked: SourceSums | None = None,
) -> ServerFigures:
    """The figures from one server's counters; `looked`: the sums of the looks at its sessions."""
    rate, mean = sums.rate, sums.mean
    commits = _commits(sums)
    syncs, written = rate("log_syncs"), rate("log_written_bytes")
    both = _sum(rate("bytes_sent"), rate("bytes_received"))
    return ServerFigures(
        seconds=sums.seconds,
        questions_per_s=rate("questions"),
        commits_per_s=commits,
        log_syncs_per_s=syncs,
        binlog_syncs_per_s=rate("binlog_syncs"),
        transactions_per_sync=_ratio(commits, syncs),
        bytes_per_sync=_ratio(written, syncs),
        log_bytes_per_s=written,
        threads_running=mean("threads_running"),
        threads_connected=mean("threads_connected"),
        row_lock_waits_per_s=rate("row_lock_waits"),
        row_lock_waiting=rate("row_lock_time_s"),
        buffer_pool_reads_per_s=rate("buffer_pool_reads"),
        net_bytes_per_event=_ratio(both, events_per_s),
        rates=_with_looks(sums.rates, looked),
        means=sums.means,
        highest=dict(sorted(sums.highest.items())),
        totals=dict(sorted(sums.totals.items())),
        not_evaluated={
            name.removeprefix(_REFUSED): why
            for name, why in sorted(facts.items())
            if name.startswith(_REFUSED)
        },
        updated_columns=_updated(facts),
    )


def host_counters(facts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The counters whose rates add up to a figure of the host; `cpu_…` are of all cores together.

    `facts` name its data disk and the load's interface.
    """
    disk, nic = facts.get("data_disk"), facts.get("traffic_nic")
    return {
        "cpu_user": ("cpu.user_s", "cpu.nice_s"),
        "cpu_sys": ("cpu.system_s", "cpu.irq_s", "cpu.softirq_s"),
        "cpu_iowait": ("cpu.iowait_s",),
        "cpu_steal": ("cpu.steal_s",),
        "cpu_idle": ("cpu.idle_s",),
        "disk_read_iops": (f"disk.{disk}.reads",),
        "disk_write_iops": (f"disk.{disk}.writes",),
        "disk_read_bytes_per_s": (f"disk.{disk}.read_bytes",),
        "disk_write_bytes_per_s": (f"disk.{disk}.written_bytes",),
        "disk_flushes_per_s": (f"disk.{disk}.flushes",),
        "net_bytes_in_per_s": (f"nic.{nic}.bytes_in",),
        "net_bytes_out_per_s": (f"nic.{nic}.bytes_out",),
    }


def host_figures(
    sums: SourceSums, facts: Mapping[str, str], events_per_s: float | None
) -> HostFigures:
    """The figures from one host's counters; `facts` name its data disk and the load's interface."""
    rate, mean = sums.rate, sums.mean
    cores = cores_in(sums.deltas)
    count = float(len(cores)) or None
    disk, nic = facts.get("data_disk"), facts.get("traffic_nic")
    counted = {name: _sum(*map(rate, each)) for name, each in host_counters(facts).items()}
    into, out = counted["net_bytes_in_per_s"], counted["net_bytes_out_per_s"]
    return HostFigures(
        seconds=sums.seconds,
        cores=len(cores) or None,
        cpu_user=_ratio(counted["cpu_user"], count),
        cpu_sys=_ratio(counted["cpu_sys"], count),
        cpu_iowait=_ratio(counted["cpu_iowait"], count),
        cpu_steal=_ratio(counted["cpu_steal"], count),
        cpu_idle=_ratio(counted["cpu_idle"], count),
        busiest_core=_busiest(sums, cores),
        run_queue=mean("run_queue"),
        context_switches_per_s=rate("context_switches"),
        disk=disk,
        disk_read_iops=counted["disk_read_iops"],
        disk_write_iops=counted["disk_write_iops"],
        disk_read_bytes_per_s=counted["disk_read_bytes_per_s"],
        disk_write_bytes_per_s=counted["disk_write_bytes_per_s"],
        disk_write_await_ms=_await_ms(sums, f"disk.{disk}.write"),
        disk_read_await_ms=_await_ms(sums, f"disk.{disk}.read"),
        disk_queue=rate(f"disk.{disk}.weighted_s"),
        disk_busy=rate(f"disk.{disk}.io_s"),
        disk_flushes_per_s=counted["disk_flushes_per_s"],
        nic=nic,
        net_bytes_in_per_s=into,
        net_bytes_out_per_s=out,
        net_bytes_per_event=_ratio(_sum(into, out), events_per_s),
        memory_available_bytes=mean("memory.available_bytes"),
        process_cpu_user=rate("process.cpu_user_s"),
        process_cpu_sys=rate("process.cpu_sys_s"),
        minor_faults_per_s=rate("process.minor_faults"),
        major_faults_per_s=rate("process.major_faults"),
        rates=sums.rates,
        means=sums.means,
        highest=dict(sorted(sums.highest.items())),
        facts=dict(facts),
    )


def observing_cost(sources: Mapping[SourceName, SourceSums]) -> ObservingCost | None:
    """What reading all sources cost this process."""
    seconds = max((sums.seconds for sums in sources.values()), default=0.0)
    if not seconds:
        return None
    return ObservingCost(
        cpu_share=sum(sums.cost_s for sums in sources.values()) / seconds,
        answering_share=max(
            sums.asked_s / sums.seconds for sums in sources.values() if sums.seconds
        ),
    )


def _updated(facts: Mapping[str, str]) -> tuple[UpdatedColumns, ...]:
    """What looks at the sessions have seen; nothing, where somebody has changed the journal."""
    try:
        return _TABLES.validate_json(facts.get(_UPDATED, "[]"))
    except ValidationError:
        return ()


def _with_looks(rates: dict[str, float], looked: SourceSums | None) -> dict[str, float]:
    """The rates; in what our own questions caused, those of the looks are counted as well."""
    if looked is None:
        return rates
    own = {name: rate for name, rate in rates.items() if name.startswith(_OWN)}
    return rates | {name: rate + (looked.rate(name) or 0.0) for name, rate in own.items()}


def _commits(sums: SourceSums) -> float | None:
    """Transactions that changed something, where the server counts them.

    Else commits to the binary log; without one, COMMITs, and where there are next to none each
    change is a transaction of its own: the storage engine counts reads, too.
    PostgreSQL counts numbers of transactions, of which subtransactions (SAVEPOINT) have their own:
    what is more than all its commits can be is theirs.
    """
    if (writing := sums.rate("transactions_writing")) is not None:
        committed = sums.rate(_COMMITS)
        if committed is None:
            return writing
        reported_s = sums.delta_s[_COMMITS] - _UNREPORTED_S
        return committed if sums.deltas[_COMMITS] < writing * reported_s else writing
    log_bin = sums.mean("setting.log_bin")
    if log_bin is None:  # from an exporter: a log that nothing is written to may be disabled
        return sums.rate("binlog_commits") or _without_log(sums)
    return sums.rate("binlog_commits") if log_bin >= 0.5 else _without_log(sums)


def _without_log(sums: SourceSums) -> float | None:
    """Commits of a server of MySQL's family that has no binary log to count them.

    The storage engine counts those of statements that commit by themselves as well.
    """
    committed, by_engine = sums.rate("com_commit"), sums.rate("handler_commit")
    changes = _sum(*(sums.rate(f"com_{what}") for what in ("insert", "update", "delete")))
    if committed is None or changes is None or committed >= changes / CHANGES_MOST:
        return committed
    by_themselves = by_engine is None or by_engine >= changes
    return committed + changes if by_themselves else committed


def cores_in(counters: Iterable[str]) -> list[str]:
    """The numbers of the cores with counters of their own."""
    names = (name.split(".") for name in counters if name.endswith(".idle_s"))
    return sorted(words[1] for words in names if len(words) == 3 and words[0] == "cpu")


def _busiest(sums: SourceSums, cores: Iterable[str]) -> float | None:
    """The busy share of the busiest core's time."""
    busy = []
    for core in cores:
        rates = (sums.rate(f"cpu.{core}.{mode}_s") for mode in ("idle", "iowait", "steal"))
        idle = _sum(*rates)
        if idle is not None:
            busy.append(min(max(1.0 - idle, 0.0), 1.0))
    return max(busy, default=None)


def _await_ms(sums: SourceSums, what: str) -> float | None:
    share = _ratio(sums.rate(f"{what}_s"), sums.rate(f"{what}s"))
    return None if share is None else 1000 * share


def _sum(*values: float | None) -> float | None:
    """The sum of the known values, if there are any."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
