"""The rules of the review for PostgreSQL: what makes figures unfair, slow or odd.

Source: https://www.postgresql.org/docs/current/runtime-config.html
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from loadstone.analyse.advice import Advice, Rule, Server
from loadstone.analyse.meaning import Meaning
from loadstone.model.figure import Bytes
from loadstone.model.managed import managed_by
from loadstone.model.message import Message, say, say_in

MIB, GIB = 1024**2, 1024**3
SMALL_WAL = 4 * GIB
LITTLE_MEMORY, MUCH_MEMORY, USUAL_MEMORY = 0.15, 0.6, 0.25
"""Shares of the memory for shared_buffers: the manual starts with a quarter, the rest caches files.
"""

_SMALL_BUFFERS = "shared-buffers-small"
_STATEMENT_LOG = "statement-log"
"""The cause by which the diagnosis names what small shared_buffers cost."""

_UNITS = {"B": 1, "kB": 1024, "MB": MIB, "GB": GIB, "TB": 1024 * GIB}

MEANINGS: Mapping[str, Meaning] = {
    "fsync": Meaning(
        "unfair",
        say("off saves each wait for the disk"),
        say("off may leave a database that cannot be read after a crash of the host"),
    ),
    "synchronous_commit": Meaning(
        "unfair",
        say("off and local save waits for the log or the standbys at each commit"),
        say("off may lose the latest commits in a crash; local may lose them in a failover"),
    ),
    "full_page_writes": Meaning(
        "unfair",
        say("off writes less to the log after each checkpoint"),
        say("off may leave torn pages after a crash of the host"),
    ),
}
"""What the settings mean that decide whether commits last."""

_SAFE_COMMITS = ("on", "remote_apply", "remote_write")


def not_judged(variables: Mapping[str, str]) -> Collection[str]:
    """The settings of this server that say nothing, as a managed service's storage decides instead.

    Aurora, whose settings are those of Amazon RDS, stores no pages that could be torn.
    """
    return ("full_page_writes",) if managed_by(variables) == "rds" else ()


def losing(variables: Mapping[str, str]) -> list[str]:
    """Those of the current settings with which a crash may lose commits.

    Settings in whose place a managed service's storage decides are left out.
    """
    left_out = not_judged(variables)
    return [f"{name}={value}" for name, value in _wrong(variables) if name not in left_out]


def _wrong(variables: Mapping[str, str]) -> list[tuple[str, str]]:
    """The settings, with their values, with which a server that keeps its own files may lose."""
    alone = ("local",) if variables.get("synchronous_standby_names") == "" else ()
    good = {
        "fsync": ("on",),
        "full_page_writes": ("on",),
        "synchronous_commit": _SAFE_COMMITS + alone,
    }
    return [
        (name, variables[name])
        for name, values in good.items()
        if name in variables and variables[name] not in values
    ]


def size_of(text: str | None) -> int | None:
    """The bytes of a value such as `128MB`, as the server writes it; `None`: it is no size."""
    found = re.fullmatch(r"(\d+)\s*(B|kB|MB|GB|TB)", text or "")
    return int(found[1]) * _UNITS[found[2]] if found else None


def _durability(server: Server) -> Iterator[Advice]:
    for name, value in _wrong(server.variables):
        meaning = MEANINGS[name]
        why = _both(meaning.durability or meaning.performance, meaning.performance)
        yield Advice("unfair", name, value, why, "on")


def _both(first: Message, second: Message) -> Message:
    return say_in("joined", "{first}; {second}", first=first, second=second)


def _memory(server: Server) -> Iterator[Advice]:
    name, text = "shared_buffers", server.text("shared_buffers") or ""
    size, memory = size_of(text), server.machine.memory_bytes
    if size is None:
        return
    if memory is None:
        if size <= 128 * MIB:
            why = say("the default, made for a small machine")
            yield Advice("slow", name, text, why, cause=_SMALL_BUFFERS)
        return
    if LITTLE_MEMORY * memory <= size <= MUCH_MEMORY * memory:
        return
    why = say(
        "the machine has {memory}, and a quarter of it is where to start", memory=Bytes(memory)
    )
    wanted = f"{round(USUAL_MEMORY * memory / MIB)}MB"
    cause = _SMALL_BUFFERS if size < LITTLE_MEMORY * memory else None
    yield Advice("slow", name, text, why, wanted, restart=True, cause=cause)


def _checkpoints(server: Server) -> Iterator[Advice]:
    text = server.text("max_wal_size")
    size = size_of(text)
    if size is not None and size < SMALL_WAL:
        why = say(
            "so much log between two checkpoints: with more writes they come early, and each makes"
            " pages go to the log as a whole once more"
        )
        cause = "max-wal-size-small"
        yield Advice("slow", "max_wal_size", text or "", why, "16GB", cause=cause)


def _housekeeping(server: Server) -> Iterator[Advice]:
    if server.is_on("autovacuum") is False:
        why = say("old row versions stay: tables and indexes grow while a load writes")
        yield Advice("slow", "autovacuum", "off", why, "on")
    if server.is_on("debug_assertions"):
        why = say("a build for developers, which checks itself all the time")
        yield Advice("unfair", "debug_assertions", "on", why)


def _logging(server: Server) -> Iterator[Advice]:
    why = say("each statement is written to the server's log")
    if (statements := server.text("log_statement")) in ("all", "mod"):
        cause = _STATEMENT_LOG if statements == "all" else None
        yield Advice("slow", "log_statement", statements or "", why, "none", cause=cause)
    if server.text("log_min_duration_statement") == "0":
        name = "log_min_duration_statement"
        yield Advice("slow", name, "0", why, "-1", cause=_STATEMENT_LOG)


def _costs(server: Server) -> Iterator[Advice]:
    if server.machine.rotational is False and server.text("random_page_cost") == "4":
        why = say("the default is for a rotating disk: indexes look dearer than they are")
        yield Advice("note", "random_page_cost", "4", why, "1.1")


def _standbys(server: Server) -> Iterator[Advice]:
    if names := server.text("synchronous_standby_names"):
        why = say("each commit waits for standbys: compare only with servers that do so, too")
        yield Advice("note", "synchronous_standby_names", names, why)


RULES: Sequence[Rule] = (
    _durability,
    _memory,
    _checkpoints,
    _housekeeping,
    _logging,
    _costs,
    _standbys,
)
"""All rules."""
