"""The parts of a run's files that every reader relies on, whichever version wrote them.

Everything else is validated where it is used, and may be missing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
)


class _Part(BaseModel):
    # Ignore what a newer version has added.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)


class _Workload(_Part):
    name: str
    tables: NonNegativeInt
    table_size: NonNegativeInt
    warehouses: NonNegativeInt | None = None


class _Drive(_Part):
    protocol: str
    seed: int


class _WarmupSeconds(_Part):
    kind: Literal["seconds"]
    warmup_s: NonNegativeFloat


class _WarmupAuto(_Part):
    kind: Literal["auto"]


class _Outline(_Part):
    workload: _Workload
    drive: _Drive
    warmup: _WarmupSeconds | _WarmupAuto
    duration_s: NonNegativeFloat
    repeats: NonNegativeInt
    rates: tuple[Any, ...] = ()


def _looked_at(plan: dict[str, Any]) -> dict[str, Any]:
    _Outline.model_validate(plan)
    return plan


ToldPlan = Annotated[dict[str, Any], AfterValidator(_looked_at)]
"""A plan as it was written; it has at least the workload, how it was driven, and for how long."""


def _read_once(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Moment = Annotated[str, AfterValidator(_read_once)]
"""A time in ISO 8601 format."""


class _Server(_Part):
    target: str | None = None
    version: str | None = None
    flavour: str | None = None
    variables: dict[str, str] | None = None


class _Sandbox(_Part):
    settings: dict[str, str] = {}


class _Cpu(_Part):
    model: str | None = None
    cores_online: NonNegativeInt | None = None
    cores_allowed: NonNegativeInt | None = None


class _Memory(_Part):
    total_kb: NonNegativeInt | None = None


class _Machine(_Part):
    os: dict[str, Any] | None = None
    kernel: dict[str, Any] | None = None
    cpu: _Cpu | None = None
    memory: _Memory | None = None
    disks: dict[str, dict[str, Any] | None] | None = None


class _Environment(_Part):
    generator: _Machine | None = None
    targets: tuple[_Server, ...] | None = None
    sandbox: _Sandbox | None = None
    variants: dict[str, tuple[_Server, ...]] | None = None
    limits: dict[str, PositiveFloat] | None = None


def check_environment(document: object) -> dict[str, Any]:
    """Validate the content of environment.json.

    Raises:
        ValidationError: it is not such a document.
    """
    _Environment.model_validate(document)
    assert isinstance(document, dict)
    return document
