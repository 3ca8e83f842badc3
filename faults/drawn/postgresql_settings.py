"""PostgreSQL's own list of its settings, a bad value for one of them, and how it is set.

`pg_settings` has each setting's type, unit, limits and choices, and its category, by which those
are left out that are no settings of performance.

Source: https://www.postgresql.org/docs/current/view-pg-settings.html
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from benches.processes import ProgramFailed
from faults.case import Draw
from faults.drawn.variables import Variable, draw_value
from loadstone.servers.connection import Cursor

_LIST = (
    "SELECT name, setting, vartype, min_val, max_val, array_to_string(enumvals, ','),"
    " coalesce(unit, ''), category, context, source FROM pg_settings ORDER BY name"
)

_OTHER_CATEGORIES = re.compile(
    # Who may do what, from where, and whose words are which.
    r"^Connections and Authentication|^Client Connection Defaults|^File Locations"
    r"|^Version and Platform|^Customized|^Preset"
    # What is for developers, or for a server that is broken, and may break one.
    r"|^Developer|^Error Handling|Recovery|Archiving"
    # What nobody here is: a standby, a subscriber.
    r"|^Replication / (Standby|Subscribers|Primary)"
    # Where the log is, and a limit that ends statements.
    r"|Where to Log|^Resource Usage / Disk"
)
"""Categories whose settings are never drawn."""

_KEPT_OUT = frozenset({"fsync", "full_page_writes", "synchronous_commit", "max_stack_depth"})
"""In categories with others that are drawn: what would lose data, and what would end statements."""

_AT_START = ("postmaster", "backend", "superuser-backend")
"""Contexts of what a running server, or session, keeps as it is."""

_BYTES = {"B": 1, "kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20, "GB": 1 << 30}

_LARGEST = 64
_LARGEST_SLOTS = 8
"""Times the value it has; what a start reserves memory for is kept smaller."""

_FROM_ZERO = 100_000
"""The largest value of what is off or zero, which has no multiples."""

_MOST_BYTES = 1 << 30
_SMALLEST = 4096
_LEAST_ITSELF = 0.3
"""The chance of the limit itself rather than a value between."""

_RELOADED_S = 30.0
_POLL_S = 0.01


def listed(cursor: Cursor) -> tuple[Variable, ...]:
    """Those that may be drawn, by name."""
    cursor.execute(_LIST)
    return settings_of(cursor.fetchall())


class Row(NamedTuple):
    """One of `_LIST`."""

    name: str
    value: str
    vartype: str
    least: str | None
    most: str | None
    choices: str | None
    unit: str
    category: str
    context: str
    source: str

    @property
    def may_be_drawn(self) -> bool:
        """Whether it is a setting of performance, which somebody can set."""
        is_other = _OTHER_CATEGORIES.search(self.category) is not None
        return not (is_other or self.context == "internal" or self.name in _KEPT_OUT)

    @property
    def at_start(self) -> bool:
        """Whether a running server keeps it: what is on the command line wins over a file."""
        return self.context in _AT_START or self.source == "command line"

    @property
    def highest(self) -> float:
        """What it may be at most, within what this machine has room for."""
        most = float(self.most or 0)
        if self.unit in _BYTES:
            return min(most, _MOST_BYTES / _BYTES[self.unit])
        if self.context == "postmaster" and not self.unit:
            return min(most, max(_LARGEST_SLOTS * float(self.value), 1))
        return most


def settings_of(rows: Iterable[Sequence[Any]]) -> tuple[Variable, ...]:
    """Those of these rows that may be drawn."""
    found = [_setting(row) for row in map(Row._make, rows) if row.may_be_drawn]
    return tuple(one for one in found if one is not None)


def _setting(row: Row) -> Variable | None:
    """`None`: a text, of which nothing says what it may be."""
    name, value, at_start = row.name, row.value, row.at_start
    if row.vartype == "bool":
        other = "off" if value == "on" else "on"
        return Variable(name, value, "switch", choices=(other,), at_start=at_start)
    if row.vartype == "enum":
        others = tuple(one for one in str(row.choices).split(",") if one != value)
        return Variable(name, value, "choice", choices=others, at_start=at_start)
    if row.vartype not in ("integer", "real"):
        return None
    least, is_whole = float(row.least or 0), row.vartype == "integer"
    limits = (least, row.highest)
    return Variable(name, value, "number", *limits, at_start=at_start, is_whole=is_whole)


def draw_setting(draw: Draw, setting: Variable) -> str | None:
    """Another value; `None`: there is none on the side that was drawn."""
    if setting.kind != "number":
        return draw_value(draw, setting)
    smaller = draw.chance.random() < 0.5
    value = _smaller(draw, setting) if smaller else _larger(draw, setting)
    if value is None:
        return None
    text = f"{value:.0f}" if setting.is_whole else f"{value:g}"
    return None if float(text) == float(setting.value) else text


def _smaller(draw: Draw, setting: Variable) -> float | None:
    """Half of the value or less, or the least, which may be -1: off, or left to the server."""
    now, least = float(setting.value), setting.least or 0.0
    if least >= now:
        return None
    nearest, farthest = now / 2, max(least, now / _SMALLEST)
    if draw.chance.random() < _LEAST_ITSELF or farthest >= nearest:
        return least
    return max(draw.size(farthest, nearest), least)


def _larger(draw: Draw, setting: Variable) -> float | None:
    """Twice the value or more; of what is off (-1) also zero, which for many is: always."""
    now, most = float(setting.value), setting.most or 0.0
    if now < 0 <= most and draw.chance.random() < _LEAST_ITSELF:
        return 0.0
    farthest = min(most, _LARGEST * now if now > 0 else _FROM_ZERO)
    from_zero = 1.0 if setting.is_whole else farthest / _SMALLEST
    nearest = 2 * now if now > 0 else from_zero
    if farthest <= nearest:
        # Less than twice as much is all that it takes.
        return most if most > now else None
    return min(draw.size(nearest, farthest), farthest)


def values(cursor: Cursor) -> dict[str, str]:
    """All settings of this session, which has read the server's files again if they changed."""
    cursor.execute("SELECT name, setting FROM pg_settings WHERE context <> 'internal'")
    return {str(name): str(value) for name, value in cursor.fetchall()}


def set_one(cursor: Cursor, name: str, value: str) -> None:
    """By ALTER SYSTEM and a reload: for all sessions.

    Raises:
        pg8000.Error: the server refuses it.
        ProgramFailed: it does not read its files again.
    """
    cursor.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    _reload(cursor)


def put_back(cursor: Cursor, before: Mapping[str, str]) -> None:
    """Nothing else was set by ALTER SYSTEM on a server of the bench; raises as `set_one`."""
    cursor.execute("ALTER SYSTEM RESET ALL")
    _reload(cursor)


def _reload(cursor: Cursor) -> None:
    """Until this session has read the files again, and so has the server that starts sessions."""
    loaded, until = _loaded(cursor), time.monotonic() + _RELOADED_S
    cursor.execute("SELECT pg_reload_conf()")
    while _loaded(cursor) == loaded:
        if time.monotonic() > until:
            raise ProgramFailed("the server did not read its settings again")
        time.sleep(_POLL_S)


def _loaded(cursor: Cursor) -> Any:
    cursor.execute("SELECT pg_conf_load_time()::text")
    return cursor.fetchall()
