"""What a failover drill found: outages second by second, and what became of acknowledged writes."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from loadstone.model.error_codes import MYSQL, Code, Family, with_family
from loadstone.model.frozen import Frozen


def _said(text: str) -> Any:
    """A field without default whose meaning goes into the JSON schema."""
    return Field(description=text)


class DrillSecond(Frozen):
    """An interval of about a second, in an outage or close to it."""

    from_s: float = _said("begin, seconds since the load's begin")
    to_s: float = _said("end")
    succeeded: int = _said("events that succeeded")
    failed: int = _said("events given up after an error")
    errors: dict[str, int] = _said("error packets and lost connections, by code")
    connect_failures: dict[str, int] = _said("attempts to connect that failed, by code")
    users: int = _said("virtual users connected at its end")


class DrillError(Frozen):
    """How often an error came in the seconds of an outage."""

    family: Family = Field(default=MYSQL, description="the family of servers whose code it is")
    code: Code = _said("its code; 0 stands for all beyond the first 64 of a second")
    name: str | None = _said("what the field calls it; null where the code is rare")
    statements: int = _said("as the answer to a statement, or in place of one")
    connects: int = _said("as the end of an attempt to connect")

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, data: Any) -> Any:
        return with_family(data)


class DrillOutage(Frozen):
    """A time in which users saw no event through; all times count from the load's begin.

    A user's pause is the time from its last success to its next one. Pauses that overlap are one
    outage.
    """

    from_s: float = _said("the first pause of a user begins: its last success before it")
    to_s: float | None = _said("the last one is over; null where one was not at the step's end")
    users: int = _said("users that had a pause")
    users_cut_off: int = _said("those of them that saw no event through until the step's end")
    last_success_s: float | None = _said(
        "the last success of any user before nobody had one; null where some user always had"
    )
    first_success_s: float | None = _said(
        "the first success of any user after that; null where there was none, or always one"
    )
    outage_ms: float | None = _said(
        "between these two, milliseconds: how long nobody was served; null as they are"
    )
    slowest_user: int | None = _said("the user with the longest pause that is over, from 0")
    slowest_ms: float | None = _said("its length, milliseconds")
    median_ms: float | None = _said("the median of the pauses that are over, milliseconds")
    errors: tuple[DrillError, ...] = _said("what was said meanwhile, the most frequent first")
    seconds: tuple[DrillSecond, ...] = _said("the seconds of it, two before and two after")
    seconds_left_out: int = _said("seconds in the middle of a long one that are not listed")


class Timeline(Frozen):
    """The outages of a step, in their order."""

    outages: tuple[DrillOutage, ...] = _said("those in which a user's pause was long enough")
    outages_left_out: int = _said("shorter ones beyond the hundred longest")


class LedgerPlace(Frozen):
    """Entries of one user that are not as they were acknowledged."""

    user: int = _said("from 0")
    what: str = _said("lost, twice, though_refused, altered or untold")
    first: int = _said("the number of the first")
    last: int = _said("of the last; those between them are the same, but for some in doubt")


class LedgerVerdict(Frozen):
    """The generator's ledger beside the server's: what became of each entry that was written."""

    target: str = _said("the server that was asked, without password")
    holds: bool = _said("whether nothing was lost, doubled or altered")
    is_complete: bool = _said(
        "whether the generator told to its end; else what it wrote after its last second is untold"
    )
    users: int = _said("users that wrote")
    acknowledged: int = _said("entries whose COMMIT was answered with success")
    lost: int = _said("those of them that are not there")
    twice: int = _said("rows beyond the first of their entry")
    though_refused: int = _said(
        "entries that are there, and of which every attempt was refused or lost before its COMMIT"
    )
    altered: int = _said("rows whose amount is not that of their entry")
    in_doubt_present: int = _said(
        "entries whose COMMIT was sent and not answered, or with an error that leaves it open, and "
        "that are there"
    )
    in_doubt_absent: int = _said("those that are not there")
    untold_present: int = _said(
        "entries that are there and are younger than the last word of a generator that was killed"
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
        """Rows that are there once too often, whatever the reason."""
        return self.twice + self.though_refused
