"""Manual pages: loadstone(1), one for each command, from the help, and that of loadstone-gate.

click-man, the library for this, knows click's own commands alone: it leaves out the headings of the
options, the examples, and what only `--help-all` shows.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from loadstone import __version__
from loadstone.cli.app import COMMANDS, TASKS, app
from loadstone.cli.help.command import Explained, Option, first_sentence
from loadstone.cli.help.sections import Section
from loadstone.model.exit_codes import ExitCode
from tools.reference import meanings

_GATE = Path(__file__).resolve().parents[1] / "packaging/wheel/scripts/loadstone-gate"

_ENVIRONMENT = {
    "LOADSTONE_PASSWORD": "Password of the target, if neither its option file nor a prompt has it.",
    "LOADSTONE_CONFIG": "File of your defaults; empty: none is read.",
    "LOADSTONE_LANG": "Language of what people read: en or zh.",
    "XDG_CONFIG_HOME": "Folder of loadstone/config.toml, in place of ~/.config.",
    "XDG_STATE_HOME": "Folder of what is kept from command to command, in place of ~/.local/state.",
}


def pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page: `loadstone-run.1`."""
    root = click.Context(app, info_name="loadstone", max_content_width=10_000)
    yield "loadstone.1", _joined(_program(root))
    for path, command, context in _commands(app, root):
        yield f"{'-'.join(path)}.1", _joined(_command(path, command, context))
    yield "loadstone-gate.1", _joined(_gate(_GATE.read_text()))


def _commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, parent=context, info_name=name)
        path = (*context.command_path.split(), name)
        yield path, command, below
        if isinstance(command, click.Group):
            yield from _commands(command, below)


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _program(context: click.Context) -> Iterator[str]:
    yield from _head(("loadstone",), "load generator and diagnosis for OLTP databases")
    yield from (".SH SYNOPSIS", ".B loadstone", r".I COMMAND\/", "[ARGUMENTS]")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(app.help or "")
    yield from _examples(app)
    yield ".SH COMMANDS"
    for task, commands in TASKS.items():
        yield f".SS {_quoted(task)}"
        for name, listed in commands.items():
            yield from (".TP", f".BR {_bold(f'loadstone-{name}')} (1)", _text(listed.about))
    yield from _options(app, context)
    yield ".SH ENVIRONMENT"
    for name, meaning in _ENVIRONMENT.items():
        yield from (".TP", f".B {_bold(name)}", _text(meaning))
    yield ".SH EXIT STATUS"
    said = meanings(ExitCode)
    for code in ExitCode:
        yield from (".TP", f".B {code.value}", _text(said[code.name]))
    yield from _see_also(f"loadstone-{name}" for name in (*COMMANDS, "gate"))


def _command(
    path: tuple[str, ...], command: click.Command, context: click.Context
) -> Iterator[str]:
    full = command.help or ""
    yield from _head(path, first_sentence(full))
    yield from (".SH SYNOPSIS", f".B {_bold(' '.join(path))}")
    yield from map(_text, command.collect_usage_pieces(context))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(full)
    if isinstance(command, Explained):
        yield from _examples(command)
    below = []
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            below.append("-".join((*path, name)))
            about = first_sentence(inner.help or "")
            yield from (".TP", f".BR {_bold(below[-1])} (1)", _text(about))
    yield from _options(command, context)
    above = ["-".join(path[:length]) for length in range(1, len(path))]
    yield from _see_also([*above, *below])


def _gate(script: str) -> Iterator[str]:
    """What the head of the script says: what it does, its environment, what it writes."""
    head = re.findall(r"^#(?: (.*))?$", script, re.MULTILINE)
    about, environment, results, *_ = "\n".join(head).split("\n\n")
    yield from _head(("loadstone-gate",), "run a load in CI, and judge it")
    yield from (".SH SYNOPSIS", f".B {_bold('loadstone-gate')}")
    yield from (".SH DESCRIPTION", _text(about), ".PP", _text(results.partition("\n")[0]))
    yield ".SH ENVIRONMENT"
    for name, meaning in re.findall(r"^ +([A-Z_]+) +(.+)$", environment, re.MULTILINE):
        yield from (".TP", f".B {_bold(name)}", _text(meaning))
    yield from _see_also(["loadstone", "loadstone-run", "loadstone-compare"])


def _head(path: tuple[str, ...], about: str) -> Iterator[str]:
    made = datetime.datetime.fromtimestamp(
        int(os.environ.get("SOURCE_DATE_EPOCH", 0)), datetime.UTC
    )
    name = "-".join(path)
    yield f'.TH "{name.upper()}" "1" "{made:%Y-%m-%d}" "Loadstone {__version__}" "Loadstone"'
    yield ".ad l"
    yield from (".SH NAME", f"{_bold(name)} \\- {escaped(' '.join(about.split()))}")


def _paragraphs(text: str) -> Iterator[str]:
    found = [_text(each) for each in text.replace("\b", "").split("\n\n") if each.strip()]
    yield "\n.PP\n".join(found)


def _examples(command: Explained) -> Iterator[str]:
    if not command.examples:
        return
    yield ".SH EXAMPLES"
    for number, (about, line) in enumerate(command.examples):
        if number:
            yield ".PP"
        yield from (_text(f"{str(about)[:1].upper()}{str(about)[1:]}:"), ".PP", ".nf", ".RS")
        yield from (escaped(each) for each in line.splitlines())
        yield from (".RE", ".fi")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """All options, also those that only `--help-all` shows, under the headings of the help."""
    shown: dict[Section, list[tuple[str, str]]] = {each: [] for each in Section}
    for each in command.get_params(context):
        record = None if isinstance(each, click.Argument) else each.get_help_record(context)
        if record is not None:
            section = each.section if isinstance(each, Option) else Section.GENERAL
            shown[section].append(record)
    sections = {section: rows for section, rows in shown.items() if rows}
    if sections:
        yield ".SH OPTIONS"
    for section, rows in sections.items():
        if section is not Section.OPTIONS:
            yield f".SS {_quoted(section.title)}"
        for names, said in rows:
            yield from (".TP", f".B {_bold(' '.join(names.split()))}", _text(said))


def _see_also(names: Iterable[str]) -> Iterator[str]:
    listed = [f".BR {_bold(name)} (1)" for name in names]
    yield ".SH SEE ALSO"
    yield from (f"{line}," for line in listed[:-1])
    yield from listed[-1:]


def _quoted(text: str) -> str:
    return '"' + escaped(text).replace('"', r"\(dq") + '"'


def _bold(text: str) -> str:
    """Words that are typed: their dashes are ASCII's."""
    return escaped(text).replace(" ", r"\ ")


def _text(text: str) -> str:
    """A paragraph as one line."""
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    """A line that roff prints as it is written: https://man.openbsd.org/roff.7."""
    safe = text.replace("\\", r"\e").replace("-", r"\-")
    safe = re.sub(r"[^\x00-\x7f]", lambda sign: f"\\[u{ord(sign[0]):04X}]", safe)
    safe = safe.replace("`", r"\(ga").replace("^", r"\(ha").replace("~", r"\(ti")
    return rf"\&{safe}" if safe[:1] in (".", "'") else safe


def write(folder: Path) -> None:
    """All pages, into this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text, encoding="ascii")
