"""A user is notified of an administrative statement that the server does not answer."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import pytest

from loadstone.lab.tables import waiting
from loadstone.lab.tables.waiting import Waits
from loadstone.model.records import LoadProgress, LoadStalled
from loadstone.model.target import Endpoint, Target
from loadstone.mysql import family


class Told:
    def __init__(self) -> None:
        self.stalled: list[LoadStalled] = []

    def on_progress(self, progress: LoadProgress) -> None:
        pass

    def on_stalled(self, stalled: LoadStalled) -> None:
        self.stalled.append(stalled)


class Silent:
    """A connection whose statement is not answered."""

    asked: tuple[float, str] | None = None
    is_passed_on = False

    def thread_id(self) -> int:
        return 7


def test_what_is_not_answered_is_told_once_and_what_is_answered_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection, told = Silent(), Told()
    opened: Any = nullcontext(connection)
    monkeypatch.setattr(waiting, "connect", lambda *arguments, **more: opened)
    monkeypatch.setattr(family, "bound_lock_waits", lambda connection: None)
    monkeypatch.setattr(waiting, "_LOOK_S", 0.01)
    with Waits(told, say_after_s=0.1) as waits, waits.connected(Endpoint(target=Target())):
        time.sleep(0.2)
        assert told.stalled == []
        connection.asked = (time.monotonic(), "CREATE TABLE\n t")
        deadline = time.monotonic() + 60
        while not told.stalled:
            assert time.monotonic() < deadline, "nothing was reported"
            time.sleep(0.01)
        time.sleep(0.3)
    (stalled,) = told.stalled
    assert (stalled.connection, stalled.statement) == (7, "CREATE TABLE t")
    assert stalled.silent_s >= 0.1
