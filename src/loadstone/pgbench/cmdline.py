"""Reads a command line of pgbench, and refuses what pgbench refuses."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from loadstone.pgbench import builtin, scripts, usage
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.options import Block, Given, Words, split
from loadstone.pgbench.scripts import Script
from loadstone.pgbench.settings import (
    STEPS,
    USUAL_STEPS,
    USUAL_TRANSACTIONS,
    Benchmark,
    Initialization,
    Logging,
    Method,
    Place,
    Progress,
    Protocol,
    Shown,
    Tries,
)
from loadstone.pgbench.values import HIGHEST, definition, leading, number, positive, whole

Asked = Initialization | Benchmark | Shown
SEED_VARIABLE = "PGBENCH_RANDOM_SEED"

_IN_BOTH = {"initialize", "no-vacuum", "scale", "dbname", "debug", "host", "port", "username"}
_FILES = {"file", "log-prefix", "loadstone-out"}
"""Options that name files, whose names may have any bytes."""
_MOST_SEED = 2**63 - 1
_MS_A_DAY = 86_400_000.0
_MOST_S = 366 * 86_400
"""The engine's limit for a step."""


def parse(words: Sequence[str], environment: Mapping[str, str]) -> Asked:
    """What the command line asks for.

    Raises:
        BadOption: it cannot be split into options.
        Failed: pgbench would refuse it.
    """
    line = split(words)
    _check_letters(line)
    for given in line.given:
        if text := _only_shown(given):
            return text
    read = _Read(seed=_seed_of_environment(environment))
    for given in line.given:
        read.take(given)
    read.take_others(line.others)
    return read.initialization() if "initialize" in read.texts else read.benchmark()


def _check_letters(line: Words) -> None:
    """Refuse bytes that are no letters, where they would be sent to the server."""
    sent = [given.text for given in line.given if given.option.long not in _FILES]
    for text in (*sent, *line.others):
        try:
            text.encode()
        except UnicodeEncodeError:
            shown = text.encode(errors="backslashreplace").decode()
            raise Failed(f'"{shown}" is not UTF-8') from None


def _only_shown(given: Given) -> Shown | None:
    match given.option.long:
        case "help":
            return Shown(usage.general_help())
        case "version":
            return Shown(usage.version())
        case "help-loadstone":
            return Shown(usage.own_help())
        case "show-script":
            return Shown(f"{builtin.shown(builtin.find(given.text))}\n", on_stderr=True)
        case "builtin" if given.text == "list":
            return Shown(f"{builtin.listing()}\n", on_stderr=True)
    return None


