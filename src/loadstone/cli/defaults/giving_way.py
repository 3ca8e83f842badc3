"""Defaults that do not fit a command line: what is typed excludes them, or they need more.

A command line with `--phases` must not fail because the file has `duration`. The limits that
protect a server (`abort_if`, `max_load`) never give way: what they do not fit is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from loadstone.cli.defaults.settable import Path, key_of

_A_SERVER = ("target", "host", "port", "socket", "user", "database", "defaults_file")
"""Any of these names a server (`Connection.given`)."""

_EITHER_OR: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("target",), ("host", "port", "socket")),
    (("host",), ("target", "socket")),
    (("port",), ("socket",)),
    (("socket",), ("target", "host", "port")),
    (_A_SERVER, ("server", "set")),
    (("server", "set"), _A_SERVER),
    (("phases",), ("duration", "warmup", "rate", "concurrency", "slo")),
    (("duration", "warmup"), ("phases",)),
    (("rate",), ("slo", "phases", "think_time")),
    (("slo",), ("rate", "phases", "repeats", "think_time")),
    (("concurrency",), ("phases",)),
    (("think_time",), ("rate", "slo")),
    (("cluster",), ("prove",)),
    (("prove",), ("cluster", "phases")),
    (("foreign_keys",), ("partition",)),
    (("partition",), ("foreign_keys",)),
    (("no_observe",), ("host_ssh", "node_exporter", "prometheus", "mysqld_exporter", "prove")),
    (("protocol",), ("prepared", "text")),
    (("prepared",), ("protocol",)),
    (("open",), ("markdown", "csv", "json")),
)
"""If one of the first options is typed, the others' defaults do not hold."""


@dataclass(frozen=True)
class _Need:
    """Options that only work together with another one."""

    options: tuple[str, ...]
    any_of: tuple[str, ...]
    """A command without the first of these has the options in another sense."""
    command: Path = ()
    """The only command where that is so; empty: all."""


_NEEDS = (
    _Need(("prove_time", "prove_only"), ("prove",)),
    _Need(("abort_if", "max_load", "replica", "defaults_file"), ("prove",), ("diagnose",)),
    _Need(("generators", "cpus_per_generator", "on_node_loss"), ("cluster",)),
    _Need(("arrivals", "max_backlog"), ("rate", "slo", "phases")),
    _Need(("junit",), ("threshold", "fail_on")),
    _Need(("semi_sync",), ("replica",)),
    _Need(("log_records",), ("log",)),
    _Need(
        (
            *("tls_ca", "tls_cert", "tls_key", "tls_fingerprint", "tls_version"),
            "server_public_key",
        ),
        _A_SERVER,
    ),
)

_OF_MYSQL = (
    *("compression", "defaults_file", "method", "mysqld_exporter", "no_binlog"),
    *("server_public_key", "storage_engine"),
)
"""Options that PostgreSQL's servers do not have."""

_SIZES_OF_TABLES = ("tables", "table_size")
_SIZES_OF_TPCC = ("warehouses", "foreign_keys", "partition")
_DRAWING = ("oltp_", "select_random_")
"""How the names of the workloads begin that draw keys by `distribution`; the engine, which knows
their tables, takes a while to load."""


@dataclass(frozen=True)
class Typed:
    """What the command line has."""

    command: Path
    has: Collection[str]
    """The keys of all options that the command has."""
    options: Mapping[str, Any]
    """The typed options by key, with their values before they are parsed."""
    words: Sequence[str]
    """The arguments that are not options: the workloads of `run` and `prepare`."""


def unfit(typed: Typed, defaults: Collection[str]) -> set[str]:
    """The keys of those defaults that do not hold for this command line."""
    gone = set(_excluded(typed)) & set(defaults)
    if typed.command in (("run",), ("prepare",)):
        gone |= set(_of_other_workloads(typed.words)) & set(defaults)
    in_effect = {*typed.options, *defaults} - gone
    for need in _NEEDS:
        concerned = need.command in ((), typed.command) and need.any_of[0] in typed.has
        if concerned and in_effect.isdisjoint(need.any_of):
            gone |= set(need.options) & set(defaults)
    return gone - set(typed.options)


def _excluded(typed: Typed) -> Iterator[str]:
    names = set(typed.options)
    if typed.options.get("observe") is False:
        names.add("no_observe")
    for first, others in _EITHER_OR:
        if not names.isdisjoint(first):
            yield from others
    urls = typed.options.get("target")
    for url in urls if isinstance(urls, list) else ():
        yield from _named_by(url)


def _named_by(url: str) -> Iterator[str]:
    """The options whose values are in a URL: the options would come before it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return  # reported when it is parsed
    if parts.scheme in ("postgresql", "postgres"):
        yield from _OF_MYSQL
    if parts.username:
        yield "user"
    if parts.path.strip("/"):
        yield "database"
    yield from (key_of(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True))


def _of_other_workloads(words: Sequence[str]) -> Iterator[str]:
    """The sizes that one of these workloads does not have; what none of them draws by."""
    for word in words:
        name = word.partition(":")[0]
        if name != "tpcc":
            yield from _SIZES_OF_TPCC
        if name == "tpcc" or name.endswith(".toml"):
            yield from _SIZES_OF_TABLES
    if not any(map(_draws, words)):
        yield "distribution"


def _draws(word: str) -> bool:
    name = word.partition(":")[0]
    return name.startswith(_DRAWING) and not name.endswith(".toml")
