"""The trials that rules declare: what is changed, from which value to which.

A trial only names values that differ from the run's, and variables that its server has. If no such
change is left, there is no trial.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from loadstone.analyse.known_settings import keeps_commits
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import is_shared
from loadstone.model.finding import Setting, Trial
from loadstone.model.message import Message, say

SETTLES_S = 1.0
"""[P] Time to open connections and fill the caches of statements."""

REFILLS_S = 4.0
"""[P] Time until a resized buffer pool is in use, or flushing has its new pace."""

RESIZES_S = 6.0
"""[P] Time to resize a redo log: MariaDB 10.11 took 2.5 s, and as long to restore it."""

WARMS_S = 5.0
"""[P] Time until a pool that a whole run filled is filled again with what the load uses."""

RELAXED = say(
    "a crash of the host loses up to a second of commits, and the binary log may lack some"
)
"""What innodb_flush_log_at_trx_commit=2 and sync_binlog=0 cost (both manuals)."""

_SWITCHES = {"ON": "1", "OFF": "0", "TRUE": "1", "FALSE": "0", "YES": "1", "NO": "0"}


def dynamic(
    case: Case,
    settings: Mapping[str, str],
    subject: Message,
    *,
    costs: Message | None = None,
    settles_s: float = SETTLES_S,
) -> Trial | None:
    """A trial with variables that are set while the server runs, in this order."""
    changes = _changes(case, settings)
    if not changes:
        return None
    return Trial(
        kind="dynamic",
        settings=changes,
        subject=subject,
        costs=costs,
        settles_s=settles_s,
        risks_commits=any(keeps_commits(change.name, case.family) for change in changes),
        family=case.family,
    )


def at_start(case: Case, settings: Mapping[str, str], subject: Message) -> Trial | None:
    """A trial with variables that are set when the server starts."""
    changes = _changes(case, settings)
    if not changes:
        return None
    return Trial(kind="start", settings=changes, subject=subject, family=case.family)


def warm() -> Trial:
    """A trial that repeats the load: by now the buffer pool contains what it reads."""
    setting = Setting(name="buffer_pool", before="cold", value="warm")
    subject = say("the cold buffer pool")
    return Trial(kind="again", settings=(setting,), subject=subject, settles_s=WARMS_S)


def pool_plugin(groups: int) -> Trial:
    """MySQL's thread pool, a plugin: its variables only exist once it is loaded."""
    settings = (
        Setting(name="plugin_load_add", before=None, value="thread_pool.so"),
        Setting(name="loose_thread_pool_size", before=None, value=str(groups)),
    )
    return Trial(kind="start", settings=settings, subject=say("a thread for each connection"))


def client(
    name: str, value: str, before: str | None, subject: Message, *, refutes: bool = True
) -> Trial:
    """A trial with an option of the load.

    Without `refutes` the cause stands even if the option has no effect.
    """
    setting = Setting(name=name, before=before, value=value)
    return Trial(kind="client", settings=(setting,), subject=subject, refutes=refutes)


def more_users(case: Case, times: int) -> Trial:
    """A trial with `times` as many users."""
    setting = Setting(name="concurrency", before=str(case.users), value=str(times * case.users))
    return Trial(kind="users", settings=(setting,), subject=say("having so few users"))


def cheaper_way(case: Case) -> Trial | None:
    """A way to the server that takes less CPU: no text to parse, or no network in between."""
    if case.drive.get("protocol") == "text":
        return client("prepared", "on", "off", say("the text protocol"), refutes=False)
    return by_socket(case, say("TCP"))


def by_socket(case: Case, subject: Message) -> Trial | None:
    """The unix socket, if server and generator share a host and do not use it already."""
    if not case.is_by_tcp or not is_shared(case):
        return None
    return client("connect", "socket", "tcp", subject, refutes=False)


def free_memory(case: Case) -> float | None:
    """Bytes that a trial may count on: the host's free ones, within the server's group's limit.

    What the group's files have in the kernel's cache is given up for it. `None`: not observed, or
    it is not known how much of the group's memory is left.
    """
    free, limit = case.host("memory_available_bytes"), case.host_mean("cgroup.memory_limit_bytes")
    if free is None or limit is None:
        return free
    used = case.host_mean("process.rss_bytes")
    if used is None:
        return free if limit > free else None
    return min(free, max(limit - used, 0.0))


def mysql_release(version: str) -> tuple[int, ...]:
    """The three numbers of a version of MySQL or Percona Server; empty for MariaDB."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None or "mariadb" in version.lower():
        return ()
    return tuple(int(part) for part in found.groups())


def postgresql_major(version: str | None) -> int:
    """The major version of PostgreSQL, from `server_version`; 0: not known."""
    found = re.match(r"\d+", version or "")
    return int(found[0]) if found else 0


def _changes(case: Case, settings: Mapping[str, str]) -> tuple[Setting, ...]:
    """The changes to variables that the server has with another value."""
    found = []
    for name, value in settings.items():
        if case.variables is None:
            found.append(Setting(name=name, before=None, value=value))
            continue
        before = case.variables.get(name)
        if before is not None and not same(before, value):
            found.append(Setting(name=name, before=before, value=value))
    return tuple(found)


def same(one: str, other: str) -> bool:
    """Whether both mean the same to the server: `1` and `ON`, `10` and `10.000000`."""
    first, second = (_SWITCHES.get(text.upper(), text.upper()) for text in (one, other))
    try:
        return float(first) == float(second)
    except ValueError:
        return first == second
