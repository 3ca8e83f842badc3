"""An experiment: what varies, what stays the same, and what counts as a difference.

A factor is something that varies, its levels are its values, and a variant is one level of each
factor. The other levels of a factor are compared with its first one.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from loadstone.model.columns import Column
from loadstone.model.figure import Count
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.model.plan import (
    Load,
    MixMember,
    StatementProtocol,
    Warmup,
    WarmupAuto,
    WorkloadSpec,
    is_empty,
)
from loadstone.model.target import Compression, Target, TlsMode, TlsVersion
from loadstone.model.template import Template

Share = Annotated[float, Field(gt=0, lt=1)]

MOST_CELLS = 10_000
"""The most variants x workloads x users x rates: a day of steps of ten seconds, without repeats."""

Restore = Literal["auto", "none", "copy", "prepare"]
"""How data is reset to the same state: from a copy of a data folder, or by loading again. `auto`: a
copy for a sandbox, loading for a target, and neither if the workloads only read."""


Way = Literal["socket", "tcp", "pooler"]
"""How the load reaches a server; through its pooler only where it is a sandbox that has one."""


class ClientOptions(Frozen):
    """The client's options; those that are `None` stay as the target has them."""

    tls: TlsMode | None = None
    tls_version: tuple[TlsVersion, ...] | None = None
    tls_cipher: tuple[str, ...] | None = None
    """Allowed ciphers, by OpenSSL's names."""
    prepared: bool | None = None
    protocol: StatementProtocol | None = None
    """In the place of `prepared`."""
    connect: Way | None = None
    compression: tuple[Compression, ...] | None = None
    hosts: tuple[str, ...] = ()
    """Addresses that share the users, such as `db1:3306`; none: the target's own."""


class SandboxChoice(Frozen):
    """The throwaway server to start."""

    server: str | None = None
    """`mariadb`, `mysql`, or the path of a server program."""
    root: Path | None = None
    """The root folder of another system, whose program, libc and libraries are used."""
    settings: dict[str, str] = {}
    """Start-up settings of all variants."""
    pooler: str | None = None
    """The connection pooler in front of the server; `None`: none."""
    pooler_settings: dict[str, str] = {}


class CgroupLimit(Frozen):
    """The most that the server may use: the size of an instance. Only for sandboxes, as root."""

    cores: PositiveFloat | None = None
    memory_bytes: PositiveInt | None = None
    read_iops: PositiveInt | None = None
    write_iops: PositiveInt | None = None


class NetworkLimit(Frozen):
    """The network between the load and a sandbox in its own network namespace. Only as root."""

    bits_per_s: PositiveInt | None = None
    delay_s: NonNegativeFloat | None = None


class Level(Frozen):
    """One value of a factor: everything that it changes."""

    name: str
    startup: dict[str, str] = {}
    """Server variables that are set at start-up."""
    dynamic: dict[str, str] = {}
    """Server variables that are set while it runs, and restored."""
    per_session: dict[str, str] = Field(default={}, exclude_if=is_empty)
    """Server variables that each connection of the load sets for itself."""
    client: ClientOptions | None = None
    sandbox: SandboxChoice | None = None
    cgroup: CgroupLimit | None = None
    network: NetworkLimit | None = None
    target: Target | None = None
    """Another server altogether."""

    @property
    def needs_restart(self) -> bool:
        """Whether the server must be restarted for it; instance sizes are also read at start."""
        return bool(self.startup or self.sandbox or self.cgroup)

    @property
    def variables(self) -> dict[str, str]:
        """All server variables that it sets for the whole server."""
        return {**self.startup, **self.dynamic}


class Factor(Frozen):
    """Something that varies; its other levels are compared with the first one."""

    name: str
    levels: Annotated[tuple[Level, ...], Field(min_length=2)]

    @property
    def needs_restart(self) -> bool:
        """Whether changing between its levels needs a restart."""
        return any(level.needs_restart for level in self.levels)


