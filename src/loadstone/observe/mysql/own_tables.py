"""Counts the temporary tables that our own questions make, to tell them from the load's.

MariaDB makes one for each question to its information_schema, often on disk. The same question
makes the same number each time, so it is read from the session's status the first time it is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from loadstone.observe.sessions import OWN
from loadstone.servers.connection import Connection

T = TypeVar("T")

COUNTED = ("created_tmp_tables", "created_tmp_disk_tables")

_OF_STATUS = "created_tmp_tables"
"""SHOW STATUS makes one of these, in memory."""

_ROWS = ", ".join(f"'{name}'" for name in COUNTED)
_STATUS = f"SHOW SESSION STATUS WHERE Variable_name IN ({_ROWS})"

Numbers = dict[str, float]


@dataclass
class OwnTables:
    """The temporary tables of one observer's questions, over all its connections."""

    made: Numbers = field(default_factory=lambda: {f"{OWN}{name}": 0.0 for name in COUNTED})
    """All so far."""
    _of_each: dict[str, Numbers] = field(default_factory=dict)

    def asking(self, connection: Connection, question: str, ask: Callable[[], T]) -> T:
        """Ask, and count what that makes; `question` names what is asked."""
        if question not in self._of_each:
            before = _status(connection)
            answer = ask()
            after = _status(connection)
            self._of_each[question] = {
                name: max(after[name] - before[name], 0.0) for name in COUNTED
            }
            self.asked_status(times=2)
        else:
            answer = ask()
        self._add(self._of_each[question])
        return answer

    def asked_status(self, times: int = 1) -> None:
        """Count what SHOW STATUS makes: the server leaves that out of the session's own status."""
        self._add({_OF_STATUS: float(times)})

    def _add(self, numbers: Numbers) -> None:
        for name, number in numbers.items():
            self.made[f"{OWN}{name}"] += number


def _status(connection: Connection) -> Numbers:
    """The session's counters; zero for those that the server does not have."""
    found = dict.fromkeys(COUNTED, 0.0)
    with connection.cursor() as cursor:
        cursor.execute(_STATUS)
        for row in cursor.fetchall():
            # What only speaks the protocol may answer with anything.
            with contextlib.suppress(ValueError, IndexError):
                found[str(row[0]).lower()] = float(str(row[1]))
    return found
