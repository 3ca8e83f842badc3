"""Outages of a failover drill, from the pauses of its users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from loadstone.model.failover import Timeline
from loadstone.model.records import Counts, GeneratorUse, Pause, Sample, Tally
from loadstone.runs import timeline
from loadstone.runs.timeline import timeline_of

_NOTHING = Tally(due=0, waiting=0, started=0, skipped=0, in_flight=0, succeeded=0, failed=0)


def a_second(at_s: int, pauses: Sequence[Pause] = (), **fields: object) -> Sample:
    events = 0 if fields.pop("is_down", False) else 100
    return Sample.model_validate(
        {
            "phase": "window",
            "from_s": float(at_s),
            "to_s": at_s + 1.0,
            "tally": _NOTHING,
            "counts": Counts(events=events),
            "users": 2,
            "generator": GeneratorUse(cpu_us=1, wall_us=1, late_ns_p99=None, shards=1),
            "pauses": tuple(pauses),
        }
        | fields
    )


def found(samples: Iterable[Sample], users: int = 2) -> Timeline:
    kept = list(samples)
    return timeline_of(lambda: kept, users)


def seconds_with(pauses: Sequence[Pause], length: int = 20) -> list[Sample]:
    return [a_second(at_s, pauses if at_s == length - 1 else ()) for at_s in range(length)]


def test_an_outage_is_from_the_last_success_of_all_to_the_first_of_any() -> None:
    pauses = [Pause(0, 5.0, 7.25), Pause(1, 5.125, 8.0)]
    (outage,) = found(seconds_with(pauses)).outages
    assert (outage.from_s, outage.to_s, outage.users) == (5.0, 8.0, 2)
    assert (outage.last_success_s, outage.first_success_s) == (5.125, 7.25)
    assert outage.outage_ms == 2125.0
    assert (outage.slowest_user, outage.slowest_ms) == (1, 2875.0)
    assert outage.median_ms == 2562.5


def test_there_is_no_outage_of_all_while_somebody_is_served() -> None:
    (outage,) = found(seconds_with([Pause(1, 5.0, 7.0)])).outages
    assert (outage.users, outage.outage_ms, outage.last_success_s) == (1, None, None)
    assert outage.slowest_ms == 2000.0


def test_who_pauses_twice_in_a_row_counts_once() -> None:
    # At 6 s user 0 has a success: two pauses of one user are not one of two users.
    pauses = [Pause(0, 4.0, 6.0), Pause(0, 6.0, 9.0), Pause(1, 5.0, 8.0)]
    (outage,) = found(seconds_with(pauses)).outages
    assert outage.users == 2
    assert (outage.last_success_s, outage.first_success_s) == (6.0, 8.0)


def test_what_lasts_to_the_end_has_no_length() -> None:
    (outage,) = found(seconds_with([Pause(0, 5.0, None), Pause(1, 6.0, None)])).outages
    assert (outage.to_s, outage.users_cut_off, outage.slowest_ms) == (None, 2, None)
    assert (outage.last_success_s, outage.first_success_s, outage.outage_ms) == (6.0, None, None)


def test_pauses_apart_are_outages_of_their_own_in_their_order() -> None:
    pauses = [Pause(0, 14.0, 15.5), Pause(0, 2.0, 3.0)]
    shown = found(seconds_with(pauses)).outages
    assert [(each.from_s, each.slowest_ms) for each in shown] == [(2.0, 1000.0), (14.0, 1500.0)]


def test_seconds_tell_what_was_said_meanwhile_and_two_beside_them_what_is_usual() -> None:
    samples = [a_second(at_s) for at_s in range(12)]
    samples[5] = a_second(5, is_down=True, errors={"2013": 2}, users=0)
    samples[6] = a_second(6, is_down=True, connect_failures={"2003": 7, "2013": 1}, users=0)
    samples[7] = a_second(7, [Pause(0, 5.0, 7.5), Pause(1, 5.0, 7.5)], errors={"4711": 1})
    (outage,) = found(samples).outages
    assert [second.from_s for second in outage.seconds] == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    assert [second.succeeded for second in outage.seconds] == [100, 100, 0, 0, 100, 100, 100]
    assert [each.model_dump() for each in outage.errors] == [
        {
            "family": "mysql",
            "code": "2003",
            "name": "CR_CONN_HOST_ERROR",
            "statements": 0,
            "connects": 7,
        },
        {
            "family": "mysql",
            "code": "2013",
            "name": "CR_SERVER_LOST",
            "statements": 2,
            "connects": 1,
        },
        {"family": "mysql", "code": "4711", "name": None, "statements": 1, "connects": 0},
    ]


def test_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_SECONDS", 4)
    monkeypatch.setattr(timeline, "MOST_OUTAGES", 1)
    told = found(seconds_with([Pause(0, 3.0, 13.0), Pause(0, 17.0, 18.0)]))
    assert told.outages_left_out == 1
    (outage,) = told.outages
    assert outage.slowest_ms == 10_000.0
    assert [second.from_s for second in outage.seconds] == [1.0, 2.0, 13.0, 14.0]
    assert outage.seconds_left_out == 10


def test_a_step_without_trouble_has_no_outage() -> None:
    assert found(seconds_with([])) == Timeline(outages=(), outages_left_out=0)