class Variant(Frozen):
    """One level of each factor."""

    levels: tuple[tuple[str, Level], ...] = ()
    """Levels with the names of their factors, in the order of the file."""

    @property
    def name(self) -> str:
        """The name in results: `pool=on,durability=full`, or `default` without factors."""
        return ",".join(f"{factor}={level.name}" for factor, level in self.levels) or "default"

    def at_start(self, restarting: frozenset[str]) -> tuple[str, ...]:
        """The names of its levels of these factors; variants with equal ones can share a server."""
        return tuple(
            f"{factor}={level.name}" for factor, level in self.levels if factor in restarting
        )

    @property
    def startup(self) -> dict[str, str]:
        """The start-up variables of all its levels together."""
        return reduce(lambda all_, pair: all_ | pair[1].startup, self.levels, {})

    @property
    def dynamic(self) -> dict[str, str]:
        """The variables to set at run time, of all its levels together."""
        return reduce(lambda all_, pair: all_ | pair[1].dynamic, self.levels, {})

    @property
    def per_session(self) -> dict[str, str]:
        """The variables that each connection sets for itself, of all its levels together."""
        return reduce(lambda all_, pair: all_ | pair[1].per_session, self.levels, {})


class Rules(Frozen):
    """The rules for what counts as evidence, and as a difference."""

    level: Share = 0.05
    """The accepted chance of a false verdict, over all cells together."""

    margin: Share = 0.03
    """The smallest difference that matters: 0.03 is 3 %."""

    power: Share = 0.9
    """The chance of detecting a difference of the margin, for computing the units still needed."""


class Until(Frozen):
    """Repeat until effects are known with this precision, or the time is up."""

    half_width: Share
    """Half the width of the interval: 0.02 is plus or minus 2 %."""
    time_limit_s: PositiveFloat


Manner = Literal["single", "parallel"]
"""Who runs a command of a script: one virtual user, or all of them."""


class ScriptFile(Frozen):
    """A script's file as it was when the experiment started."""

    sha256: str
    """Hash of its text: an experiment is not resumed with a different one."""
    prepare: Manner | None = None
    """How its command that creates tables runs; `None`: it has none."""
    cleanup: Manner | None = None
    """How its command that drops them runs; `None`: it has none."""


class Experiment(Load):
    """The validated content of an experiment file: a load on each variant, interleaved."""

    target: Target | None = None
    sandbox: SandboxChoice | None = None
    """The server is this sandbox or the target; neither, if each variant has its own."""
    workloads: Annotated[tuple[WorkloadSpec, ...], Field(min_length=1)]
    factors: tuple[Factor, ...] = ()
    warmup: Warmup = WarmupAuto()
    repeats: PositiveInt = 6
    """How often each step is measured, or each search run; with `until` it is the minimum."""
    until: Until | None = None
    rules: Rules = Rules()
    restore: Restore = "auto"
    columns: tuple[Column, ...] = ()
    """Figures to show next to the rates."""
    templates: dict[str, Template] = {}
    """Templates by the name of the workload."""
    scripts: dict[str, ScriptFile] = {}
    """Script files by the name of the workload."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        sizes = [len(factor.levels) for factor in self.factors]
        cells = prod([*sizes, len(self.workloads), len(self.ladder), max(len(self.rates), 1)])
        if cells > MOST_CELLS:
            raise ValueError(
                say(
                    "{number} steps in a round; at most {most} are compared",
                    number=Count(cells),
                    most=Count(MOST_CELLS),
                )
            )
        return self

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All combinations of the factors' levels, in the order of the file."""
        choices = [[(factor.name, level) for level in factor.levels] for factor in self.factors]
        return tuple(Variant(levels=levels) for levels in product(*choices))

    @property
    def members(self) -> tuple[MixMember, ...]:
        """The members of all mixes, each once."""
        members = (member for workload in self.workloads for member in workload.mix)
        return tuple({member.name: member for member in members}.values())

    @property
    def most_users(self) -> int:
        """The most virtual users of any step."""
        climbs = self.search.most_users if self.search and self.search.peak else 0
        own = max(workload.own_users for workload in self.workloads)
        return max(climbs, max(self.ladder) + own)

    @property
    def restarting(self) -> frozenset[str]:
        """The names of the factors whose levels need a restart."""
        return frozenset(factor.name for factor in self.factors if factor.needs_restart)
