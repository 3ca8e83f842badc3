"""pgbench's options, and ours, and how a command line is split into them.

As in all programs that use GNU's getopt_long, short options may be joined (`-nSc2`), long ones may
be shortened as long as they stay unique, and options may follow other words until `--`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from loadstone.pgbench.errors import BadOption

Block = Literal["initialization", "script", "benchmarking", "common", "ours"]


@dataclass(frozen=True)
class Option:
    """An option and its line in the help."""

    long: str
    short: str | None
    takes: str | None
    """What its argument is called; `None`: it takes none."""
    about: str
    block: Block


@dataclass(frozen=True)
class Given:
    """An option as given; `text` is empty if it takes no argument."""

    option: Option
    text: str


def _listed(block: Block, *rows: tuple[str, str | None, str | None, str]) -> tuple[Option, ...]:
    return tuple(Option(*row, block=block) for row in rows)


OPTIONS: tuple[Option, ...] = (
    *_listed(
        "initialization",
        ("initialize", "i", None, "create and fill the four tables"),
        ("init-steps", "I", "[dtgGvpf]+", 'the steps to run, in this order (default: "dtgvp")'),
        ("fillfactor", "F", "NUM", "how full pages are made, in percent (default: 100)"),
        ("no-vacuum", "n", None, "skip the step v, and VACUUM before a benchmark"),
        ("quiet", "q", None, "a progress message only every 5 seconds"),
        ("scale", "s", "NUM", "scale factor: so many times 100,000 accounts"),
        ("foreign-keys", None, None, "add the step f: foreign keys between the tables"),
        ("index-tablespace", None, "TABLESPACE", "create indexes there"),
        ("partition-method", None, "(range|hash)", "how to partition the accounts"),
        ("partitions", None, "NUM", "partitions of the accounts (default: 0, not partitioned)"),
        ("tablespace", None, "TABLESPACE", "create tables there"),
        ("unlogged-tables", None, None, "create unlogged tables"),
    ),
    *_listed(
        "script",
        ("builtin", "b", "NAME[@W]", 'a built-in script with weight W (default: 1), or "list"'),
        ("file", "f", "FILENAME[@W]", 'a script with weight W (default: 1); "-" is stdin'),
        ("skip-some-updates", "N", None, 'same as "-b simple-update"'),
        ("select-only", "S", None, 'same as "-b select-only"'),
    ),
    *_listed(
        "benchmarking",
        ("client", "c", "NUM", "clients at a time (default: 1)"),
        ("connect", "C", None, "a new connection for each transaction"),
        ("define", "D", "VARNAME=VALUE", "set a variable for scripts"),
        ("jobs", "j", "NUM", "threads at most (default: 1)"),
        ("log", "l", None, "write the time of each transaction to a file"),
        ("latency-limit", "L", "NUM", "count transactions above so many milliseconds"),
        ("protocol", "M", "simple|extended|prepared", "how to send statements (default: simple)"),
        ("progress", "P", "NUM", "report progress every so many seconds"),
        ("report-per-command", "r", None, "report latencies, failures and retries by command"),
        ("rate", "R", "NUM", "transactions a second that become due"),
        ("transactions", "t", "NUM", "transactions of each client (default: 10)"),
        ("time", "T", "NUM", "seconds to run"),
        ("vacuum-all", "v", None, "VACUUM all four tables before the benchmark"),
        ("aggregate-interval", None, "NUM", "sum up the log over so many seconds"),
        ("exit-on-abort", None, None, "end the run with the first client that is aborted"),
        ("failures-detailed", None, None, "report failures by their type"),
        ("log-prefix", None, "PREFIX", 'begin of the log\'s name (default: "pgbench_log")'),
        ("max-tries", None, "NUM", "tries of a transaction at most (default: 1; 0: no limit)"),
        ("progress-timestamp", None, None, "progress with Unix times"),
        ("random-seed", None, "SEED", '"time", "rand" or an integer'),
        ("sampling-rate", None, "NUM", "share of transactions to log (0.01 for 1%)"),
        ("show-script", None, "NAME", "show a built-in script, then exit"),
        ("verbose-errors", None, None, "print the message of each error"),
    ),
    *_listed(
        "common",
        ("dbname", None, "DBNAME", "database to connect to, in place of the last word"),
        ("debug", "d", None, "print what each client executes, sends and receives"),
        ("host", "h", "HOSTNAME", "the server's host, or the folder of its socket"),
        ("port", "p", "PORT", "the server's port"),
        ("username", "U", "USERNAME", "user to connect as"),
        ("version", "V", None, "show the version, then exit"),
        ("help", "?", None, "show this help, then exit"),
    ),
    *_listed(
        "ours",
        ("loadstone-out", None, "DIR", "keep the run's folder below DIR"),
        ("help-loadstone", None, None, "show Loadstone's own options, then exit"),
    ),
)

_BY_SHORT = {option.short: option for option in OPTIONS if option.short}
_BY_LONG = {option.long: option for option in OPTIONS}


@dataclass
class Words:
    """A command line: its options in their order, and its other words."""

    given: list[Given]
    others: list[str]


def split(words: Sequence[str]) -> Words:
    """Split a command line.

    Raises:
        BadOption: an option is unknown, ambiguous, or without its argument.
    """
    line = Words([], [])
    rest = iter(words)
    for word in rest:
        if word == "--":
            line.others += rest
        elif word.startswith("--"):
            line.given.append(_long(word, rest))
        elif word.startswith("-") and word != "-":
            line.given += _short(word[1:], rest)
        else:
            line.others.append(word)
    return line


def _long(word: str, rest: Iterator[str]) -> Given:
    name, equals, text = word[2:].partition("=")
    option = _by_name(name, word)
    if option.takes is None:
        if equals:
            raise BadOption(f"option '--{option.long}' doesn't allow an argument")
        return Given(option, "")
    if equals:
        return Given(option, text)
    following = next(rest, None)
    if following is None:
        raise BadOption(f"option '--{option.long}' requires an argument")
    return Given(option, following)


def _by_name(name: str, word: str) -> Option:
    if name in _BY_LONG:
        return _BY_LONG[name]
    found = [option for option in OPTIONS if option.long.startswith(name)]
    if not found:
        raise BadOption(f"unrecognized option '--{name}'")
    if len(found) > 1:
        names = " ".join(f"'--{option.long}'" for option in found)
        raise BadOption(f"option '{word}' is ambiguous; possibilities: {names}")
    return found[0]


def _short(letters: str, rest: Iterator[str]) -> Iterator[Given]:
    for place, letter in enumerate(letters):
        option = _BY_SHORT.get(letter)
        if option is None:
            raise BadOption(f"invalid option -- '{letter}'")
        if option.takes is None:
            yield Given(option, "")
            continue
        text = letters[place + 1 :] or next(rest, None)
        if text is None:
            raise BadOption(f"option requires an argument -- '{letter}'")
        yield Given(option, text)
        return
