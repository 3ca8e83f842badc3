"""The settings of a command line, checked before anything starts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.sysbench.cmdline import CommandLine
from loadstone.sysbench.errors import Fatal, Refused
from loadstone.sysbench.log import Level, Log
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import Kind, Option, for_all_tests, with_defaults_of_1_1

Compat = Literal["1.0", "1.1"]

_COMPATS: tuple[Compat, ...] = ("1.0", "1.1")
_VERSIONS: dict[Compat, str] = {"1.0": "1.0.20", "1.1": "1.1.0"}
_DISTRIBUTIONS = {
    "1.0": ("uniform", "gaussian", "special", "pareto", "zipfian"),
    "1.1": ("uniform", "gaussian", "pareto", "zipfian", "special"),
}
# The alias, the option that it stands for, and the alias's value that means "not given". All but
# the time are unsigned in sysbench: a negative number is a large one, and counts as given.
_ALIASES = (
    ("num_threads", "threads", 1),
    ("max_requests", "events", 0),
    ("max_time", "time", 0),
    ("tx_rate", "rate", 0),
)
_SIGNED_ALIAS = "max_time"
_FORCED_SHUTDOWN_SHARE = 5
HIGHEST_RATE = 10_000_000
"""The engine's, in events a second."""


@dataclass(frozen=True)
class Settings:
    """The settings that all tests have; names of numbers in seconds end in `_s`."""

    compat: Compat
    threads: int
    events: int
    time_s: int
    rate: int
    """A negative one is a large one in sysbench, as it has no sign there."""

    forced_shutdown_s: int | None
    """Counted from the start of the load; `None`: wait for everything in flight."""

    report_interval_s: int
    checkpoints_s: tuple[int, ...]
    percentile: int
    histogram: bool
    debug: bool
    validate: bool
    seed: int
    warmup_s: int
    init_timeout_s: int
    out: Path | None

    @property
    def is_rate_out_of_reach(self) -> bool:
        """Whether the rate is above what the engine schedules, and any threads can keep up with."""
        return not 0 <= self.rate <= HIGHEST_RATE


def compat_of(line: CommandLine) -> Compat:
    """The requested version of sysbench.

    Raises:
        Refused: there is no such version.
    """
    given = line.text("compat") or "1.0"
    for version in _COMPATS:
        if given == version:
            return version
    raise Refused(f"Invalid value for --compat: '{given}' is neither 1.0 nor 1.1")


def version_of(compat: Compat) -> str:
    """The version number to print for the requested sysbench."""
    return _VERSIONS[compat]


def values_of(line: CommandLine, compat: Compat) -> Values:
    """The values of the options that all tests have."""
    known = for_all_tests()
    if compat == "1.1":
        known = with_defaults_of_1_1(known)
    given = {key: _text(known[key], one.text) for key, one in line.given.items()}
    return Values(known, given)


def _text(option: Option, text: str | None) -> str:
    """A bare switch is on; any other option without a value has an empty one."""
    if text is None:
        return "on" if option.kind is Kind.BOOL else ""
    return text


def log_of(given: Values) -> Log:
    """The log with the requested verbosity.

    Raises:
        Refused: there is no such verbosity. It is the only complaint without `FATAL:`.
    """
    # sysbench keeps it in one byte without a sign.
    verbosity = given.integer("verbosity") % 256
    if verbosity > Level.DEBUG:
        raise BadVerbosity(f"Invalid value for verbosity: {verbosity}")
    is_debug = given.switch("debug") or given.switch("mysql_debug")
    return Log(Level.DEBUG if is_debug else verbosity)


class BadVerbosity(Refused):
    """The verbosity is invalid; reported on stdout."""


def settings_of(given: Values, compat: Compat, log: Log) -> Settings:
    """All settings, with old names replaced by the new ones.

    Raises:
        Fatal: a value is out of its range.
    """
    numbers = _with_aliases(given)
    if numbers["threads"] <= 0:
        raise Fatal(f"Invalid value for --threads: {numbers['threads']}.\n")
    if values.size(given.text("thread_stack_size")) <= 0:
        raise Fatal("Invalid value for thread-stack-size: 0.\n")
    if given.text("rand_type") not in _DISTRIBUTIONS[compat]:
        raise Fatal(f"Invalid random numbers distribution: {given.text('rand_type')}.")
    percentile = given.integer("percentile")
    if not 0 <= percentile <= 100:
        raise Fatal(f"Invalid value for --percentile: {percentile}")
    if given.switch("histogram") and not percentile:
        raise Fatal("--histogram cannot be used with --percentile=0")
    out = given.text("loadstone_out")
    settings = Settings(
        compat=compat,
        threads=numbers["threads"],
        events=max(numbers["events"], 0),
        time_s=max(numbers["time"], 0),
        rate=numbers["rate"],
        forced_shutdown_s=_forced_shutdown_s(given, numbers["time"]),
        report_interval_s=max(given.integer("report_interval"), 0),
        checkpoints_s=_checkpoints_s(given),
        percentile=percentile,
        histogram=given.switch("histogram"),
        debug=given.switch("debug"),
        validate=given.switch("validate"),
        seed=given.integer("rand_seed"),
        warmup_s=max(given.integer("warmup_time"), 0),
        init_timeout_s=given.integer("thread_init_timeout"),
        out=Path(out) if out else None,
    )
    if not settings.events and not settings.time_s:
        log.warning("Both event and time limits are disabled, running an endless test")
    return settings


def seed_of(settings: Settings) -> int:
    """A seed that the engine accepts; by default it is the time."""
    return (settings.seed or time.time_ns()) % 2**63


def _with_aliases(given: Values) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for alias, key, nothing in _ALIASES:
        old = given.integer(alias)
        is_given = old > nothing or (old < 0 and alias != _SIGNED_ALIAS)
        if is_given:
            said, wanted = alias.replace("_", "-"), key.replace("_", "-")
            # Whatever the verbosity, as sysbench has not set it yet.
            print(f"WARNING: --{said} is deprecated, use --{wanted} instead", flush=True)
        numbers[key] = old if is_given else given.integer(key)
    return numbers


def _checkpoints_s(given: Values) -> tuple[int, ...]:
    found = set()
    for word in given.words("report_checkpoints"):
        number = values.strict_int(word)
        if number is None or number < 0:
            raise Fatal(f"Invalid value for --report-checkpoints: '{word}'")
        found.add(number)
    return tuple(sorted(found))


def _forced_shutdown_s(given: Values, time_s: int) -> int | None:
    """Parse `off`, `N` seconds after the time limit, or `N%` of it; bare means 5 % of it."""
    text = given.text("forced_shutdown")
    if text == "off" or time_s <= 0:
        return None
    share = text.removesuffix("%") if text.endswith("%") else ""
    if not text or share.isdigit():
        return time_s + time_s * (int(share) if share else _FORCED_SHUTDOWN_SHARE) // 100
    if not text.isdigit():
        raise Fatal(f"Invalid value for --forced-shutdown: '{text}'")
    return time_s + int(text)
