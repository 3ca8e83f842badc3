"""A run as one HTML file: the answer first, then its evidence.

The same run, language and version of Loadstone give the same bytes.
"""

from __future__ import annotations

from loadstone.model.language import Lang, in_language
from loadstone.model.message import say
from loadstone.report.markup import joined, paragraph
from loadstone.report.opened import Run
from loadstone.report.page import Figures, document
from loadstone.report.sections.answer import answer_section, contents
from loadstone.report.sections.ceilings import ceilings_section
from loadstone.report.sections.context import ReportContext
from loadstone.report.sections.experiment import matrix_section, matrix_title
from loadstone.report.sections.findings import findings_section
from loadstone.report.sections.ladder import ladder_section
from loadstone.report.sections.method import method_section
from loadstone.report.sections.settings import settings_section
from loadstone.report.sections.steps import steps_section


def as_html(run: Run, lang: Lang = "en") -> str:
    """The whole document.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    words = in_language(lang)
    context = ReportContext(run, words, Figures(words))
    named = [("answer", words(say("The answer")))]
    parts = [answer_section(context)]
    if run.comparison is not None:
        named.append(("matrix", words(matrix_title(run.comparison))))
        parts.append(matrix_section(context))
    if context.ladders:
        named += [("ladder", words(say("The ladder"))), ("ceilings", words(say("The ceilings")))]
        named.append(("findings", words(say("Findings"))))
        parts += [ladder_section(context), ceilings_section(context), findings_section(context)]
    named += [
        ("steps", words(say("Step by step"))),
        ("settings", words(say("Settings and environment"))),
        ("method", words(say("How it was measured"))),
    ]
    parts += [steps_section(context), settings_section(context), method_section(context)]
    info = run.result.run
    title = words(say("{name}: what was measured, and what it means", name=info.name))
    lead = paragraph(" · ".join(_lead(run)), "about")
    return document(title, joined([lead, contents(context, named), *parts]), context.figures)


def _lead(run: Run) -> list[str]:
    """What was driven against what, and when."""
    result = run.result
    said = [str(result.run.plan["workload"]["name"])] if result.run.plan else []
    first = result.steps[0] if result.steps else None
    for target in first.targets if first else ():
        said.append(f"{target.target} {target.server_version or ''}".strip())
    if result.run.started_at:
        said.append(result.run.started_at[:19].replace("T", " ") + " UTC")
    return said
