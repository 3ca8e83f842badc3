"""Runs a command line that names a test of the host."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.dropin.aside import aside
from loadstone.model.message import say
from loadstone.sysbench import usage
from loadstone.sysbench.cmdline import CommandLine, Given
from loadstone.sysbench.errors import Refused
from loadstone.sysbench.host.options import HOST_TESTS, Declared, ModeMissing
from loadstone.sysbench.log import Log
from loadstone.sysbench.settings import Settings
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import Kind, Option

_ANYWHERE = ("prepare", "run", "cleanup", "help")


def run_host_test(line: CommandLine, given: Values, settings: Settings, log: Log) -> int:
    """Run the command; returns the exit code.

    Raises:
        Refused: the test has no such option or command.
        Fatal: a value is out of its range, or the test could not start or continue.
    """
    test = HOST_TESTS[line.test or ""]
    if line.command is None:
        raise Refused(
            f"The '{test.name}' test requires a command argument. See 'sysbench {test.name} help'"
        )
    of_test = _options_of_test(line, test)
    _check_command(test, line.command)
    if line.command == "help":
        print(f"{test.name} options:\n{usage.block(test.options)}")
        return 0
    _check_numbers(test, of_test)
    # The rest needs the engine and the model, which take a while to import.
    from loadstone.sysbench.host import start

    given = given.with_more(test.known_options(), of_test)
    if settings.out:
        aside(say("--loadstone-out keeps nothing of a test of the host"))
    try:
        return start.start(test.name, line.command, settings, given, log)
    except ModeMissing as error:
        log.fatal(f"{error.message}\n")
        log.notice(f"{test.name} options:")
        print(usage.block(test.options), flush=True)
        return 1


def _options_of_test(line: CommandLine, test: Declared) -> dict[str, str]:
    """The options that only the test has, by key. Those in a file are ignored by these tests."""
    known = test.known_options()
    return {given.key: _text(known.get(given.key), given) for given in line.of_test}


def _text(option: Option | None, given: Given) -> str:
    if option is None:
        raise Refused(f"invalid option: {given.word}")
    if option.kind is not Kind.BOOL:
        return given.text or ""
    if values.switch(given.text) is None:
        raise Refused(f"invalid option: {given.word}")
    return given.text or "on"


def _check_command(test: Declared, word: str) -> None:
    if word in test.commands:
        return
    if word in _ANYWHERE:
        raise Refused(f"'{test.name}' test does not implement the '{word}' command.")
    raise Refused(f"Unknown command: {word}")


def _check_numbers(test: Declared, of_test: Mapping[str, str]) -> None:
    for key in test.numbers():
        if key in of_test and values.strict_int(of_test[key]) is None:
            raise Refused(f"Invalid value for the '{key}' option: '{of_test[key]}'")
