"""Runs a command line of sysbench."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from loadstone import __version__
from loadstone.dropin.aside import aside
from loadstone.model.errors import LoadstoneError
from loadstone.model.message import say
from loadstone.sysbench import usage
from loadstone.sysbench.cmdline import CommandLine, parse
from loadstone.sysbench.dialect import as_asked, in_words_of_1_0
from loadstone.sysbench.errors import FAILED, Fatal, Refused, ScriptExit
from loadstone.sysbench.host import program
from loadstone.sysbench.host.options import HOST_TESTS
from loadstone.sysbench.log import Log, warn_of_file
from loadstone.sysbench.oltp.tests import (
    BULK_INSERT,
    PARALLEL_PREPARE,
    Bundled,
    command_of,
    find_bundled,
    find_script,
    is_own_name,
)
from loadstone.sysbench.settings import (
    BadVerbosity,
    Compat,
    Settings,
    compat_of,
    log_of,
    settings_of,
    values_of,
    version_of,
)
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import Kind, Option

STANDARD_INPUT = "-"


def main(words: Sequence[str]) -> int:
    """Run a command line; returns the exit code.

    It is 0, or 1 as in sysbench, or 130 on Ctrl-C, or what a script passed to os.exit().

    Every failure is reported in sysbench's words and on sysbench's stream.
    """
    log = Log()
    try:
        line = parse(words)
        compat = compat_of(line)
        given = values_of(line, compat)
        if text := _told_of_itself(line, given, compat):
            print(text, end="")
            return 0
        log = log_of(given)
        return _carry_out(line, given, compat, log)
    except BadVerbosity as error:
        print(error.message)
    except Refused as error:
        print(error.message, file=sys.stderr)
    except ScriptExit as error:
        return error.code
    except Fatal as error:
        for each in error.lines:
            log.fatal(each)
    except LoadstoneError as error:
        log.fatal(error.message)
        if error.hint:
            aside(error.hint)
    return FAILED


def _told_of_itself(line: CommandLine, given: Values, compat: Compat) -> str | None:
    if line.text("help_loadstone") is not None:
        return usage.own_help()
    if given.switch("help"):
        return usage.general_help(compat)
    return f"sysbench {version_of(compat)}\n" if given.switch("version") else None


def _carry_out(line: CommandLine, given: Values, compat: Compat, log: Log) -> int:
    settings = settings_of(given, compat, log)
    log.notice(f"sysbench {version_of(compat)} (served by Loadstone {__version__})\n")
    if line.test in HOST_TESTS:
        return program.run_host_test(line, given, settings, log)
    if line.test in (None, STANDARD_INPUT):
        from loadstone.sysbench.lua import scripts

        return scripts.only_load(line, settings, given, log)
    if line.test and not is_own_name(line.test) and (path := find_script(line.test)):
        # The engine and the model take a while to import.
        from loadstone.sysbench.lua import scripts

        return scripts.run_script(path, line, settings, given, log)
    test = _test_of(line)
    if test.name == "bulk_insert" and line.command is None:
        return 0
    if line.command is None:
        names = ", ".join(test.commands)
        raise Fatal(f"Command is required. Supported commands: {names}")
    for key in line.only_in_file:
        warn_of_file(key, log, is_known=key in test.known_options())
    of_test = _options_of_test(line, test)
    if test.legacy:
        test, of_test = as_asked(test, of_test), in_words_of_1_0(of_test)
    command = command_of(test, line.command)
    if command is None:
        raise _no_such_command(test, line.command)
    if test.layout == "bulk" and command == "run":
        from loadstone.sysbench.lua import scripts

        return scripts.run_script(str(BULK_INSERT), line, settings, given, log)
    given = given.with_more(test.known_options(), of_test)
    return _run_command(command, test, (settings, given, line.test or test.name), log)


def _run_command(command: str, test: Bundled, asked: tuple[Settings, Values, str], log: Log) -> int:
    settings, given, called = asked
    if command == "help":
        log.notice(usage.test_help(test, Path(called).name))
        return 0
    # The rest needs the engine and the model, which take a while to import.
    if command == "run" and test.name != PARALLEL_PREPARE:
        from loadstone.sysbench import starting

        return starting.run(test, settings, given, log)
    from loadstone.sysbench import tables

    of_tables = {"cleanup": tables.cleanup, "prewarm": tables.prewarm}
    return of_tables.get(command, tables.prepare)(test, settings, given, log)


def _test_of(line: CommandLine) -> Bundled:
    """The built-in test that was named."""
    word = line.test
    assert word is not None, "a script from the standard input is no test of ours"
    if is_own_name(word):
        return _bundled(word)
    test = find_bundled(word)
    if test is None:
        raise Fatal(f"Cannot find benchmark '{word}': no such built-in test, file or module")
    aside(
        say(
            "there is no script {script}: the built-in {workload} is used instead",
            script=word,
            workload=test.workload,
        )
    )
    return test


def _bundled(name: str) -> Bundled:
    test = find_bundled(name)
    assert test is not None, "its name was known"
    return test


def _options_of_test(line: CommandLine, test: Bundled) -> dict[str, str]:
    """The options that only the test has, by key.

    Raises:
        Refused: it has no such option, or no such value of a switch.
    """
    known = test.known_options()
    found: dict[str, str] = {}
    for given in line.of_test:
        text = _text(known.get(given.key), given.text)
        # `bulk_insert` declares no options, so it accepts any.
        if text is None and test.options:
            raise Refused(f"invalid option: {given.word}")
        if text is not None:
            found[given.key] = text
    _check_tls_mode(line)
    return found


def _text(option: Option | None, text: str | None) -> str | None:
    if option is None:
        return None
    if option.kind is Kind.BOOL:
        return None if values.switch(text) is None else (text or "on")
    return text or ""


def _check_tls_mode(line: CommandLine) -> None:
    """Check `--mysql-ssl`: a switch in 1.0 and a mode in 1.1; both are accepted."""
    given = line.given.get("mysql_ssl")
    if given is None or given.text is None:
        return
    if values.tls_mode(given.text) is None:
        raise Refused(f"invalid option: {given.word}")


def _no_such_command(test: Bundled, word: str) -> Refused:
    if word in ("prepare", "run", "cleanup", "help"):
        return Refused(f"'{test.name}' test does not implement the '{word}' command.")
    return Refused(f"Unknown command: {word}")