@dataclass
class _Read:
    """The options that were read so far."""

    seed: int | None = None
    texts: dict[str, str] = field(default_factory=dict)
    """The last argument of each option."""
    blocks: dict[str, Block] = field(default_factory=dict)
    scripts: list[Script] = field(default_factory=list)
    defined: dict[str, str] = field(default_factory=dict)
    database: str | None = None

    def take(self, given: Given) -> None:
        """Take the next option.

        Raises:
            Failed: its argument cannot be used.
        """
        name = given.option.long
        self.texts[name], self.blocks[name] = given.text, given.option.block
        match name:
            case "builtin":
                self.scripts.append(scripts.of_builtin(given.text))
            case "select-only":
                self.scripts.append(scripts.of_builtin("select-only"))
            case "skip-some-updates":
                self.scripts.append(scripts.of_builtin("simple-update"))
            case "file":
                self.scripts.append(scripts.of_file(given.text))
            case "define":
                self.defined |= [definition(given.text)]
            case "random-seed":
                self.seed = _seed(given.text, "--random-seed option")
            case _ if name in _CHECKS:
                _CHECKS[name](given.text)

    def take_others(self, words: Sequence[str]) -> None:
        """Take the words that are no options: a database, unless an option names it.

        Raises:
            Failed: there are more.
        """
        named = [self.texts["dbname"]] if "dbname" in self.texts else []
        databases = [*named, *words]
        if len(databases) > 1:
            raise Failed(
                f'too many command-line arguments (first is "{databases[1]}")',
                hint='Try "pgbench --help" for more information.',
            )
        self.database = databases[0] if databases else None

    @property
    def place(self) -> Place:
        of = self.texts.get
        return Place(of("host"), of("port"), of("username"), self.database)

    def initialization(self) -> Initialization:
        """What `-i` asks for.

        Raises:
            Failed: an option is for a benchmark, or they do not go together.
        """
        self._check_mode("initialization (-i)", "script", "benchmarking")
        if "partition-method" in self.texts and not self._number("partitions", 0):
            raise Failed("--partition-method requires greater than zero --partitions")
        return Initialization(
            place=self.place,
            steps=self._steps(),
            scale=self._number("scale", 1),
            fillfactor=self._number("fillfactor", 100),
            quiet="quiet" in self.texts,
            unlogged="unlogged-tables" in self.texts,
            tablespace=self.texts.get("tablespace"),
            index_tablespace=self.texts.get("index-tablespace"),
            method=_method(self.texts.get("partition-method", "range")),
            partitions=self._number("partitions", 0),
        )

    def _steps(self) -> str:
        steps = self.texts.get("init-steps", USUAL_STEPS).replace(" ", "")
        if "no-vacuum" in self.texts:
            steps = steps.replace("v", "")
        if "foreign-keys" in self.texts and "f" not in steps:
            steps += "f"
        return steps

    def _check_mode(self, called: str, *others: Block) -> None:
        """Refuse options that are for the other mode."""
        if any(block in others for name, block in self.blocks.items() if name not in _IN_BOTH):
            raise Failed(f"some of the specified options cannot be used in {called} mode")

    def _number(self, name: str, usual: int) -> int:
        given = self._optional(name)
        return usual if given is None else given

    def benchmark(self) -> Benchmark:
        """What a run asks for.

        Raises:
            Failed: an option is for `-i`, or they do not go together.
        """
        self._check_mode("benchmarking", "initialization")
        wanted = tuple(self.scripts) or (scripts.of_builtin("tpcb-like"),)
        scripts.check(wanted)
        clients = self._number("client", 1)
        duration_s = self._optional("time")
        if duration_s and "transactions" in self.texts:
            raise Failed(
                "specify either a number of transactions (-t) or a duration (-T), not both"
            )
        logging = self._logging(duration_s)
        return Benchmark(
            place=self.place,
            scripts=wanted,
            clients=clients,
            threads=min(self._number("jobs", 1), clients),
            transactions=None if duration_s else self._number("transactions", USUAL_TRANSACTIONS),
            duration_s=duration_s,
            reconnects="connect" in self.texts,
            protocol=_protocol(self.texts.get("protocol", "simple")),
            rate=self._decimal("rate"),
            limit_ms=self._decimal("latency-limit"),
            progress=self._progress(),
            tries=self._tries(duration_s),
            logging=logging,
            by_command="report-per-command" in self.texts,
            defined=self.defined,
            scale=self._optional("scale"),
            seed=self.seed,
            vacuums="no-vacuum" not in self.texts,
            vacuums_all="vacuum-all" in self.texts,
            debug="debug" in self.texts,
            exits_on_abort="exit-on-abort" in self.texts,
            out=Path(self.texts["loadstone-out"]) if "loadstone-out" in self.texts else None,
        )

    def _optional(self, name: str) -> int | None:
        return whole(self.texts[name]) if name in self.texts else None

    def _decimal(self, name: str) -> float | None:
        return leading(self.texts[name]) if name in self.texts else None

    def _progress(self) -> Progress | None:
        every_s = self._optional("progress")
        unix_times = "progress-timestamp" in self.texts
        if every_s is None:
            if unix_times:
                raise Failed("--progress-timestamp is allowed only under --progress")
            return None
        return Progress(every_s, unix_times)

    def _tries(self, duration_s: int | None) -> Tries:
        most = self._number("max-tries", 1)
        if not most and not duration_s and "latency-limit" not in self.texts:
            raise Failed(
                "an unlimited number of transaction tries can only be used with --latency-limit or"
                " a duration (-T)"
            )
        return Tries(most, "failures-detailed" in self.texts, "verbose-errors" in self.texts)

    def _logging(self, duration_s: int | None) -> Logging | None:
        is_on, aggregate_s = "log" in self.texts, self._optional("aggregate-interval")
        is_sampled = "sampling-rate" in self.texts
        if is_sampled and not is_on:
            raise Failed(
                "log sampling (--sampling-rate) is allowed only when logging transactions (-l)"
            )
        if is_sampled and aggregate_s:
            raise Failed(
                "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be"
                " used at the same time"
            )
        if aggregate_s and not is_on:
            raise Failed("log aggregation is allowed only when actually logging transactions")
        if "log-prefix" in self.texts and not is_on:
            raise Failed(
                "log file prefix (--log-prefix) is allowed only when logging transactions (-l)"
            )
        _check_aggregation(aggregate_s, duration_s)
        if not is_on:
            return None
        share = self._decimal("sampling-rate") or Logging.share
        return Logging(self.texts.get("log-prefix", Logging.prefix), share, aggregate_s)


