"""Which server answers, by what it said of itself before and says now."""

from __future__ import annotations

import pytest

from loadstone.servers.identity import Answer, Identity, compared

MYSQL = Identity(server_uuid="u-1", datadir="/d", hostname="h", started_s=100, seen_s=200)
MARIADB = Identity(datadir="/d", hostname="h", server_id="1", started_s=100, seen_s=200)


@pytest.mark.parametrize(
    ("before", "now", "answer"),
    [
        (MYSQL, {}, "same"),
        (MYSQL, {"hostname": "renamed"}, "same"),
        (MYSQL, {"server_uuid": "u-2"}, "other"),
        (MYSQL, {"started_s": 300}, "restarted"),
        (MYSQL, {"started_s": 200}, "restarted"),
        # A copy of its data folder, with the same uuid, which ran at the same time.
        (MYSQL, {"started_s": 150}, "other"),
        (MARIADB, {}, "same"),
        (MARIADB, {"datadir": "/e"}, "other"),
        (MARIADB, {"hostname": "i"}, "other"),
        (MARIADB, {"server_id": "2"}, "other"),
        (MARIADB, {"started_s": 99}, "other"),
        (MARIADB, {"started_s": 300}, "restarted"),
        (MARIADB, {"server_uuid": "u-1"}, "other"),
        # Journals of before, and servers too far away, tell no times.
        (MARIADB, {"started_s": None}, "same"),
    ],
)
def test_a_server_is_known_by_what_it_says(
    before: Identity, now: dict[str, object], answer: Answer
) -> None:
    assert compared(before, before.model_copy(update=now)) == answer


def test_what_was_set_itself_tells_nothing() -> None:
    now = MARIADB.model_copy(update={"server_id": "7"})
    assert compared(MARIADB, now, {"server_id"}) == "same"
