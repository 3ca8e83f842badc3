"""What a process waits for that waits for events, when its list is read a moment later."""

from __future__ import annotations

from loadstone.observe.polls import Polls
from loadstone.observe.threads import Doing

PROCESS, CLIENT, LATCH = 7, Doing("polling", address=1), Doing("polling", address=2)


def test_a_set_is_the_client_s_once_a_session_was_surely_idle_with_it() -> None:
    polls = Polls()
    assert polls.seat(PROCESS, CLIENT, "works", is_settled=False) is None
    seat = polls.seat(PROCESS, CLIENT, "waits for the client", is_settled=True)
    assert seat == "client"
    # It works by now, but waited for its client when it was looked at.
    assert polls.seat(PROCESS, CLIENT, "works", is_settled=False) == "client"
    assert polls.seat(PROCESS, CLIENT, "row lock", is_settled=False) == "client"
    assert polls.seat(PROCESS, CLIENT, "sends", is_settled=True) == "sending"


def test_a_wait_that_is_over_has_the_name_of_others_at_its_set() -> None:
    polls = Polls()
    polls.seat(PROCESS, CLIENT, "waits for the client", is_settled=True)
    assert polls.seat(PROCESS, LATCH, "row lock", is_settled=True) == "row lock"
    assert polls.seat(PROCESS, LATCH, "works", is_settled=False) == "row lock"
    assert polls.seat(PROCESS, LATCH, "waits for the client", is_settled=False) == "row lock"


def test_a_set_is_taken_for_the_client_s_until_more_is_known() -> None:
    polls = Polls()
    assert polls.seat(PROCESS, CLIENT, "waits for the client", is_settled=False) == "client"
    assert polls.seat(PROCESS, CLIENT, "works", is_settled=False) == "client"
