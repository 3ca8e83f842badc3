"""Commands to a run in progress."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, TypeAdapter

from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.message import Message
from loadstone.model.with_messages import WithMessages

MOST_USERS = 1_000_000
HIGHEST_RATE = 10_000_000.0
"""Events a second; the engine's own limit (docs/engine.md)."""


class StopRun(Frozen):
    """Finish the events in flight, keep all results, and run no more steps: like a first Ctrl-C."""

    kind: Literal["stop"] = "stop"


class SetUsers(Frozen):
    """Keep this many of the step's users at work; the others finish their event and pause."""

    kind: Literal["users"] = "users"
    step: PositiveInt
    users: Annotated[int, Field(ge=1, le=MOST_USERS)]


class SetRate(Frozen):
    """Make this many events a second due in the step's open loop."""

    kind: Literal["rate"] = "rate"
    step: PositiveInt
    rate: Annotated[float, Field(gt=0, le=HIGHEST_RATE, allow_inf_nan=False)]


class Remark(WithMessages):
    """Record this for readers of the run: a process that follows it has something to say."""

    kind: Literal["remark"] = "remark"
    text: Message


AnyWish = StopRun | SetUsers | SetRate | Remark
Wish = Annotated[AnyWish, Field(discriminator="kind")]
WISH: TypeAdapter[AnyWish] = TypeAdapter(Wish, config=DEFERRED)
