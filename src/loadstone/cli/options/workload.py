"""Options that belong to a workload: `--point-selects 5`, or `--set-option point_selects=5`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import Command
from loadstone.model.message import Joined, Message, say
from loadstone.model.nearest import nearest

if TYPE_CHECKING:
    from loadstone.engine import WorkloadInfo
    from loadstone.model.plan import OptionValue

_TRUE = ("on", "true", "yes", "1")
_FALSE = ("off", "false", "no", "0")


class WorkloadCommand(Command):
    """A command that also takes the options of its workloads."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Turn `--hot-rows 4` into `--set-option hot_rows=4`; click reports unknown options."""
        known = {
            option
            for param in self.get_params(ctx)
            for option in (*param.opts, *param.secondary_opts)
        }
        unknown = [word for word in args if word.startswith("--") and _name(word) not in known]
        if unknown and unknown != ["--"]:
            args = list(_rewritten(args, known, _switches()))
        return super().parse_args(ctx, args)

    def options_of_workloads(self) -> list[str]:
        """Options that the user may have meant by an unknown one."""
        return list(_switches())


def workload_named(name: str) -> WorkloadInfo:
    """The engine's workload of that name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    from loadstone import engine
    from loadstone.workloads.bundled import bundled

    workloads = engine.workloads()
    if name in workloads:
        return workloads[name]
    if name in bundled():
        raise click.UsageError(
            say(
                "{name} is a template, which is a file: loadstone workload show {name} >"
                " {name}.toml, then loadstone run {name}.toml",
                name=name,
            )
        )
    near = nearest(name, workloads)
    known = Joined(workloads)
    raise click.UsageError(
        say("there is no workload '{name}': {near}", name=name, near=near)
        if near
        else say("there is no workload '{name}' ({known})", name=name, known=known)
    )


def options_of(workload: WorkloadInfo, given: Sequence[str]) -> dict[str, OptionValue]:
    """`name=value` texts as values of the type of the workload's defaults.

    Raises:
        UsageError: the workload has no such option, or it takes no such value.
    """
    options: dict[str, OptionValue] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise click.UsageError(say("--set-option {text}: write name=value", text=text))
        if name not in workload.options:
            raise click.UsageError(_unknown(workload, name))
        options[name] = _typed(name, value.strip(), workload.options[name])
    return options


def _unknown(workload: WorkloadInfo, name: str) -> Message:
    given = {"workload": workload.name, "name": name}
    if near := nearest(name, workload.options):
        return say("{workload} has no option {name}: {near}", near=near, **given)
    if not workload.options:
        return say("{workload} has no options, so none is called {name}", **given)
    known = Joined(workload.options)
    return say("{workload} has no option {name}: it has {known}", known=known, **given)


def _typed(name: str, text: str, default: OptionValue | None) -> OptionValue:
    if isinstance(default, bool):
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise click.UsageError(say("{name} is on or off, not '{text}'", name=name, text=text))
    if isinstance(default, int):
        from loadstone.cli.options.types import SIZE

        if text == "0":
            return 0
        try:
            return SIZE.read(text)
        except ValueError as wrong:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                say("invalid value for '{option}': {why}", option=option, why=wrong.args[0])
            ) from wrong
    if isinstance(default, float):
        with contextlib.suppress(ValueError):
            if math.isfinite(number := float(text)):
                return number
        raise click.UsageError(say("{name} is a number, not '{text}'", name=name, text=text))
    return text


def _switches() -> dict[str, bool]:
    """All options of all workloads, and whether each is a switch."""
    from loadstone import engine
    from loadstone.engine import EngineError

    found: dict[str, bool] = {}
    try:
        workloads: Mapping[str, WorkloadInfo] = engine.workloads()
    except EngineError:
        return found
    for workload in workloads.values():
        for name, default in workload.options.items():
            found[f"--{name.replace('_', '-')}"] = isinstance(default, bool)
    return found


def _rewritten(args: Sequence[str], known: set[str], switches: dict[str, bool]) -> Iterator[str]:
    words = iter(args)
    for word in words:
        name = _name(word)
        if name in known or name not in switches:
            yield word
            continue
        option = name.removeprefix("--").replace("-", "_")
        _, equals, value = word.partition("=")
        if not equals:
            value = _following(words, option) if not switches[name] else "on"
        yield from ("--set-option", f"{option}={value}")


def _following(words: Iterator[str], option: str) -> str:
    value = next(words, None)
    if value is None or value.startswith("--"):
        name = f"--{option.replace('_', '-')}"
        raise click.UsageError(say("{option} needs a value", option=name))
    return value


def _name(word: str) -> str:
    return "--" + word.partition("=")[0].removeprefix("--").replace("_", "-")
