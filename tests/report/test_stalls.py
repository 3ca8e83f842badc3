"""What a load waits for, in a line."""

from __future__ import annotations

from loadstone.model.records import LoadStalled, LockHolder
from loadstone.report.stalls import stalled_line

STALLED = LoadStalled(
    seconds=9, connection=17, statement="COMMIT", silent_s=5.2, waits_for="a lock on t"
)


def test_a_line_names_statement_wait_and_holder() -> None:
    assert stalled_line(STALLED) == (
        "loading: no progress for 5 s on connection 17 (COMMIT): it waits for a lock on t"
    )
    holder = LockHolder(connection=23, user="app@h", seconds=40, statement="SELECT 1")
    update = {"holder": holder, "others": 3, "deed": "ended"}
    assert stalled_line(STALLED.model_copy(update=update)).endswith(
        ", held by connection 23 (app@h) for 40 s, which runs: SELECT 1; 3 more connections are "
        "silent; the statement is ended and retried in another way"
    )


def test_words_of_a_server_do_not_drive_the_terminal() -> None:
    line = stalled_line(STALLED.model_copy(update={"waits_for": "\x1b[2Jx\n"}))
    assert line.isprintable()
