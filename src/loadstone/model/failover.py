"""The result of a failover drill: outages second by second, and the fate of acknowledged writes."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from loadstone.model.error_codes import MYSQL, Code, Family, with_family
from loadstone.model.frozen import Frozen


def _said(text: str) -> Any:
    """A required field, with its description for the JSON schema."""
    return Field(description=text)


class DrillSecond(Frozen):
    """An interval of about a second, during an outage or close to it."""

    from_s: float = _said("start, seconds since the load's start")
    to_s: float = _said("end, likewise")
    succeeded: int = _said("events that succeeded")
    failed: int = _said("events given up after an error")
    errors: dict[str, int] = _said("error packets and lost connections, by code")
    connect_failures: dict[str, int] = _said("attempts to connect that failed, by code")
    users: int = _said("virtual users connected at its end")


class DrillError(Frozen):
    """How often an error occurred in the seconds of an outage."""

    family: Family = Field(default=MYSQL, description="the family of servers whose code it is")
    code: Code = _said("its code; 0 stands for all beyond the first 64 of a second")
    name: str | None = _said("its usual name; null for rare codes")
    statements: int = _said("as the answer to a statement, or in place of one")
    connects: int = _said("as the end of an attempt to connect")

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, data: Any) -> Any:
        return with_family(data)


class DrillOutage(Frozen):
    """A time in which users had no successful event; times are in seconds since the load's start.

    A user's pause is the time from its last success to its next one. Pauses that overlap are one
    outage.
    """

    from_s: float = _said("start of the first pause of a user: the user's last success before it")
    to_s: float | None = _said("end of the last pause; null if one was not over at the step's end")
    users: int = _said("users that had a pause")
    users_cut_off: int = _said("those of them that had no success until the step's end")
    last_success_s: float | None = _said(
        "the last success of any user before nobody had one; null if some user always had one"
    )
    first_success_s: float | None = _said(
        "the first success of any user after that; null if there was none, or always one"
    )
    outage_ms: float | None = _said(
        "time between these two, in which nobody was served, milliseconds; null if one of them is"
    )
    slowest_user: int | None = _said("the user with the longest pause that is over, from 0")
    slowest_ms: float | None = _said("length of that pause, milliseconds")
    median_ms: float | None = _said("the median of the pauses that are over, milliseconds")
    errors: tuple[DrillError, ...] = _said("errors during the outage, the most frequent first")
    seconds: tuple[DrillSecond, ...] = _said("its seconds, with two before and two after")
    seconds_left_out: int = _said("seconds in the middle of a long outage that are not listed")


class Timeline(Frozen):
    """The outages of a step, in order."""

    outages: tuple[DrillOutage, ...] = _said("outages in which a user's pause was long enough")
    outages_left_out: int = _said("outages beyond the hundred longest, which are not listed")


class LedgerPlace(Frozen):
    """A range of entries of one user that differ from what was acknowledged."""

    user: int = _said("number of the user, from 0")
    what: str = _said("lost, twice, though_refused, altered or untold")
    first: int = _said("number of the first entry")
    last: int = _said("number of the last; those between are the same, except for some in doubt")


class LedgerVerdict(Frozen):
    """The generator's ledger compared with the server's: the outcome of each written entry."""

    target: str = _said("the server that was asked, without password")
    holds: bool = _said("whether nothing was lost, doubled or altered")
    is_complete: bool = _said(
        "whether the generator reported to the end; else entries after its last second are untold"
    )
    users: int = _said("users that wrote")
    acknowledged: int = _said("entries whose COMMIT was answered with success")
    lost: int = _said("acknowledged entries that are not there")
    twice: int = _said("rows beyond the first one of the same entry")
    though_refused: int = _said(
        "entries that are there although every attempt was refused, or lost before its COMMIT"
    )
    altered: int = _said("rows whose amount differs from that of their entry")
    in_doubt_present: int = _said(
        "entries that are there and whose COMMIT was sent, but not answered, or answered with an "
        "error that leaves the outcome open"
    )
    in_doubt_absent: int = _said("such entries that are not there")
    untold_present: int = _said(
        "entries that are there and are newer than the last report of a generator that was killed"
    )
    sum_expected: int = _said(
        "sum of the amounts of all acknowledged entries and of those in doubt that are there"
    )
    sum_found: int = _said("sum of the amounts of all rows")
    places: tuple[LedgerPlace, ...] = _said(
        "the first places where something was lost, doubled, altered or untold"
    )

    @property
    def doubled(self) -> int:
        """Rows that should not be there, because they are duplicates or were refused."""
        return self.twice + self.though_refused
