"""A Lua script on the command line: its options, its commands, its run."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone import engine
from loadstone.lab.step.order import steps_of
from loadstone.model.engine_plan import script_document, step_document
from loadstone.model.plan import Plan, ScriptSpec, WorkloadSpec
from loadstone.model.records import FirstError
from loadstone.servers.redact import blank_arguments
from loadstone.sysbench import planning, starting
from loadstone.sysbench.cmdline import CommandLine, Given
from loadstone.sysbench.errors import Fatal, Refused
from loadstone.sysbench.log import Log, warn_of_file
from loadstone.sysbench.lua import commands, errors
from loadstone.sysbench.oltp.tests import STANDARD_INPUT
from loadstone.sysbench.report_writer import OpenScript, tell, told_as_fatal
from loadstone.sysbench.settings import Settings, version_of
from loadstone.sysbench.targets import NotPlaced, Place, places_of
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.general import General, general_options
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import for_all_tests

_OF_ANY_SCRIPT = ("prepare", "run", "cleanup", "help")


@dataclass(frozen=True)
class _Asked:
    """The script and the command line to run it with."""

    path: str
    line: CommandLine
    settings: Settings
    given: Values
    log: Log
    plan: Plan | None = None
    """By which its file queries the servers; `None`: the options name none, or a bad one, which is
    reported when a command needs it."""
    places: tuple[Place, ...] = ()

    @property
    def called(self) -> str:
        """The script's name in sysbench's messages."""
        return Path(self.line.test or self.path).name


def run_script(path: str, line: CommandLine, settings: Settings, given: Values, log: Log) -> int:
    """Run the command line's command of a script; returns the exit code.

    Raises:
        Fatal: it cannot be loaded, or failed.
        Refused: it has no such option or command.
    """
    if path in STANDARD_INPUT:
        _make_rereadable()
    with _served(_Asked(path, line, settings, given, log)) as asked:
        opened = _opened(asked)
        try:
            return _run(asked, opened)
        finally:
            opened.script.close()


def _run(asked: _Asked, opened: OpenScript) -> int:
    """Run the command line's command of the loaded script; returns the exit code."""
    line, contents = asked.line, opened.contents
    _tell(asked, opened.script)
    if line.command is None:
        return 0
    options = _options(line, contents)
    _warn_of_file(asked, contents)
    _check_command(asked, line.command, contents)
    spec = _spec(asked, options)
    endpoints = [place.endpoint for place in asked.places]
    document = json.dumps(script_document(spec, endpoints))
    _check(asked, opened.script, document)
    opened = replace(opened, copied=lambda: _copied(asked, document))
    if line.command == "help" and "help" not in contents.commands:
        return _help(asked, opened)
    workload = WorkloadSpec(name=Path(asked.path).stem, tables=1, table_size=1, script=spec)
    settings, given, log = asked.settings, asked.given, asked.log
    if line.command == "run":
        return starting.drive(workload.name, workload, settings, given, log, opened)
    manner = contents.commands.get(line.command)
    return commands.run_command_of_script(opened.script, workload, settings, given, log, manner)


def only_load(line: CommandLine, settings: Settings, given: Values, log: Log) -> int:
    """Load the script on the standard input and stop there, if no test is named.

    Raises:
        Fatal: it cannot be loaded.
    """
    _make_rereadable()
    with _served(_Asked(STANDARD_INPUT[0], line, settings, given, log)) as asked:
        opened = _opened(asked)
        _tell(asked, opened.script)
        opened.script.close()
    return 0


def _make_rereadable() -> None:
    """Buffer a pipe on standard input: each thread reads the script, and a pipe is read once."""
    if stat.S_ISREG(os.fstat(0).st_mode):
        return
    with tempfile.TemporaryFile() as kept:
        while piece := os.read(0, 1 << 20):
            kept.write(piece)
        kept.flush()
        os.dup2(kept.fileno(), 0)


def _spec(asked: _Asked, options: dict[str, str]) -> ScriptSpec:
    restart_on = planning.restart_on(asked.given)
    words = blank_arguments([b"sysbench", *(os.fsencode(word) for word in asked.line.words)])
    return ScriptSpec(
        path=asked.path,
        command=asked.line.command,
        options=options,
        general=_general(asked.given) | _limits(asked.settings),
        arguments=tuple(os.fsdecode(word) for word in words),
        ignore_errors=None if restart_on == "all" else restart_on,
        each_error=True,
        distribution=planning.distribution_of(asked.given),
        version=version_of(asked.settings.compat),
    )


def _general(given: Values) -> General:
    """The general options; a kept run has them, so that no password may be among them."""
    general = general_options(given)
    # It may be all parameters of the connection.
    (database,) = blank_arguments([os.fsencode(str(general["pgsql_db"]))])
    return general | {"pgsql_db": os.fsdecode(database)}


def _limits(settings: Settings) -> General:
    """The limits, where options with deprecated names count too."""
    limits = {"threads": settings.threads, "events": settings.events, "time": settings.time_s}
    return {**limits, "rate": settings.rate}


