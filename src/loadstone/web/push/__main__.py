"""The process that `web.push.alongside` starts; its input says what to push, where, and the end."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO

from loadstone.model.control import Remark
from loadstone.model.message import Message
from loadstone.runs import control_requests
from loadstone.web.push.alongside import Task
from loadstone.web.push.following import Push, follow, sender_of
from loadstone.web.sidecar import NICENESS


def main() -> None:
    """Push a run's metrics until it is over."""
    words = open(0, "rb", buffering=0, closefd=False)
    task = Task.model_validate_json(words.readline())
    os.nice(NICENESS)
    line = words.readline().rstrip(b"\n")
    if not line:
        return  # the command ended before it had a run
    run = Path(os.fsdecode(line))

    def tell(what: Message) -> None:
        control_requests.ask(run, Remark(text=what))

    over = Event()
    Thread(target=_hear, args=(words, over), daemon=True).start()
    pushes = [Push(place, sender_of(place, task.token, run), tell) for place in task.places]
    follow(run, pushes, over)


def _hear(words: BinaryIO, over: Event) -> None:
    """Wait until the process that started this one is gone, or says nothing more."""
    while words.readline():
        pass
    over.set()


if __name__ == "__main__":
    main()
