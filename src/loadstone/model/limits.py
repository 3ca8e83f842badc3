"""The limits of the resources from which ceilings are computed, and how people write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, PositiveFloat

from loadstone.model import quantity
from loadstone.model.frozen import Frozen
from loadstone.model.message import Joined, say
from loadstone.model.nearest import nearest

_MOST = 1e18
"""No value of a limit is as large, in its base unit."""


def _said(text: str) -> Any:
    return Field(default=None, description=text)


class Limits(Frozen):
    """The limits of the resources; null: unknown. Requested limits override measured ones."""

    cores: PositiveFloat | None = _said("cores that the server may use")
    syncs_per_s: PositiveFloat | None = _said("calls of fsync on the device with the logs")
    flushes_per_s: PositiveFloat | None = _said("flushes of the same device")
    disk_write_iops: PositiveFloat | None = _said("writes of pages a second")
    disk_read_iops: PositiveFloat | None = _said("reads of pages a second")
    disk_iops: PositiveFloat | None = _said("reads and writes a second, together")
    disk_write_bytes_per_s: PositiveFloat | None = _said("bytes written to the same device")
    line_bytes_per_s: PositiveFloat | None = _said("speed of the network in each direction")
    answer_s: PositiveFloat | None = _said("additional time of each statement")
    by_hand: tuple[str, ...] = Field(
        default=(), description="which of them the user stated, rather than a measurement"
    )

    def but(self, other: Limits) -> Limits:
        """These limits, overridden by the known ones of `other`."""
        theirs = values_of(other)
        kept = [name for name in self.by_hand if name not in theirs]
        return self.model_copy(update=theirs | {"by_hand": (*kept, *other.by_hand)})


@dataclass(frozen=True)
class _Written:
    """How people write a limit."""

    field: str
    factor: float = 1.0
    """Its base unit in the unit of the field."""


_BY_HAND: Mapping[str, _Written] = {
    "cores": _Written("cores"),
    "log_syncs": _Written("syncs_per_s"),
    "disk_write_iops": _Written("disk_write_iops"),
    "disk_read_iops": _Written("disk_read_iops"),
    "disk_iops": _Written("disk_iops"),
    "disk_write_bytes": _Written("disk_write_bytes_per_s"),
    "net_mbit": _Written("line_bytes_per_s", 125_000.0),
}
"""The names of `--limit`."""

_ASSUMED: Mapping[str, _Written] = {
    "cores": _Written("cores"),
    "syncs": _Written("syncs_per_s"),
    "write-iops": _Written("disk_write_iops"),
    "read-iops": _Written("disk_read_iops"),
    "write-bandwidth": _Written("disk_write_bytes_per_s"),
    "line": _Written("line_bytes_per_s", 1 / 8),
    "answer-time": _Written("answer_s", 0.001),
}
"""The names of `--if`, which takes those of `--limit`, too."""

_FIELDS = frozenset(Limits.model_fields) - {"by_hand"}

Given = tuple[str, float]
"""A field of `Limits`, and its value in that field's unit."""


def by_hand(text: str) -> Given:
    """Parse `disk_write_iops=3000`.

    Raises:
        ValueError: there is no such limit, or it has no such value.
    """
    return _given(text, _BY_HAND, _BY_HAND)


def assumed(text: str) -> Given:
    """Parse `line=100M`.

    Raises:
        ValueError: as `by_hand`.
    """
    return _given(text, {**_ASSUMED, **_BY_HAND}, _ASSUMED)


def limits_from(given: Iterable[Given]) -> Limits:
    """The limits that were given; of several of one kind the last one counts."""
    return Limits.model_validate(dict(given))


def stated(given: Iterable[Given]) -> Limits:
    """The same, as known by hand; a name that only a newer version knows is left out."""
    known = {name: value for name, value in given if name in _FIELDS}
    return Limits.model_validate(known | {"by_hand": tuple(known)})


def values_of(limits: Limits) -> dict[str, float]:
    """The known limits by their fields."""
    return limits.model_dump(exclude_none=True, exclude={"by_hand"})


def _given(text: str, known: Mapping[str, _Written], shown: Iterable[str]) -> Given:
    name, equals, value = (part.strip() for part in text.partition("="))
    written = known.get(name)
    if written is None and (near := nearest(name, shown)):
        raise ValueError(say("there is no limit '{name}': {near}", name=name, near=near))
    if written is None or not equals:
        raise ValueError(
            say(
                "'{text}': write NAME=VALUE, where NAME is one of {known}",
                text=text,
                known=Joined(shown),
            )
        )
    number = quantity.scaled(value, quantity.COUNTS)
    if number is None:
        raise ValueError(say("'{text}' is not a number: write 1000, 1k, 1.5M or 2G", text=value))
    if not 0 < number < _MOST:
        raise ValueError(say("'{text}' must be above 0 and below 10^18", text=value))
    return written.field, number * written.factor
