"""What a case is: a cause at a size that was drawn, how it gets there, the load that meets it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults.scene import Scene

Server = Literal["mariadb", "mysql", "postgresql"]
"""Whose server it is. With a version (`mysql-8.0.31`) it is a release, as `--server` takes it."""

T = TypeVar("T")

Kind = Literal["fault", "pair", "healthy"]
Data = Literal["small", "large", "replicated"]
"""Four tables of 25,000 rows; one that takes seconds to read; the former on two servers."""


def maker_of(release: str) -> Server:
    """Whose server a release is, such as `mysql-8.0.31`."""
    return next(name for name in get_args(Server) if release.startswith(name))


@dataclass(frozen=True)
class Load:
    """What `loadstone run` is given; `loadstone sysbench` where the workload is a script."""

    workload: str
    """A name, or the path of a script in Lua, which has one level of users and its own options."""
    ladder: tuple[int, ...]
    words: tuple[str, ...] = ("--distribution", "uniform")
    tls: bool = False
    warmup_s: float = 2.0
    times: float = 1.0
    """The length of a step, by that of the others."""

    @property
    def is_script(self) -> bool:
        """Whether it is driven by `loadstone sysbench`."""
        return self.workload.endswith(".lua")


@dataclass(frozen=True)
class Effect:
    """What an injection did, by another measure than the diagnosis has."""

    words: str
    bites: bool


Proof = Callable[[], Effect]
"""Asked once the load is over and the server still there."""

Inject = Callable[["Scene"], AbstractContextManager[Proof]]
"""In force from before the load's begin, or from its begin, to its end."""


@dataclass(frozen=True)
class Removal:
    """What takes a fault away, so that the load driven once more shows what it had cost.

    With neither of the first two the server is started again, its data are put back, and nothing
    is injected.
    """

    statements: tuple[str, ...] = ()
    """For the server that had the fault."""
    load: Load | None = None
    """Driven instead, where the load itself was the fault."""
    settings: tuple[str, ...] = ()
    """Names of those that were the fault: a server and its pooler are started without them."""

    @property
    def starts_again(self) -> bool:
        """Whether it is another start of the server that has no fault."""
        return not (self.statements or self.load)


@dataclass(frozen=True)
class Fault:
    """A cause at its size, ready to be injected."""

    causes: tuple[str, ...]
    """Names of the diagnosis that are right, the usual one first; none: nothing is wrong."""
    size: str
    load: Load
    inject: Inject
    settings: Mapping[str, str] = field(default_factory=dict)
    """What the server is started with."""
    data: Data = "small"
    each_way_ms: float = 0.0
    """How long what is sent to the server, and what comes back, is on its way."""
    behind_a_line: bool = False
    """Whether the server is in a network namespace of its own."""
    in_memory_group: bool = False
    """Whether it is started in a control group of its own for memory."""
    pooler: Mapping[str, str] | None = None
    """The settings of a PgBouncer that the load goes through; `None`: it goes through none."""
    removal: Removal | None = None
    """`None`: what is right takes more than the fault's absence, such as another schema."""

    @property
    def other_settings(self) -> dict[str, str]:
        """Those that are not the fault themselves."""
        return self._not_bad(self.settings)

    @property
    def other_pooler(self) -> Mapping[str, str] | None:
        """The same of the pooler's; `None`: there is none."""
        return None if self.pooler is None else self._not_bad(self.pooler)

    def _not_bad(self, settings: Mapping[str, str]) -> dict[str, str]:
        bad = self.removal.settings if self.removal else ()
        return {name: to for name, to in settings.items() if name not in bad}


@dataclass(frozen=True)
class Draw:
    """Sizes at random; the same case and seed give the same sizes, whatever else is run."""

    chance: random.Random
    server: Server

    @classmethod
    def of(cls, seed: int, case: str, server: Server) -> Draw:
        """For one case."""
        return cls(random.Random(f"{seed} {case} {server}"), server)

    def between(self, least: int, most: int) -> int:
        """A whole number, both ends included, small ones as likely as large ones."""
        return min(round(least * math.pow(most / least, self.chance.random())), most)

    def size(self, least: float, most: float) -> float:
        """A number between them, of three digits, small ones as likely as large ones."""
        return float(f"{least * math.pow(most / least, self.chance.random()):.3g}")

    def part(self, least: float, most: float) -> float:
        """A number between them."""
        return self.chance.uniform(least, most)

    def of_these(self, *words: T) -> T:
        """One of them."""
        return self.chance.choice(words)

    def ladder(self, few: int, least: int, most: int) -> tuple[int, ...]:
        """One level of so many users, or one of `few` before it."""
        users = self.between(least, most)
        return (users,) if self.chance.random() < 0.5 else (few, users)


@dataclass(frozen=True)
class Case:
    """A name, and how its fault is made for a server."""

    name: str
    make: Callable[[Draw], Fault]
    servers: tuple[Server, ...] = ("mariadb", "mysql")
    kind: Kind = "fault"


def together(first: Fault, second: Fault) -> Fault:
    """Both at once, with the first one's load: naming either first is right."""
    return Fault(
        causes=(*first.causes, *second.causes),
        size=f"{first.size}; {second.size}",
        load=first.load,
        inject=both(first.inject, second.inject),
        settings={**first.settings, **second.settings},
        data=first.data,
        each_way_ms=first.each_way_ms + second.each_way_ms,
        behind_a_line=first.behind_a_line or second.behind_a_line,
        in_memory_group=first.in_memory_group or second.in_memory_group,
    )


def both(*injections: Inject) -> Inject:
    """All of them at once, with all of their proofs."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        with ExitStack() as stack:
            proofs = [stack.enter_context(one(scene)) for one in injections]

            def proof() -> Effect:
                effects = [one() for one in proofs]
                words = "; ".join(one.words for one in effects if one.words)
                return Effect(words, all(one.bites for one in effects))

            yield proof

    return inject
