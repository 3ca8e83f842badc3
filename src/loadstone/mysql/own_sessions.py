"""The sessions of this process at servers, which work for no load and no other client."""

from __future__ import annotations

import threading
import weakref
from typing import Any

_lock = threading.Lock()
_opened: weakref.WeakSet[Any] = weakref.WeakSet()


def remember(connection: Any) -> None:
    """Count a connection as our own, for as long as it is open."""
    with _lock:
        _opened.add(connection)


def own_numbers() -> set[int]:
    """Their numbers, as the servers' greetings said them."""
    with _lock:
        opened = list(_opened)
    return {connection.thread_id() for connection in opened if connection.open}