def _check_aggregation(aggregate_s: int | None, duration_s: int | None) -> None:
    if not aggregate_s or not duration_s:
        return
    if aggregate_s > duration_s:
        raise Failed(
            f"number of seconds for aggregation ({aggregate_s}) must not be higher than test"
            f" duration ({duration_s})"
        )
    if duration_s % aggregate_s:
        raise Failed(
            f"duration ({duration_s}) must be a multiple of aggregation interval ({aggregate_s})"
        )


def _check_steps(text: str) -> None:
    steps = text.replace(" ", "")
    if not steps:
        raise Failed("no initialization steps specified")
    unknown = next((step for step in steps if step not in STEPS), None)
    if unknown:
        raise Failed(
            f'unrecognized initialization step "{unknown}"',
            detail=f'Allowed step characters are: "{STEPS}".',
        )


def _method(text: str) -> Method:
    for method in get_args(Method):
        if text.lower() == method:
            return method  # type: ignore[no-any-return]
    raise Failed(f'invalid partition method, expecting "range" or "hash", got: "{text}"')


def _protocol(text: str) -> Protocol:
    for protocol in get_args(Protocol):
        if text == protocol:
            return protocol  # type: ignore[no-any-return]
    raise Failed(f'invalid query mode (-M): "{text}"')


def _check_tries(text: str) -> None:
    tries = whole(text)
    if tries is None or not 0 <= tries <= HIGHEST:
        raise Failed(f'invalid number of maximum tries: "{text}"')


def _check_time(text: str) -> None:
    if number(text, "-T/--time") > _MOST_S:
        raise Failed(f"-T/--time is at most {_MOST_S} here, which are 366 days")


def _seed_of_environment(environment: Mapping[str, str]) -> int | None:
    text = environment.get(SEED_VARIABLE)
    return None if text is None else _seed(text, f"{SEED_VARIABLE} environment variable")


def _seed(text: str, origin: str) -> int:
    if text == "time":
        return time.time_ns() // 1000
    if text == "rand":
        return secrets.randbelow(_MOST_SEED)
    found = whole(text)
    if found is None or not 0 <= found <= _MOST_SEED:
        raise Failed(
            f'unrecognized random seed option "{text}"',
            f"error while setting random seed from {origin}",
            detail='Expecting an unsigned integer, "time" or "rand".',
        )
    return found


def _counts(option: str, least: int = 1, most: int = HIGHEST) -> Callable[[str], object]:
    return lambda text: number(text, option, least, most)


def _above_zero(called: str, most: float = math.inf) -> Callable[[str], object]:
    return lambda text: positive(text, called, most)


_CHECKS: Mapping[str, Callable[[str], object]] = {
    "init-steps": _check_steps,
    "fillfactor": _counts("-F/--fillfactor", 10, 100),
    "scale": _counts("-s/--scale"),
    "partition-method": _method,
    "partitions": _counts("--partitions", 0),
    "client": _counts("-c/--clients"),
    "jobs": _counts("-j/--jobs"),
    "latency-limit": _above_zero("latency limit", _MS_A_DAY),
    "protocol": _protocol,
    "progress": _counts("-P/--progress"),
    "rate": _above_zero("rate limit"),
    "transactions": _counts("-t/--transactions"),
    "time": _check_time,
    "aggregate-interval": _counts("--aggregate-interval"),
    "max-tries": _check_tries,
    "sampling-rate": _above_zero("sampling rate", 1.0),
}
"""What an argument must be, by the option's name."""