@contextlib.contextmanager
def _served(asked: _Asked) -> Iterator[_Asked]:
    """With the servers that its file may query while it is loaded, if the options name some."""
    with contextlib.ExitStack() as stack:
        try:
            places = places_of(asked.given, asked.settings.compat)
            if asked.given.switch("mysql_dry_run"):
                places = stack.enter_context(starting.without_tables(places))
            name, script = Path(asked.path).stem, _spec(asked, {})
            workload = WorkloadSpec(name=name, tables=1, table_size=1, script=script)
            targets = [place.endpoint.target for place in places]
            plan = planning.command_of(workload, asked.settings, asked.given, targets, 1)
            asked = replace(asked, plan=plan, places=places)
        except (NotPlaced, Fatal):
            pass
        yield asked


def _opened(asked: _Asked) -> OpenScript:
    script, contents = _loaded(asked)
    return OpenScript(script, contents, lambda: _loaded(asked)[0])


def _copied(asked: _Asked, document: str) -> engine.Script:
    script, _ = _loaded(asked)
    _check(asked, script, document)
    _tell(asked, script)
    return script


def _loaded(asked: _Asked) -> tuple[engine.Script, engine.ScriptContents]:
    plan, served = asked.plan, None
    if plan is not None:
        endpoints = [place.endpoint for place in asked.places]
        served = step_document(plan, steps_of(plan)[0], endpoints)
    with told_as_fatal():
        script = engine.script(json.dumps(script_document(_spec(asked, {}), ())), served)
        try:
            return script, script.contents()
        except engine.ScriptRefused:
            _tell(asked, script)
            raise


def _tell(asked: _Asked, script: engine.Script) -> None:
    """Print what the script has said while it was loaded."""
    plan = asked.plan
    refused = errors.Heard(plan, asked.log, asked.places).take if plan else _never
    tell(script.said(), refused)


def _never(error: FirstError) -> None:
    """Without servers there are no errors of theirs."""
    raise AssertionError(error)


def _options(line: CommandLine, contents: engine.ScriptContents) -> dict[str, str]:
    """The given options that are the script's; a script that declares none accepts any.

    Raises:
        Refused: it declares others.
    """
    if contents.options is None:
        # One that all tests have is there because its value is none of a switch.
        if refused := [one for one in line.of_test if one.key in for_all_tests()]:
            raise Refused(f"invalid option: {refused[0].word}")
        return {one.key: one.text or "" for one in line.of_test}
    known = {option.name: option for option in contents.options}
    for one in line.of_test:
        if one.key not in known:
            raise Refused(f"invalid option: {one.word}")
    given = [one for one in (*line.given.values(), *line.of_test) if one.key in known]
    for one in given:
        _check_value(one, known[one.key])
    return {one.key: one.text or "" for one in given}


def _warn_of_file(asked: _Asked, contents: engine.ScriptContents) -> None:
    """Say which options a configuration file does not set."""
    known = {option.name for option in contents.options or ()}
    for key in asked.line.only_in_file:
        warn_of_file(key, asked.log, is_known=key in known)


def _check_value(one: Given, option: engine.ScriptOption) -> None:
    """Raise Refused for a value that sysbench does not accept for the kind of its option."""
    if option.kind == "bool" and one.text == "":
        raise Refused(f"invalid option: {one.word}")
    if option.kind == "int" and values.strict_int(one.text or "") is None:
        raise Refused(f"Invalid value for the '{one.key}' option: '{one.text}'")


def _check_command(asked: _Asked, command: str, contents: engine.ScriptContents) -> None:
    """Raise Refused if the script does not have the command."""
    if command in contents.commands or command in contents.functions or command == "run":
        return
    if command == "help" and contents.options is not None:
        return
    if command in _OF_ANY_SCRIPT:
        raise Refused(f"'{asked.called}' test does not implement the '{command}' command.")
    raise Refused(f"Unknown command: {command}")


def _check(asked: _Asked, script: engine.Script, document: str) -> None:
    """Give it its options.

    Raises:
        Refused: an option does not allow its value.
        Fatal: there is nothing to run.
    """
    script.give(document)
    try:
        script.check()
    except engine.ScriptRefused as error:
        if error.kind == "no_event":
            raise Fatal(f"cannot find the event() function in {asked.called}") from error
        if error.kind != "value":
            raise Fatal(error.message) from error
        raise Refused(f"invalid option: {_word(asked.line, error.subject)}") from error


def _word(line: CommandLine, key: str) -> str:
    """An option as it was written."""
    written: list[Given] = [one for one in line.of_test if one.key == key]
    return written[-1].word if written else f"--{key}"


def _help(asked: _Asked, opened: OpenScript) -> int:
    if "help" not in opened.contents.functions:
        asked.log.notice(f"{asked.called} options:")
    with told_as_fatal():
        try:
            opened.script.help()
        finally:
            _tell(asked, opened.script)
    return 0
