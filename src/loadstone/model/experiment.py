"""An experiment: what varies, what stays, and what counts as a difference.

A factor is what varies, its levels are the values it takes, and a variant is one level of each
factor. The first level of each factor is what the others are compared with.
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
from loadstone.model.plan import Load, MixMember, Warmup, WarmupAuto, WorkloadSpec
from loadstone.model.target import Compression, Target, TlsMode
from loadstone.model.template import Template

Share = Annotated[float, Field(gt=0, lt=1)]

MOST_CELLS = 10_000
"""Variants x workloads x users x rates: a day of steps of ten seconds, each measured once."""

Restore = Literal["auto", "none", "copy", "prepare"]
"""How data comes back to the same state: a copied data folder, or loaded again. `auto`: a copy for
a sandbox, loading for a target, and neither where the workloads only read."""


class ClientOptions(Frozen):
    """How the load speaks to the server; what is `None` stays as the target has it."""

    tls: TlsMode | None = None
    prepared: bool | None = None
    connect: Literal["socket", "tcp"] | None = None
    compression: tuple[Compression, ...] | None = None
    hosts: tuple[str, ...] = ()
    """Addresses that share the users, `db1:3306`; none: the target's own."""


class SandboxChoice(Frozen):
    """Which throwaway server."""

    server: str | None = None
    """`mariadb`, `mysql`, or the path of a server program."""
    root: Path | None = None
    """The folder of another system, whose program, libc and libraries are run."""
    settings: dict[str, str] = {}
    """Settings of all variants, at start-up."""


class CgroupLimit(Frozen):
    """What the server may use at most: the size of an instance. Of sandboxes, and only as root."""

    cores: PositiveFloat | None = None
    memory_bytes: PositiveInt | None = None
    read_iops: PositiveInt | None = None
    write_iops: PositiveInt | None = None


class NetworkLimit(Frozen):
    """What lies between the load and a sandbox in a network namespace of its own. Only as root."""

    bits_per_s: PositiveInt | None = None
    delay_s: NonNegativeFloat | None = None


class Level(Frozen):
    """One value of a factor: everything that it changes."""

    name: str
    startup: dict[str, str] = {}
    """Server variables that are given when it starts."""
    dynamic: dict[str, str] = {}
    """Server variables that are set while it runs, and put back."""
    client: ClientOptions | None = None
    sandbox: SandboxChoice | None = None
    cgroup: CgroupLimit | None = None
    network: NetworkLimit | None = None
    target: Target | None = None
    """Another server altogether."""

    @property
    def needs_restart(self) -> bool:
        """Whether the server must be restarted for it: sizes are read at the start, too."""
        return bool(self.startup or self.sandbox or self.cgroup)

    @property
    def variables(self) -> dict[str, str]:
        """All that it sets on the server."""
        return {**self.startup, **self.dynamic}


class Factor(Frozen):
    """What varies; the first level is what the others are compared with."""

    name: str
    levels: Annotated[tuple[Level, ...], Field(min_length=2)]

    @property
    def needs_restart(self) -> bool:
        """Whether going from one of its levels to another takes a restart."""
        return any(level.needs_restart for level in self.levels)


class Variant(Frozen):
    """One level of each factor."""

    levels: tuple[tuple[str, Level], ...] = ()
    """By the name of the factor, in the order of the file."""

    @property
    def name(self) -> str:
        """The name that results have: `pool=on,durability=full`, or `default` without factors."""
        return ",".join(f"{factor}={level.name}" for factor, level in self.levels) or "default"

    def at_start(self, restarting: frozenset[str]) -> tuple[str, ...]:
        """What must be the same for a server to be used on: its levels of these factors."""
        return tuple(
            f"{factor}={level.name}" for factor, level in self.levels if factor in restarting
        )

    @property
    def startup(self) -> dict[str, str]:
        """Server variables at start-up, of all its levels together."""
        return reduce(lambda all_, pair: all_ | pair[1].startup, self.levels, {})

    @property
    def dynamic(self) -> dict[str, str]:
        """Server variables to set while it runs, of all its levels together."""
        return reduce(lambda all_, pair: all_ | pair[1].dynamic, self.levels, {})


class Rules(Frozen):
    """What counts as evidence, and as a difference."""

    level: Share = 0.05
    """The chance of a false word that is put up with, over all cells together."""

    margin: Share = 0.03
    """The smallest difference that matters: 0.03 is 3 %."""

    power: Share = 0.9
    """The chance that a difference of the margin shall be found with, when more are asked for."""


class Until(Frozen):
    """Repeat until effects are known this well, or the time is up."""

    half_width: Share
    """0.02: to plus or minus 2 %."""
    time_limit_s: PositiveFloat


Manner = Literal["single", "parallel"]
"""Who runs a command of a script: one virtual user, or all of them."""


class ScriptFile(Frozen):
    """What a script's file was when the experiment began."""

    sha256: str
    """Of its text: an experiment does not go on with another one."""
    prepare: Manner | None = None
    """The command that makes its tables; `None`: it has none."""
    cleanup: Manner | None = None
    """The command that drops them."""


class Experiment(Load):
    """What a file asks for, checked: a load on each variant, in turns."""

    target: Target | None = None
    sandbox: SandboxChoice | None = None
    """One of the two is where variants are measured; neither, where each brings its own."""
    workloads: Annotated[tuple[WorkloadSpec, ...], Field(min_length=1)]
    factors: tuple[Factor, ...] = ()
    warmup: Warmup = WarmupAuto()
    repeats: PositiveInt = 6
    """How often each step is measured, or each search run; with `until` the least."""
    until: Until | None = None
    rules: Rules = Rules()
    restore: Restore = "auto"
    columns: tuple[Column, ...] = ()
    """Figures to show next to the rates."""
    templates: dict[str, Template] = {}
    """By the name of a workload, the file that it was read from."""
    scripts: dict[str, ScriptFile] = {}
    """By the name of a workload that is a script, what was read of it."""
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
        """Each level with each level of the other factors, in the order of the file."""
        choices = [[(factor.name, level) for level in factor.levels] for factor in self.factors]
        return tuple(Variant(levels=levels) for levels in product(*choices))

    @property
    def members(self) -> tuple[MixMember, ...]:
        """Of all mixes, each once."""
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
        """The factors whose levels take a restart."""
        return frozenset(factor.name for factor in self.factors if factor.needs_restart)
