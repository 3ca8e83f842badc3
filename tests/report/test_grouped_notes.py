"""Each kind of note once, with the steps and the range of the figures that it is about."""

from __future__ import annotations

from analyse.made import a_step
from loadstone.model.figure import Percent
from loadstone.model.language import in_language
from loadstone.model.message import Joined, Message, counted, plain, say
from loadstone.model.plan import WATCHED
from loadstone.model.result import StepResult
from loadstone.report.grouped_notes import grouped
from loadstone.report.marks import marks
from loadstone.report.notes import notes_of


def busy(users: int, share: float) -> StepResult:
    made = a_step(users=users, step=users)
    cost = made.generator.model_copy(update={"client_bound": True, "cpu_share": share, "shards": 1})
    return made.model_copy(update={"generator": cost})


def test_what_differs_in_figures_only_is_one_line() -> None:
    steps = [busy(users, 0.85 + users / 1000) for users in (1, 2, 4, 8)]
    assert list(notes_of([*steps, a_step(users=16)])) == [
        "4 steps from 1 user to 8 users: client-bound: the generator used 85 % to 86 % of 1 core; "
        "the rate is a floor, not the server's limit"
    ]
    assert list(notes_of(steps))[0].startswith("all 4 steps: client-bound: ")
    assert list(notes_of(steps[:1])) == [
        "1 user: client-bound: the generator used 85 % of 1 core; the rate is a floor, not the "
        "server's limit"
    ]


def test_a_mark_gives_only_the_reasons_that_there_are() -> None:
    stopped, restless = a_step(state="stopped"), a_step(steady=False)
    assert list(marks([a_step()])) == []
    assert list(marks([stopped])) == ["* counts in no mean: it did not finish"]
    assert list(marks([stopped, restless, a_step()])) == [
        "* counts in no mean: it did not finish or never settled"
    ]


def test_a_watch_that_was_ended_has_no_note_and_no_mark() -> None:
    watched = a_step(workload=WATCHED, state="stopped", users=1)
    assert list(notes_of([watched])) == []
    assert list(marks([watched])) == []


def test_few_steps_are_named() -> None:
    lines = list(notes_of([busy(1, 0.9), busy(64, 0.9), a_step(users=8)]))
    assert lines[0].startswith("1 user; 64 users: client-bound: the generator used 90 % of 1 core")


def test_errors_of_several_steps_are_those_of_each() -> None:
    steps = [a_step(users=users, errors={"1213": 1}, restarts=1) for users in (8, 16)]
    assert list(notes_of([*steps, a_step(users=1)])) == [
        "8 users; 16 users, each: errors: 1 × 1213 deadlock; 1 event retried"
    ]


def test_what_differs_in_more_stays_apart() -> None:
    said = [
        (plain("1"), say("failed: {why}", why="gone")),
        (plain("2"), say("failed: {why}", why="denied")),
        (plain("3"), say("another {share}", share=Percent(0.5))),
    ]
    assert list(grouped(said, 3)) == ["1: failed: gone", "2: failed: denied", "3: another 50 %"]


def test_counts_and_lists_within_a_message_are_merged_too() -> None:
    def note(number: int) -> Message:
        events = counted("1 event", "{number} events", number)
        return say("{what}", what=Joined([say("{events} given up", events=events)]))

    (line,) = grouped([(plain("a"), note(1)), (plain("b"), note(30))], 5)
    assert line == "a; b: 1 to 30 events given up"
    assert in_language("zh")(line)
