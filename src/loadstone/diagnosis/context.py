"""A case: one step of a ladder and everything known about it. Rules read data only through it.

Every accessor returns `None` if a figure was not evaluated, and records what was read; `needed`
turns such a `None` into the end of the rule, which is then "not evaluated: needs ...".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

from loadstone.analyse.ceilings import too_coarse
from loadstone.model.account import Place
from loadstone.model.asked_rate import asked_per_second
from loadstone.model.ceilings import RESOURCES, Ceiling, Limits, Resource, StepCeilings
from loadstone.model.compatible import COMPATIBLE, Compatible
from loadstone.model.error_codes import MYSQL
from loadstone.model.finding import Evidence
from loadstone.model.message import Message, listed, plain, say, user_count
from loadstone.model.result import StepResult
from loadstone.model.target import Target
from loadstone.model.target_url import TargetUrlError, family_in, parse_target_url

T = TypeVar("T")

Source = Literal["load", "server", "host"]

Series = tuple[tuple[float, float], ...]
"""Pairs of a time in seconds since the start of the load and a value."""

HostField = Literal[
    "cores",
    "cpu_user",
    "cpu_sys",
    "cpu_iowait",
    "cpu_steal",
    "cpu_idle",
    "busiest_core",
    "memory_available_bytes",
    "run_queue",
    "context_switches_per_s",
    "disk_read_iops",
    "disk_write_iops",
    "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",
    "disk_read_await_ms",
    "disk_write_await_ms",
    "disk_queue",
    "disk_busy",
    "disk_flushes_per_s",
    "net_bytes_in_per_s",
    "net_bytes_out_per_s",
    "process_cpu_user",
    "process_cpu_sys",
    "minor_faults_per_s",
    "major_faults_per_s",
]
GeneratorField = Literal[
    "cpu_share",
    "late_p99_us",
    "dispatch_p99_us",
    "held_p99_us",
    "run_delay_share",
    "shards",
    "ceiling_share",
]


class Missing(Exception):
    """A rule needs a figure that was not evaluated; `what` names it."""

    def __init__(self, what: Message) -> None:
        super().__init__(what)
        self.what = what


class Absent(Missing):
    """The server has no such variable, so what it would configure does not exist either."""


class Seconds(Protocol):
    """The frames of a run, read on first use."""

    def series(self, source: Source, step: int, column: str) -> Series | None:
        """One column of one step in order of time; `None` if there is none."""


@dataclass(frozen=True)
class Case:
    """One step and its ladder."""

    step: StepResult
    ladder: tuple[StepResult, ...]
    """One step per level (its middle repeat), by concurrency."""
    variables: Mapping[str, str] | None = None
    """All variables of the server, by name in lower case."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """environment.json."""
    drive: Mapping[str, Any] = field(default_factory=dict)
    """How the load was driven, from the plan in run.json."""
    is_scripted: bool = False
    """Whether a script chose the statements, and how they travel."""
    ceilings: Mapping[int, StepCeilings] = field(default_factory=dict)
    """By step number."""
    limits: Limits = field(default_factory=Limits)
    """The known limits of the server's resources."""
    seconds: Seconds | None = None
    reads: list[Message] = field(default_factory=list, compare=False, repr=False)
    """What was read, in order."""
    means_s: set[float] = field(default_factory=set, compare=False, repr=False)
    """The length of each mean that was read which is longer than a second."""

    def at(self, step: StepResult) -> Case:
        """This context at another step of the same ladder; reads are recorded in the same list."""
        return replace(self, step=step)

    def needed(self, value: T | None) -> T:
        """The value that was just read.

        Raises:
            Missing: it was not evaluated.
            Absent: it is a variable that the server does not have.
        """
        if value is None:
            what = self.reads[-1] if self.reads else say("a figure")
            raise Absent(what) if self._lacks(what.values.get("variable")) else Missing(what)
        return value

    def _lacks(self, variable: str | None) -> bool:
        """Whether the server is known to have no such variable."""
        if variable is None or self.variables is None:
            return False
        return variable not in self.variables

    @property
    def users(self) -> int:
        """Number of virtual users of the step."""
        return self.step.concurrency

    @property
    def tps(self) -> float:
        """Events per second; zero if none succeeded.

        Raises:
            Missing: the step has no window.
        """
        self.reads.append(say("a measured window"))
        return self.needed(self.step.tps)

    @property
    def seen_share(self) -> float:
        """The part of the window in which the server's counters were read, 0 to 1."""
        step = self.step
        if step.server is None or not step.seconds:
            return 0.0
        return min(step.server.seconds / step.seconds, 1.0)

    @property
    def level(self) -> Message:
        """The step's level: `64 users, 5,000/s`."""
        users = user_count(self.users)
        rate = self.step.rate
        return listed(users, asked_per_second(rate)) if rate else users

    @property
    def is_last(self) -> bool:
        """Whether no step has more users."""
        return self.step is self.ladder[-1]

    @property
    def compatible(self) -> Compatible | None:
        """What is known of the first target's server if it is only compatible with its family."""
        servers = self.environment.get("targets") or [{}]
        return COMPATIBLE.get(str(servers[0].get("flavour")))

    @property
    def family(self) -> str:
        """The family of the first target, by its URL; the default family if the URL names none."""
        return family_in(self.step.targets[0].target if self.step.targets else "")

    @property
    def page_cache(self) -> Message:
        """What such servers call the memory in which they keep pages."""
        return say("buffer pool") if self.family == MYSQL else plain("shared_buffers")

    @property
    def is_by_tcp(self) -> bool:
        """Whether the first target is reached over TCP, possibly on the same host."""
        return self._is_so_of_the_first_target(lambda target: target.socket is None)

    @property
    def is_on_loopback(self) -> bool:
        """Whether the first target has an address of this machine alone, or a unix socket."""
        return self._is_so_of_the_first_target(lambda target: target.is_local)

    @property
    def prefers_tls(self) -> bool:
        """Whether the first target is encrypted because its server can, and nobody asked for it."""
        return self._is_so_of_the_first_target(lambda target: target.tls.mode == "preferred")

    def _is_so_of_the_first_target(self, holds: Callable[[Target], bool]) -> bool:
        try:
            return any(holds(parse_target_url(one.target)[0]) for one in self.step.targets[:1])
        except TargetUrlError:  # in a folder that somebody has changed
            return True

    @property
    def mean_ms(self) -> float | None:
        """Mean time of an event."""
        self.reads.append(say("latency of events"))
        return self.step.latency.service.mean

    def rate(self, name: str) -> float | None:
        """A counter of the server, per second."""
        self.reads.append(say("server counter {name}", name=name))
        return self.step.server.rates.get(name) if self.step.server else None

    def rate_of_others(self, name: str) -> float | None:
        """A counter per second, without the part that reading the counters caused itself."""
        value = self.rate(name)
        own = self.step.server.rates.get(f"own_{name}", 0.0) if self.step.server else 0.0
        return None if value is None else max(value - own, 0.0)

    def mean(self, name: str) -> float | None:
        """The mean of one of the server's gauges."""
        self.reads.append(say("server value {name}", name=name))
        return self.step.server.means.get(name) if self.step.server else None

    def highest(self, name: str) -> float | None:
        """The highest value of one of the server's gauges."""
        self.reads.append(say("server value {name}", name=name))
        return self.step.server.highest.get(name) if self.step.server else None

    def total(self, name: str) -> float | None:
        """The increase of a counter from before the start of the load to after its end."""
        self.reads.append(say("server counter {name}", name=name))
        return self.step.server.totals.get(name) if self.step.server else None

    def states(self) -> Mapping[str, float] | None:
        """Mean number of connections in each state of the process list, without idle ones."""
        self.reads.append(say("states of the connections"))
        server = self.step.server
        if server is None or "connection_states" in server.not_evaluated:
            return None
        prefix = "state."
        return {
            name.removeprefix(prefix): value
            for name, value in server.means.items()
            if name.startswith(prefix)
        }

    def time_at(self, *places: Place) -> float | None:
        """Share of the users' time at these places, by the step's account; `None`: it has none."""
        self.reads.append(say("the account of the users' time"))
        account = self.step.account
        return account.share_of(*places) if account else None

    def commits(self) -> float | None:
        """Transactions per second that changed something."""
        self.reads.append(say("server counter {name}", name="commits"))
        return self.step.server.commits_per_s if self.step.server else None

    def host(self, name: HostField) -> float | None:
        """A figure of the server's host."""
        host = self.step.host
        value = getattr(host, name) if host else None
        self.reads.append(self._of_host(name, known=value is not None))
        if host and host.coarse.get(name):
            self.means_s.add(host.coarse[name])
        return None if value is None else float(value)

    def _of_host(self, name: HostField, *, known: bool) -> Message:
        """What is read; if an attached file has it in vain, with the reason."""
        what = say("host's {name}", name=name)
        why = None if known else too_coarse(self.step, name)
        return say("{what} ({why})", what=what, why=why) if why else what

    def host_rate(self, name: str) -> float | None:
        """A counter of the server's host, per second."""
        self.reads.append(say("host counter {name}", name=name))
        return self.step.host.rates.get(name) if self.step.host else None

    def host_mean(self, name: str) -> float | None:
        """The mean of one of the server host's gauges."""
        self.reads.append(say("host value {name}", name=name))
        return self.step.host.means.get(name) if self.step.host else None

    def fact(self, name: str) -> str | None:
        """A fact about the server's host that hardly ever changes."""
        self.reads.append(say("host fact {name}", name=name))
        return self.step.host.facts.get(name) if self.step.host else None

    @property
    def nic(self) -> str | None:
        """The interface of the server's host that carries the load's traffic."""
        self.reads.append(say("host's {name}", name="nic"))
        return self.step.host.nic if self.step.host else None

    def generator(self, name: GeneratorField) -> float | None:
        """A resource that the generator used."""
        self.reads.append(say("generator's {name}", name=name))
        value = getattr(self.step.generator, name)
        return None if value is None else float(value)

    def variable(self, name: str) -> str | None:
        """A variable of the server, as text."""
        self.reads.append(say("variable {variable}", variable=name))
        return None if self.variables is None else self.variables.get(name)

    def number(self, name: str) -> float | None:
        """A variable of the server as a number; `None` if it is not one."""
        value = self.variable(name)
        try:
            return None if value is None else float(value)
        except ValueError:
            return None

    def is_on(self, name: str) -> bool | None:
        """Whether a boolean variable is on."""
        value = self.variable(name)
        return None if value is None else value.upper() in ("ON", "1", "YES", "TRUE")

    def ceiling(self, resource: Resource) -> Ceiling | None:
        """The ceiling of a resource; `None` if it is not known."""
        self.reads.append(say("ceiling of {resource}", resource=RESOURCES[resource]))
        found = self.ceilings.get(self.step.step)
        for one in found.ceilings if found else ():
            if one.resource == resource and one.events_per_s is not None:
                if one.granularity_s:
                    self.means_s.add(one.granularity_s)
                return one
        return None

    def series(self, source: Source, column: str, *, warmup: bool = False) -> Series | None:
        """A column of the frames within the window; with `warmup`, also what comes before it."""
        self.reads.append(say("{source}.parquet's {column}", source=source, column=column))
        window = self.step.window
        if self.seconds is None or window is None:
            return None
        found = self.seconds.series(source, self.step.step, column)
        if found is None:
            return None
        inside = tuple(
            (at, value)
            for at, value in found
            if (warmup or window.from_s < at) and at <= window.to_s + 0.5
        )
        return inside or None

    def seen(
        self, counter: Message, value: float, unit: Message, threshold: float | None = None
    ) -> Evidence:
        """A figure of this step's window."""
        window = self.step.window
        return Evidence(
            counter=counter,
            value=value,
            unit=unit,
            threshold=threshold,
            users=self.users,
            from_s=window.from_s if window else None,
            to_s=window.to_s if window else None,
        )
