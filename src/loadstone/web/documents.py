"""Makes documents of runs in a process of its own: reports, comparisons, trends, results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from loadstone.model.frozen import Frozen
from loadstone.model.language import ENGLISH, Language, named
from loadstone.report.html import as_html
from loadstone.report.opened import Run
from loadstone.runs import run_folder
from loadstone.web.apart import answer, asked_of
from loadstone.web.comparing import compared, comparison_of
from loadstone.web.live_run import row
from loadstone.web.trends import trend_of

LONGEST_S = 120.0


class Wanted(Frozen):
    """What is to be made, of which runs."""

    document: str
    """A name of `DOCUMENTS`."""
    folders: tuple[Path, ...]
    language: str


async def made_apart(document: str, folders: Sequence[Path], words: Language = ENGLISH) -> str:
    """The document, made by a process that has ended by then.

    Raises:
        StoreError: a run cannot be read.
        ComparisonError: the runs cannot be compared.
        NoAnswer: the process failed, or took too long.
    """
    wanted = Wanted(
        document=document, folders=tuple(each.absolute() for each in folders), language=words.code
    )
    return await asked_of("loadstone.web.documents", wanted.model_dump_json(), LONGEST_S)


def made(wanted: Wanted) -> str:
    """The document, made here.

    Raises:
        StoreError: a run cannot be read.
        ComparisonError: the runs cannot be compared.
    """
    return DOCUMENTS[wanted.document](wanted.folders, named(wanted.language))


def _report(folders: Sequence[Path], words: Language) -> str:
    (folder,) = folders
    return as_html(Run(folder), words.code)


def _result(folders: Sequence[Path], words: Language) -> str:
    """What `loadstone runs show RUN --json` prints."""
    (folder,) = folders
    return run_folder.to_json(run_folder.load(folder)).decode()


def _rows(folders: Sequence[Path], words: Language) -> str:
    """What is said of one run, and its rows as the page shows them."""
    (folder,) = folders
    result = run_folder.load(folder)
    info = result.run.model_dump(mode="json", exclude={"plan"})
    return json.dumps({"run": info, "rows": [row(step) for step in result.steps]}, allow_nan=False)


def _compared(folders: Sequence[Path], words: Language) -> str:
    return json.dumps(compared(folders), allow_nan=False)


def _trend(folders: Sequence[Path], words: Language) -> str:
    return json.dumps(trend_of(folders), allow_nan=False)


DOCUMENTS: Mapping[str, Callable[[Sequence[Path], Language], str]] = {
    "report": _report,
    "result": _result,
    "rows": _rows,
    "comparison": comparison_of,
    "compared": _compared,
    "trend": _trend,
}


if __name__ == "__main__":
    answer(lambda asked: made(Wanted.model_validate_json(asked)))
