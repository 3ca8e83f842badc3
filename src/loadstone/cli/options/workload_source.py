"""A workload that a command was given: one of the engine's, or a template file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadstone.cli.options.workload import workload_named
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.engine import WorkloadInfo
    from loadstone.model.template import Template


def template_of(word: str) -> Template | None:
    """The template in a file; `None` if the word is not a file's name.

    Raises:
        TemplateRefused: the file cannot be read, or something in it is wrong.
    """
    from loadstone.workloads.bundled import ENDING

    if not word.endswith(ENDING):
        return None
    from pathlib import Path

    from loadstone import engine
    from loadstone.workloads.templates.file import find_template

    return find_template(word, Path(), frozenset(engine.workloads()))


def check_charset(template: Template, file: str, charset: str) -> None:
    """Check that the connections use the character set that the template is written in.

    Raises:
        TemplateRefused: the server would misread its letters.
    """
    if template.beyond_ascii is None or charset.lower().startswith("utf8"):
        return
    from loadstone.config.problems import Problem
    from loadstone.workloads.templates.file import TemplateRefused

    said = say(
        "letters beyond ASCII are sent as UTF-8, and --charset {charset} would misread them",
        charset=charset,
    )
    write = say("leave --charset out, or write ASCII")
    raise TemplateRefused(file, [Problem(template.beyond_ascii, "", said, write)])


def workload_given(word: str, template: Template | None) -> WorkloadInfo:
    """The facts that commands need about a workload.

    Raises:
        UsageError: the engine has no such workload; the message names the nearest.
    """
    if template is None:
        return workload_named(word)
    from loadstone.workloads.templates.file import info_of

    return info_of(template)
