"""Writes the pages of the documentation that are made from code.

python tools/reference.py FOLDER
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from loadstone.cli.app import COMMANDS, app
from loadstone.cli.help.command import Option
from loadstone.cli.help.sections import Section
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.model.result import Result
from loadstone.observe.mysql import counters as mysql
from loadstone.observe.names import Entry
from loadstone.observe.postgresql import counters as postgresql

_MADE = "<!-- Made by `make docs`: change the code that it is made from. -->"


def _cell(text: str) -> str:
    """A text that may stand in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def commands() -> Iterator[str]:
    """Each command with its help, its arguments and its options."""
    yield from ("# Commands and options", "", _MADE, "")
    context = click.Context(app, info_name="loadstone")
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        yield from _command(command, click.Context(command, parent=context, info_name=name), "##")


def _command(command: click.Command, context: click.Context, head: str) -> Iterator[str]:
    yield from (f"{head} {context.command_path}", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"    {context.command_path} {usage}", "")
    for part in (command.help or "").replace("\b", "").split("\n\n"):
        yield from (" ".join(part.split()).replace("<", "&lt;"), "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            of_inner = click.Context(inner, parent=context, info_name=name)
            yield from _command(inner, of_inner, head + "#")
        return
    records = [
        record
        for option in command.get_params(context)
        if isinstance(option, Option) and option.section is not Section.GENERAL
        for record in [option.get_help_record(context)]
        if record is not None
    ]
    if records:
        rows = ((f"`{_cell(written)}`", _cell(said)) for written, said in records)
        yield from _table(("option", "what it does"), rows)


def causes() -> Iterator[str]:
    """Each cause that a rule can name."""
    yield from ("# Causes", "", _MADE, "")
    yield from (
        "What `loadstone diagnose` can name. How it judges: [Diagnosis](../diagnosis.md).",
        "",
    )
    named = [
        (cause, title, rule) for rule in RULES_OF["mysql"] for cause, title in rule.titles.items()
    ]
    rows = (
        (f"`{cause}`", _cell(title), _cell(rule.judge.__doc__ or ""))
        for cause, title, rule in sorted(named, key=lambda one: one[0])
    )
    yield from _table(("cause", "what it is", "how it shows"), rows)


def counters() -> Iterator[str]:
    """Each counter and gauge, and what servers call it."""
    yield from ("# Counters", "", _MADE, "")
    yield from (
        "The names that findings, reports and Parquet files use, and where each comes from: of"
        " several the first that the server has. `status.` is a row of SHOW GLOBAL STATUS,"
        " `metric.` one of information_schema.INNODB_METRICS, `file.` one of"
        " performance_schema's summary of files, `derived.` is computed. Those of PostgreSQL are"
        " named by their view and column, and available by these names as well.",
        "",
    )
    for title, entries in (
        ("Counted: growth by second", mysql.COUNTERS),
        ("Values of the moment", mysql.GAUGES),
        ("PostgreSQL: counted", postgresql.COUNTERS),
        ("PostgreSQL: values of the moment", postgresql.GAUGES),
    ):
        yield from (f"## {title}", "")
        yield from _table(("name", "from", "times"), map(_entry, entries))


def _entry(entry: Entry) -> tuple[str, str, str]:
    raw = ", ".join(f"`{one}`" for one in entry.raw)
    return f"`{entry.name}`", raw, "" if entry.scale == 1 else f"{entry.scale:g}"


def result() -> Iterator[str]:
    """Each field of result.json, by type."""
    schema = Result.model_json_schema(mode="serialization")
    yield from ("# Fields of result.json", "", _MADE, "")
    for name, kind in [("Result", schema), *sorted(schema["$defs"].items())]:
        if "properties" not in kind:
            continue
        yield from (f"## {name}", "", " ".join(kind.get("description", "").split()), "")
        rows = (
            (f"`{field}`", _type(of), _cell(of.get("description", "")))
            for field, of in kind["properties"].items()
        )
        yield from _table(("field", "type", "what it is"), rows)


def _type(of: dict[str, Any]) -> str:
    """A JSON type in words, with a link to the type that has fields of its own."""
    if "$ref" in of:
        name = of["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in of:
        return " or ".join(_type(one) for one in of["anyOf"])
    if "enum" in of:
        return ", ".join(f"`{one}`" for one in of["enum"])
    if "const" in of:
        return f"`{of['const']}`"
    match of.get("type"):
        case "array":
            inner = of.get("items") or (of.get("prefixItems") or [{}])[0]
            return f"list of {_type(inner)}"
        case "object" if isinstance(of.get("additionalProperties"), dict):
            return f"map of {_type(of['additionalProperties'])}"
        case None:
            return "any"
        case kind:
            return str(kind)


def meanings(codes: type[Enum]) -> dict[str, str]:
    """The string below each member of an enumeration: its meaning."""
    (body,) = ast.parse(inspect.getsource(codes)).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for member, said in pairwise(body.body):
        match member, said:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(
                value=ast.Constant(value=str(text))
            ):
                found[name] = " ".join(text.split())
    return found


PAGES = {"commands": commands, "causes": causes, "counters": counters, "result": result}


def main(folder: Path) -> None:
    """All pages, into a folder that holds nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in PAGES.items():
        (folder / f"{name}.md").write_text("\n".join(lines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
