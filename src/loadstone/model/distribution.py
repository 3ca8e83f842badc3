"""Distributions of keys over a table's rows, as the engine draws them (docs/engine.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say


class Uniform(Frozen):
    """Every row is as likely as any other."""

    kind: Literal["uniform"] = "uniform"


class Special(Frozen):
    """A small share of the rows gets most of the hits, in a bell around the middle."""

    kind: Literal["special"] = "special"
    iterations: PositiveInt = 12
    percent: Annotated[int, Field(ge=1, le=100)] = 1
    hits: Annotated[int, Field(ge=1, le=100)] = 75


class Gaussian(Frozen):
    """A bell around the middle of the table."""

    kind: Literal["gaussian"] = "gaussian"
    iterations: PositiveInt = 12


class Pareto(Frozen):
    """The rows at the start get most of the hits."""

    kind: Literal["pareto"] = "pareto"
    h: Annotated[float, Field(gt=0, lt=1)] = 0.2


class Zipfian(Frozen):
    """The row of rank n gets a share in inverse proportion to n to the power of the exponent."""

    kind: Literal["zipfian"] = "zipfian"
    exponent: PositiveFloat = 0.8


Distribution = Annotated[
    Uniform | Special | Gaussian | Pareto | Zipfian, Field(discriminator="kind")
]

_DRAWN_OTHERWISE = {
    "tpcc": (
        say("tpcc draws its rows as TPC-C requires (NURand)"),
        say("leave it out; more warehouses spread the rows"),
    ),
    "template": (
        say("a template defines in its file how its values are drawn"),
        say("leave it out, and change that file"),
    ),
}
_NOT_DRAWN = (
    say("only the workloads of sysbench's tables draw keys by it"),
    say("leave it out"),
)


def not_drawn(layout: str) -> tuple[Message, Message] | None:
    """Why a workload with such tables draws by no distribution, and what to write instead.

    `None`: it draws by the one that it is given.
    """
    return None if layout == "sbtest" else _DRAWN_OTHERWISE.get(layout, _NOT_DRAWN)
