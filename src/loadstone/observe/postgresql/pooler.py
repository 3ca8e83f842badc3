"""PgBouncer's clients and connections, and how long clients wait, where it tells this user.

Its console is the database `pgbouncer`, for the users in its `stats_users` and `admin_users`.

Source: https://www.pgbouncer.org/usage.html#admin-console
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pg8000

from loadstone.model.target import Endpoint
from loadstone.postgresql.administration import Administration
from loadstone.postgresql.connect import connect_to_console
from loadstone.servers.connection import Timeouts
from loadstone.servers.errors import TargetError

_CONSOLE = "pgbouncer"
_TIMEOUTS = Timeouts(connect_s=3, statement_s=5)
_US = 1e-6
_PREFIX = "pgbouncer."
_IDLE = "sv_idle"
_COUNTS = ("cl_active", "cl_waiting", "sv_active", _IDLE, "sv_used", "sv_tested", "sv_login")
"""Clients with a connection and without; connections by what they do (`sv_used`: to be checked)."""


@dataclass
class Pooler:
    """Asks the console of the pooler at an endpoint; one that has refused is not asked again."""

    endpoint: Endpoint
    _console: Administration | None = None
    _refuses: bool = False

    def waited_s(self) -> float | None:
        """Seconds that clients of the load's database have waited for a connection so far.

        A wait counts when it ends. `None`: nobody counts it, or this user may not know.
        """
        waits = [row.get("total_wait_time") for row in self._ours("SHOW STATS")]
        known = [float(str(wait)) for wait in waits if wait is not None]
        return sum(known) * _US if known else None

    def pools(self) -> dict[str, float]:
        """Gauges of the pools of the load's database; empty if this user may not know."""
        return gauges_of(self._ours("SHOW POOLS"), self.endpoint.target.user)

    def _ours(self, command: str) -> list[Mapping[str, object]]:
        """The rows of an answer that are about the load's database; none if it refuses."""
        if self._refuses:
            return []
        try:
            self._console = self._console or connect_to_console(self.endpoint, _TIMEOUTS, _CONSOLE)
            found = _rows(self._console, command)
        except (TargetError, pg8000.Error, OSError):
            self.close()
            self._refuses = True
            return []
        ours = self.endpoint.target.database
        return [row for row in found if row.get("database") == ours]

    def close(self) -> None:
        """Say goodbye."""
        console, self._console = self._console, None
        if console:
            with contextlib.suppress(pg8000.Error, OSError):
                console.close()


def gauges_of(pools: Sequence[Mapping[str, object]], user: str | None) -> dict[str, float]:
    """Gauges of these rows of SHOW POOLS together; none without any.

    Of idle connections only those of the load's user count, or for which clients wait: a pool does
    not lend them to another. `maxwait_s` is how long the client has waited that waits for the
    longest.
    """
    if not pools:
        return {}
    counts = {f"{_PREFIX}{name}": sum(_number(pool, name) for pool in pools) for name in _COUNTS}
    wanted = [pool for pool in pools if pool.get("user") == user or _number(pool, "cl_waiting")]
    counts[f"{_PREFIX}{_IDLE}"] = sum(_number(pool, _IDLE) for pool in wanted)
    waits = (_number(pool, "maxwait") + _US * _number(pool, "maxwait_us") for pool in pools)
    return {**counts, f"{_PREFIX}maxwait_s": max(waits)}


def _number(pool: Mapping[str, object], name: str) -> float:
    return float(str(pool.get(name) or 0))


def _rows(console: Administration, command: str) -> list[Mapping[str, object]]:
    answer = console.run(command)
    names = [column["name"] for column in answer.columns or ()]
    return [dict(zip(names, row, strict=True)) for row in answer.rows or ()]
