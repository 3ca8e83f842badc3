"""How the head combines the records of several generators."""

from __future__ import annotations

import pytest

from cluster.made import Heard, a_sample, an_end, connected
from loadstone.model.cluster import GENERATOR_LOST, OnNodeLoss
from loadstone.model.pgbench import CommandFigures, LoggedEvent
from loadstone.model.records import (
    Connected,
    EngineFailure,
    FirstError,
    GeneratorState,
    Outage,
)


def test_an_interval_is_said_once_all_have_told_of_it() -> None:
    heard = Heard(2)
    heard.begin()
    heard.tell(0, a_sample(0, 10), a_sample(1, 11, so_far=10))
    assert heard.samples == []
    heard.tell(1, a_sample(0, 5))
    (first,) = heard.samples
    assert (first.counts.events, first.tally.succeeded, first.users) == (15, 15, 4)
    heard.tell(1, a_sample(1, 6, so_far=5))
    assert [sample.counts.events for sample in heard.samples] == [15, 17]
    assert heard.samples[1].tally.succeeded == 32
    assert [part.events for part in heard.samples[1].generators] == [11, 6]


def test_users_and_begin_are_of_all_generators() -> None:
    heard = Heard(3)
    heard.begin()
    (said,) = (record for record in heard.said if isinstance(record, Connected))
    assert (said.users, said.server_version) == (6, "8.0")


def test_the_figures_of_commands_are_added_up_and_events_are_all_kept() -> None:
    heard = Heard(2)
    heard.begin()
    events = [LoggedEvent(user, 1, 0, 9, 5, None, 1, "ok") for user in (0, 1)]
    for number, executions in ((0, 3), (1, 4)):
        commands = (
            CommandFigures(0, 1, executions, 10, 1, 0),
            CommandFigures(1, 0, number, number, 0, 2),
        )
        update = {"commands": commands, "event_log": (events[number],)}
        heard.tell(number, a_sample(0, 10).model_copy(update=update))
    (sample,) = heard.samples
    assert sample.commands == (CommandFigures(0, 1, 7, 20, 2, 0), CommandFigures(1, 0, 1, 1, 0, 4))
    assert sample.event_log == tuple(events)


def test_a_record_that_is_told_twice_is_counted_once() -> None:
    heard = Heard(1)
    heard.begin()
    heard.tell(0, a_sample(0, 10))
    assert not heard.again(0, a_sample(0, 10))
    heard.tell(0, a_sample(1, 10, so_far=10), an_end(20))
    assert [sample.counts.events for sample in heard.samples] == [10, 10]
    assert heard.end.tally.succeeded == 20


def test_a_record_out_of_its_row_is_not_taken() -> None:
    heard = Heard(1)
    assert not heard.collector.take(0, 2, connected(), None)
    assert heard.collector.take(0, 1, connected(), None)


def test_the_step_goes_on_without_a_generator_that_is_lost_and_says_so() -> None:
    heard = Heard(2)
    heard.begin()
    heard.tell(0, a_sample(0, 10), a_sample(1, 10, so_far=10))
    heard.tell(1, a_sample(0, 5))
    heard.lose(1, "it did not answer for 2.6 s")
    (lost,) = (record for record in heard.said if isinstance(record, GeneratorState))
    assert (lost.number, lost.users, lost.at_s, lost.state) == (1, 2, 1.0, "lost")
    assert [sample.counts.events for sample in heard.samples] == [15, 10]
    assert heard.samples[1].users == 2
    # What it had reported stays in the sum of all events, and nothing is added to it.
    assert heard.samples[1].tally.succeeded == 25
    heard.tell(0, an_end(20))
    assert (heard.end.reason, heard.end.tally.succeeded) == ("finished", 25)


def test_what_comes_from_a_lost_generator_afterwards_is_not_counted() -> None:
    heard = Heard(2)
    heard.begin()
    heard.tell(0, a_sample(0, 10))
    heard.lose(1)
    assert not heard.collector.take(1, heard.order[1] + 1, a_sample(0, 5), None)
    heard.listen()
    assert [sample.counts.events for sample in heard.samples] == [10]


@pytest.mark.parametrize("policy", ["stop", "repeat"])
def test_by_policy_the_loss_of_a_generator_ends_the_step(policy: OnNodeLoss) -> None:
    heard = Heard(2, policy)
    heard.begin()
    heard.tell(0, a_sample(0, 10))
    heard.lose(1)
    failure = heard.collector.failure
    assert failure and failure.kind == GENERATOR_LOST and "node-1" in failure.message
    heard.tell(0, an_end(10))
    assert (heard.end.reason, heard.end.error) == ("failed", failure)


def test_a_generator_that_is_lost_before_the_load_ends_the_step_whatever_the_policy() -> None:
    heard = Heard(2)
    heard.tell(0, connected())
    heard.lose(1)
    failure = heard.collector.failure
    assert failure and "before the load" in failure.message


def test_a_step_without_any_generator_left_has_failed() -> None:
    heard = Heard(2)
    heard.begin()
    heard.lose(0)
    assert not heard.collector.over
    heard.lose(1)
    assert heard.end.error and heard.end.error.kind == GENERATOR_LOST


def test_one_whose_lease_ran_out_is_lost_and_not_the_step() -> None:
    heard = Heard(2)
    heard.begin()
    abandoned = EngineFailure(kind="abandoned", message="no sign of life for 4 s")
    heard.tell(0, a_sample(0, 10), an_end(10, abandoned))
    assert heard.collector.failure is None
    heard.tell(1, a_sample(0, 5), an_end(5))
    assert (heard.end.reason, heard.end.tally.succeeded) == ("finished", 15)


def test_a_failure_of_one_part_is_the_steps() -> None:
    heard = Heard(2)
    refused = EngineFailure(
        kind="login_refused", family="mysql", code="1045", message="Access denied"
    )
    heard.tell(0, an_end(0, refused))
    assert heard.collector.failure == refused
    heard.tell(1, an_end(0))
    assert heard.end.error == refused


def test_the_drain_comes_last_also_where_a_stop_cut_parts_at_different_seconds() -> None:
    heard = Heard(2)
    heard.begin()
    heard.tell(0, a_sample(0, 10), a_sample(1, 3, "drain", so_far=10), an_end(13))
    heard.tell(1, a_sample(0, 5), a_sample(1, 5, so_far=5), a_sample(2, 1, "drain", so_far=10))
    heard.tell(1, an_end(11))
    said = [(sample.phase, sample.counts.events) for sample in heard.samples]
    assert said == [("window", 15), ("window", 5), ("drain", 4)]
    assert heard.end.tally.succeeded == 24


def test_an_error_number_is_explained_once() -> None:
    heard = Heard(2)
    heard.begin()
    for number in range(2):
        heard.tell(number, FirstError(code="1213", message="Deadlock found"))
    assert sum(isinstance(record, FirstError) for record in heard.said) == 1


def test_outages_that_the_end_cut_off_are_one_of_all_users() -> None:
    heard = Heard(2)
    heard.begin()
    for number in range(2):
        cut_off = Outage(from_s=3.0 + number, to_s=None, users=2, reason="2013 lost")
        heard.tell(number, cut_off, an_end(0))
    (outage,) = (record for record in heard.said if isinstance(record, Outage))
    assert (outage.from_s, outage.users) == (3.0, 4)
